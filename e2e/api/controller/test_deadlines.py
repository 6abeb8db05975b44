# SPDX-License-Identifier: Apache-2.0
"""The timeout of a job applies whatever the job waits for, and the status says what it waited for."""

import json
import threading
import time

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import FORCE_CLEANUP, POD_FINALIZER, decode, ended, hang, running, succeed
from faults.proxy import Action, PASS, status


def stubborn(world):
    """A pod of an unreachable node: it runs until the returned event is set."""
    found = threading.Event()

    def behaviour(pod):
        pod.run()
        found.wait(120)
        pod.status("Failed", init=ended(), main=ended(143), wait=ended())

    world.kubelet.behaviour = behaviour
    return found


def begun(world, **item):
    world.item("item", **item)
    return wait_until(lambda: world.status("item").get("phase") == "Progressing" and
                      [p for p in world.pods() if p["status"]["phase"] == "Running"], "main runs")[0]


def shorten_grace(world, pod):
    """Makes the grace period of the pod end soon, whatever the configured one is."""
    name = pod["metadata"]["name"]
    wait_until(lambda: "deletionTimestamp" in world.kube.get("pods", name, world.host)["metadata"], "the deletion of the pod to start")
    world.kube.delete("pods", name, world.host, gracePeriodSeconds=1)


def test_a_job_that_waits_forever_for_the_previous_pod_reports_it_and_times_out(world):
    """The timeout counts from the time at which that pod should have ended."""
    world.start()
    found = stubborn(world)
    pod = begun(world, timeout="4s")
    world.interrupt("item", "job-1")
    world.trigger("item", "job-2")
    shown = wait_until(lambda: (s := world.status("item")).get("phase") == "Init" and s.get("lastError"), "phase Init with a reason")
    expected = f'pod "{pod["metadata"]["name"]}" of job "job-1" has not ended'
    assert (shown["operation"], shown["reason"], shown["message"]) == ("DeployPod", "PreviousPodRuns", expected)
    shorten_grace(world, pod)
    status = world.finished("item", "job-2")
    assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_TIMEOUT"]
    assert expected in status["lastError"]["message"]
    found.set()
    world.wait_for_cleanup()
    assert len(world.kubelet.ran("item")) == 1
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-3")
    assert world.finished("item", "job-3")["phase"] == "Succeeded"


def test_the_timeout_of_a_job_counts_from_the_deletion_of_the_previous_pod(world):
    """Also if the controller was restarted in between, because the time is in the status."""
    first = world.start()
    found = stubborn(world)
    begun(world, timeout="4s")
    world.trigger("item", "job-2")
    blocked = wait_until(lambda: (s := world.status("item")).get("phase") == "Init" and s.get("lastError") and s, "phase Init with a reason")
    first.expected = False
    first.kill()
    world.start()
    time.sleep(6)  # longer than the timeout of the item
    assert world.status("item")["phase"] == "Init"
    world.kubelet.behaviour = succeed
    found.set()
    status = world.finished("item", "job-2")
    assert status["phase"] == "Succeeded" and "lastError" not in status
    assert status["transitionTimes"]["initTime"] > blocked["transitionTimes"]["initTime"]


@pytest.mark.parametrize("chunks, report, seconds", [
    (0, {}, 38), (5, {"chunks": 7}, 50), (0, {"chunks": 400, "stored": 400, "milliseconds": 700_000}, 1430), (5, None, 46)],
    ids=["empty", "not stored", "large", "no response"])
