# SPDX-License-Identifier: Apache-2.0
"""Kubelets and webhooks that do not respond: neither the lease nor other items wait for them."""

import threading

from bench.waiting import wait_until
from faults.proxy import Action, PASS, status as refusal

LATE = "(the log of main did not arrive in time)"


def is_log(request):
    return request.path.endswith("/log")


def is_pod_post(request):
    return request.method == "POST" and request.path.endswith("/pods")


def test_a_kubelet_that_does_not_respond_to_log_requests_affects_neither_the_lease_nor_the_jobs(world):
    """More failed items at once than the controller processes at a time, on an unreachable node."""
    crowd, started = [f"bad{number}" for number in range(40)], threading.Barrier(40)
    world.kubelet.behaviour = lambda pod: (pod.run(), started.wait(120), pod.fail(3))
    with world.behind_proxy(lambda request: Action(forward=False, hang=True) if is_log(request) else PASS) as proxy:
        controller = world.start(proxy=proxy, election=True)
        for name in crowd:
            world.item(name)
        for name in crowd:
            error = world.finished(name, timeout=120)["lastError"]
            assert "exit code 3" in error["message"] and LATE in error["message"]
        asked = [request.path for request in proxy.requests if is_log(request)]
    assert "not leading" not in controller.output()
    assert asked and len(asked) == len(set(asked))
    assert len(world.kubelet.ran()) == len(crowd)


def test_a_slow_admission_of_pods_does_not_cost_the_lease(world):
    """The Lease is renewed while the maximum number of concurrent creates is pending."""
    crowd, release = [f"item{number}" for number in range(20)], threading.Event()
    sent_at_a_time, renewals = 16, 3

    def renewed():
        return sum(1 for request in proxy.requests if request.method == "PUT" and "/leases/" in request.path)

    with world.behind_proxy(lambda request: Action(before=lambda: release.wait(120)) if is_pod_post(request) else PASS) as proxy:
        controller = world.start(proxy=proxy, election=True)
        for name in crowd:
            world.item(name)
        wait_until(lambda: sum(map(is_pod_post, list(proxy.requests))) == sent_at_a_time, "the maximum number of pending requests")
        before = renewed()
        wait_until(lambda: renewed() >= before + renewals, "renewals of the lease while nothing else is answered")
        release.set()
        for name in crowd:
            assert world.finished(name)["phase"] == "Succeeded"
    assert "not leading" not in controller.output()
    assert len(world.kubelet.ran()) == len(crowd)


def test_a_kubelet_that_does_not_respond_to_log_requests_delays_no_other_item(world):
    """Many items fail at once on an unreachable node: requests for their logs never use all request slots."""
    crowd, line = [f"bad{number}" for number in range(30)], 16
    started, asked = threading.Barrier(len(crowd)), threading.Event()

    def plan(request):
        return Action(forward=False, hang=True, before=asked.set) if is_log(request) else PASS

    def behave(pod):
        pod.run()
        if pod.item()[1] == "good":
            pod.succeed()
        else:
            started.wait(120)
            pod.fail(3)

    world.kubelet.behaviour = behave
    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        for name in crowd:
            world.item(name)
        assert asked.wait(120)
        world.item("good")
        assert world.finished("good")["phase"] == "Succeeded"
        hanging = sum(1 for request in list(proxy.requests) if is_log(request))
        assert 0 < hanging < line, "the good item waited for the logs of others"
        for name in crowd:
            assert LATE in world.finished(name)["lastError"]["message"]


def test_a_log_request_that_timed_out_is_not_repeated(world):
    """The end of the job is processed again, because the final write fails at first."""
    asked, refused = [], []

    def plan(request):
        if is_log(request):
            asked.append(request.path)
            return Action(forward=False, hang=True)
        if request.path.endswith("/item/status") and b"jobIDFinished" in request.body and not refused:
            refused.append(request.path)
            return Action(forward=False, answer=refusal(409, "Conflict"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(3))
        world.item("item")
        assert LATE in world.finished("item")["lastError"]["message"]
    assert refused and len(asked) == 1
