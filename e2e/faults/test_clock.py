# SPDX-License-Identifier: Apache-2.0
"""The wall clock of the controller jumps by hours while it works. The walks (walk.py) do the same during whole runs."""

import threading

import pytest

from api.controller.harness import World, ended, running
from bench.kube import CONTEXTS
from bench.waiting import wait_until
from faults.clock import HOUR, Clock
from faults.proxy import PASS, Action, status

LOST_MARGIN = 60  # seconds after its deletion time until a pod counts as lost
LEASES = "coordination.k8s.io/v1/leases"
LEASE = {"leaderElection": {"enabled": True, "leaseDuration": "3s"}}


@pytest.fixture
def world(apiserver, namespace):
    made = World(apiserver, namespace)
    yield made
    made.close()


def test_clock_jumps_do_not_make_a_job_time_out(world):
    """The timeout of the item is ten minutes. After each jump an event makes the controller check the job."""
    clock, reports, done = Clock(), threading.Semaphore(0), threading.Event()

    def slow(pod):
        pod.bind()
        for number in range(4):
            pod.status("Running", init=ended(), main=running(), wait=running(), message=f"event {number}")
            reports.release()
            done.wait(0.5)
        done.wait(60)
        pod.succeed()

    world.kubelet.behaviour = slow
    world.start(env=clock.environment)
    world.item("item")
    for seconds in (5 * HOUR, -10 * HOUR, 24 * HOUR):
        reports.acquire()
        clock.jump(seconds)
    reports.acquire()
    assert world.status("item")["phase"] == "Progressing"
    done.set()
    assert world.finished("item")["phase"] == "Succeeded"
    assert len(world.kubelet.ran("item")) == 1


def test_last_reconcile_time_is_never_before_the_job_was_created(world):
    """If lastReconcileTime is before jobIDGenerationTime, Landscaper assumes that no deployer picked the job up and fails it."""
    def picked_up(status):
        assert status["transitionTimes"]["initTime"] < status["jobIDGenerationTime"], "the controller's clock is behind"
        return status["lastReconcileTime"] >= status["jobIDGenerationTime"]

    clock = Clock()
    clock.jump(-HOUR)
    world.start(env=clock.environment)
    world.item("item")
    assert picked_up(world.finished("item"))
    world.kube.delete(CONTEXTS, "default", world.namespace)
    world.trigger("item", "job-2")
    assert picked_up(wait_until(lambda: (s := world.status("item")).get("phase") == "Init" and s, "job-2 waits for its Context"))
    world.context()
    assert picked_up(world.finished("item", "job-2"))
    world.kubelet.behaviour = lambda pod: pod.fail()
    world.delete("item", "job-3")
    status = world.finished("item", "job-3")
    assert status["phase"] == "DeleteFailed" and picked_up(status)


def test_a_pending_retry_is_not_delayed_for_hours_when_the_clock_is_set_back(world):
    clock, is_refused = Clock(), threading.Event()
    is_refused.set()

    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods") and is_refused.is_set():
            return Action(forward=False, answer=status(403, "Forbidden"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(env=clock.environment, proxy=proxy)
        world.item("item")
        controller.wait_until(lambda: "job cannot go on" in controller.output(), "the job cannot go on")
        clock.jump(-5 * HOUR)
        is_refused.clear()
        assert world.finished("item")["phase"] == "Succeeded"


def test_clock_jumps_neither_lose_nor_take_over_a_lease(world):
    clocks = Clock(), Clock()

    def renewed():
        [lease] = world.kube.items(LEASES, world.host)
        return lease["spec"]["renewTime"], lease["spec"]["holderIdentity"]

    first = world.start(config=LEASE, env=clocks[0].environment)
    first.wait_until(lambda: '"msg":"leading"' in first.output(), "the first instance is the leader")
    second = world.start(config=LEASE, env=clocks[1].environment)
    world.item("one")
    world.finished("one")
    _, holder = renewed()
    for seconds in (5 * HOUR, -48 * HOUR):
        clocks[0].jump(-seconds)
        clocks[1].jump(seconds)
        for _ in range(2):
            before = renewed()
            wait_until(lambda: renewed() != before, "the lease is renewed")
    assert renewed()[1] == holder
    assert "not leading" not in first.output() and '"msg":"leading"' not in second.output()
    world.item("two")
    assert world.finished("two")["phase"] == "Succeeded"


def test_a_pod_that_was_deleted_on_a_dead_node_is_reported_lost_after_its_grace_period(world):
    """No event reports it: its kubelet is dead, and the item has no timeout. The clock is set ahead so that the test does not
    have to wait for the whole margin."""
    clock, found = Clock(), threading.Event()
    clock.jump(LOST_MARGIN - 5)

    def silent(pod):
        pod.run()
        found.wait(120)
        pod.status("Failed", init=ended(), main=ended(143), wait=ended())

    world.kubelet.behaviour = silent
    world.start(env=clock.environment)
    world.item("item", timeout="none")
    [pod] = wait_until(lambda: world.status("item").get("phase") == "Progressing" and
                       [p for p in world.pods() if p["status"]["phase"] == "Running"], "main runs")
    world.kube.delete("pods", pod["metadata"]["name"], world.host, gracePeriodSeconds=1)
    status = world.finished("item")
    assert status["phase"] == "Failed" and status["lastError"]["reason"] == "PodLost"
    assert "container main was running" in status["lastError"]["message"]
    found.set()
    world.wait_for_cleanup()