def test_a_pod_is_ended_with_the_grace_period_of_main_and_time_to_save_the_state(world, chunks, report, seconds):
    """A main that ignores SIGTERM runs for all of this time, because the containers of a pod share one grace period. wait reports how
    large the state is and how long its snapshot took. If it does not respond, the last state counts."""
    grace = []
    world.kubelet.respond = (lambda pod: pod.report_snapshot(**report)) if report is not None else None

    def behaviour(pod):
        pod.run()
        if pod.job == "job-0":
            if chunks:
                pod.save_state(b"x" * 100, chunks=chunks)
            pod.succeed()
            return
        pod.killed.wait(120)
        grace.append(world.kube.get("pods", pod.name, pod.namespace)["metadata"]["deletionGracePeriodSeconds"])
        pod.status("Failed", init=ended(), main=ended(137, signal=9), wait=ended(1, message="the pod was stopped; state: stored"))

    world.start()
    world.kubelet.behaviour = behaviour
    world.item("item", job="job-0")
    world.finished("item", "job-0")
    world.wait_for_cleanup()
    world.trigger("item", "job-1")
    wait_until(lambda: world.status("item").get("phase") == "Progressing" and [p for p in world.pods() if p["status"]["phase"] == "Running"],
               "main runs")
    world.interrupt("item", "job-1")
    world.wait_for_cleanup()
    assert grace == [seconds]


def test_a_pod_whose_wait_is_not_started_yet_is_not_deleted_before_wait_could_save_the_state(world):
    """The kubelet starts main first. The image of wait may still be pulled while main already writes its state."""
    grace = []

    def behaviour(pod):
        pod.bind()
        pod.status("Running", init=ended(), main=running(), wait={"waiting": {"reason": "ContainerCreating"}})
        assert pod.requested.wait(60), "wait is not asked for the state"
        assert not pod.killed.is_set()
        pod.run()
        pod.report_snapshot(chunks=9, stored=9, milliseconds=20_000)
        pod.killed.wait(60)
        grace.append(world.kube.get("pods", pod.name, pod.namespace)["metadata"]["deletionGracePeriodSeconds"])
        pod.status("Failed", init=ended(), main=ended(137, signal=9), wait=ended(1, message="the pod was stopped; state: stored"))

    world.start()
    world.kubelet.behaviour, world.kubelet.respond = behaviour, None
    begun(world)
    world.interrupt("item", "job-1")
    world.wait_for_cleanup()
    assert grace == [70]


def test_a_time_in_which_the_api_server_does_not_answer_does_not_count_against_wait(world):
    """wait may have lost the API server too. It gets its whole time to respond after the outage."""
    grace, requested_at, is_over = [], [], threading.Event()

    def plan(request):
        if request.method == "GET" and request.path.endswith("-report") and not is_over.is_set():
            requested_at.append(time.monotonic())
            if requested_at[-1] > requested_at[0] + 12:  # more than wait has to respond
                is_over.set()
            return Action(forward=False, answer=status(503, "ServiceUnavailable"))
        return PASS

    def respond(pod):
        is_over.wait(120)
        time.sleep(3)
        pod.report_snapshot(chunks=9, stored=9, milliseconds=20_000)

    def behaviour(pod):
        pod.run()
        pod.killed.wait(120)
        grace.append(world.kube.get("pods", pod.name, pod.namespace)["metadata"]["deletionGracePeriodSeconds"])
        pod.status("Failed", init=ended(), main=ended(137, signal=9), wait=ended(1, message="the pod was stopped; state: stored"))

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour, world.kubelet.respond = behaviour, respond
        begun(world)
        world.interrupt("item", "job-1")
        wait_until(lambda: grace, "the deletion of the pod", 120)
        world.wait_for_cleanup()
    assert grace == [70]


@pytest.mark.parametrize("behaviour", [succeed, lambda pod: (pod.run(), pod.fail())], ids=["succeeded", "failed"])
def test_a_pod_whose_containers_have_ended_is_deleted_with_grace_period_0(world, behaviour):
    """The kubelet has nothing to do any more; without this the pod would stay until it notices the deletion."""
    deletions = []

    def plan(request):
        if request.method == "DELETE" and "/pods/" in request.path:
            deletions.append(json.loads(request.body))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = behaviour
        world.item("item")
        world.finished("item")
        world.wait_for_cleanup()
    [pod] = world.kubelet.pods.values()
    [deletion] = deletions
    assert (deletion["gracePeriodSeconds"], deletion["preconditions"]["uid"]) == (0, pod.uid)


def test_a_pod_that_is_being_deleted_is_deleted_with_grace_period_0_once_wait_has_exited(world):
    """The kubelet confirms the end of a pod only when it has unmounted the volumes. The next job does not wait for that."""
    deletions, may_save, may_end = [], threading.Event(), threading.Event()

    def plan(request):
        if request.method == "DELETE" and "/pods/" in request.path:
            deletions.append(json.loads(request.body))
        return PASS

    def behaviour(pod):
        pod.run()
        pod.killed.wait(120)
        may_save.wait(120)
        pod.status("Running", init=ended(), main=running(), wait=ended(1, message="the pod was stopped; state: stored"))
        may_end.wait(120)
        pod.status("Failed", init=ended(), main=ended(137, signal=9), wait=ended(1, message="the pod was stopped; state: stored"))

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour, world.kubelet.confirms = behaviour, False
        pod = begun(world)
        world.interrupt("item", "job-1")
        world.trigger("item", "job-2")
        wait_until(lambda: deletions, "the deletion of the pod")
        world.kubelet.behaviour = succeed
        may_save.set()
        # Run another item completely: the controller has seen that only main runs, and leaves main its time.
        world.item("other")
        assert world.finished("other")["phase"] == "Succeeded"
        of_pod = [d["gracePeriodSeconds"] for d in deletions if d["preconditions"]["uid"] == pod["metadata"]["uid"]]
        assert of_pod == [38]
        may_end.set()
        assert world.finished("item", "job-2")["phase"] == "Succeeded"
        world.wait_for_cleanup()
    of_pod = [d["gracePeriodSeconds"] for d in deletions if d["preconditions"]["uid"] == pod["metadata"]["uid"]]
    assert of_pod == [38, 0]


def test_force_cleanup_waits_for_a_pod_at_most_for_the_timeout_of_the_item(world):
    world.start()
    found = stubborn(world)
    pod = begun(world, timeout="12s")
    world.interrupt("item", "job-1")
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
    world.delete("item")
    wait_until(lambda: world.status("item").get("phase") == "InitDelete", "InitDelete")
    shorten_grace(world, pod)
    status = world.finished("item", "job-delete")
    assert status["phase"] == "DeleteFailed" and 'of job "job-1" has not ended' in status["lastError"]["message"]
    found.set()
    world.trigger("item", "job-delete-2")
    world.wait_until_deleted("item")


def test_a_pod_that_disappears_is_reported_with_the_container_that_was_running(world):
    world.start()
    world.kubelet.behaviour = hang
    pod = begun(world)
    wait_until(lambda: "running" in world.status("item")["providerStatus"]["podStatus"]["containerStatus"].get("state", {}),
               "main runs, says the status")
    world.kube.patch("pods", pod["metadata"]["name"], {"metadata": {"finalizers": None}}, world.host)
    world.kube.delete("pods", pod["metadata"]["name"], world.host, gracePeriodSeconds=0)
    assert "container main was running" in world.finished("item")["lastError"]["message"]


def exceed(pod):
    """The kubelet ends the pod before the controller does."""
    pod.run()
    pod.status("Failed", reason="DeadlineExceeded", init=ended(), main=ended(137), wait=ended())


@pytest.mark.parametrize("behaviour, expected", [(hang, "container main was running"), (exceed, "container main: Error, exit code 137")])
def test_a_timeout_reports_the_container_and_the_end_of_its_log_without_inputs(world, behaviour, expected):
    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, "password is canary-4711|waiting for the load balancer|"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = behaviour
        world.item("item", timeout="3s", config={"importValues": {"password": "canary-4711"}})
        status = world.finished("item")
        world.wait_for_cleanup()
    message = status["lastError"]["message"]
    assert message.startswith('timeout at: "container deployer: start reconcile"; ') and expected in message
    assert status["lastError"]["codes"] == ["ERR_TIMEOUT"]
    assert "waiting for the load balancer" in message and "canary" not in message
    assert "load balancer" in status["providerStatus"]["podStatus"]["mainLogTail"]


@pytest.mark.parametrize("end", ["timeout", "interrupt", "another job", "deletion", "force-cleanup"])
def test_a_pod_that_is_ended_gets_its_whole_grace_period_so_that_wait_can_save_the_state(world, end):
    """The grace period must not be shortened before the containers have ended."""
    is_ending, may_end, found_pods = threading.Event(), threading.Event(), []

    def saving(pod):
        """Main and wait continue for a while after the deletion of the pod."""
        pod.run()
        pod.killed.wait(120)
        is_ending.set()
        may_end.wait(120)
        found_pods.append(world.kube.find("pods", pod.name, pod.namespace))
        pod.save_state(b"saved")
        pod.status("Failed", init=ended(), main=ended(143), wait=ended(1, message="the pod was stopped; state: stored"))

    world.start()
    world.kubelet.behaviour = saving
    pod = begun(world, timeout="3s" if end == "timeout" else "10m")
    if end == "interrupt":
        world.interrupt("item", "job-1")
    elif end == "another job":
        world.trigger("item", "job-2")
    elif end == "deletion":
        world.delete("item")
    elif end == "force-cleanup":
        world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
        world.delete("item")
    assert is_ending.wait(60), "the pod was not deleted"
    world.kubelet.behaviour = succeed
    # Run another item completely, so that the controller has had time to do anything that it would do to the pod.
    world.item("other")
    assert world.finished("other")["phase"] == "Succeeded"
    may_end.set()
    world.wait_for_cleanup()
    [seen] = found_pods
    assert seen and seen["metadata"]["uid"] == pod["metadata"]["uid"], "the pod was removed while its containers ran"
    assert (seen["metadata"]["deletionGracePeriodSeconds"], seen["spec"]["terminationGracePeriodSeconds"]) == (38, 630)
    if end in ("deletion", "force-cleanup"):
        world.wait_until_deleted("item")
        assert [start[2] for start in world.kubelet.ran("item")] == ["RECONCILE", *(["DELETE"] if end == "deletion" else [])]
        return
    if end != "another job":
        world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
    [state] = [thing for thing in world.kube.items("secrets", world.host) if thing["metadata"]["name"].startswith("state-")]
    [second] = [pod for pod in world.kubelet.pods.values() if pod.job == "job-2"]
    assert decode(state["data"]["config"]) == b"saved"
    assert state["metadata"]["name"] in json.dumps(second.object["spec"]["volumes"]), "the next run does not mount the state"


@pytest.mark.parametrize("end", ["timeout", "interrupt"])
def test_keep_pod_keeps_a_pod_that_was_stopped(world, end):
    """The kubelet ends the pod as at activeDeadlineSeconds, so that its log is still available."""
    def obedient(pod):
        pod.run()
        while world.kube.get("pods", pod.name, pod.namespace)["spec"].get("activeDeadlineSeconds") != 1:
            time.sleep(0.1)
        pod.status("Failed", reason="DeadlineExceeded", init=ended(), main=ended(143), wait=ended())

    world.start(config={"debug": {"keepPod": True}})
    world.kubelet.behaviour = obedient
    name = begun(world, timeout="4s" if end == "timeout" else "10m")["metadata"]["name"]
    if end == "interrupt":
        world.interrupt("item", "job-1")
    world.finished("item")
    wait_until(lambda: world.host_objects(("pods", "secrets")) == [f"pods/{name}"], "deletion of the inputs, but not of the pod")
    [pod] = wait_until(lambda: [p for p in world.pods() if POD_FINALIZER not in p["metadata"].get("finalizers", [])], "removal of the finalizer")
    assert "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Failed"
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
