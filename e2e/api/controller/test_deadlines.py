# SPDX-License-Identifier: Apache-2.0
"""Whatever a job waits for, its time is the limit, and the status says what it waited for."""

import json
import threading
import time

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import FORCE_CLEANUP, POD_FINALIZER, decode, ended, hang, succeed
from faults.proxy import Action, PASS


def stubborn(world):
    """Runs until its kubelet is found again: nothing ends it before the event that is returned is set."""
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


def test_a_job_whose_predecessors_pod_does_not_end_says_so_and_fails_with_its_time(world):
    world.start()
    found = stubborn(world)
    pod = begun(world, timeout="4s")
    world.interrupt("item", "job-1")
    world.trigger("item", "job-2")
    shown = wait_until(lambda: (s := world.status("item")).get("phase") == "Init" and s.get("lastError"), "Init with a reason")
    words = f"pod '{pod['metadata']['name']}' of job 'job-1' has not ended"
    assert (shown["operation"], shown["reason"], shown["message"]) == ("DeployPod", "PreviousPodRuns", words)
    status = world.finished("item", "job-2")
    assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_TIMEOUT"]
    assert words in status["lastError"]["message"]
    found.set()
    world.quiet()
    assert len(world.kubelet.ran("item")) == 1
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-3")
    assert world.finished("item", "job-3")["phase"] == "Succeeded"


def test_force_cleanup_waits_for_a_pod_no_longer_than_the_items_time(world):
    world.start()
    found = stubborn(world)
    begun(world, timeout="4s")
    world.interrupt("item", "job-1")
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
    world.delete("item")
    status = world.finished("item", "job-delete")
    assert status["phase"] == "DeleteFailed" and "of job 'job-1' has not ended" in status["lastError"]["message"]
    found.set()
    world.trigger("item", "job-delete-2")
    world.gone("item")


def test_a_pod_that_vanishes_is_told_with_the_container_that_was_running(world):
    world.start()
    world.kubelet.behaviour = hang
    pod = begun(world)
    wait_until(lambda: "running" in world.status("item")["providerStatus"]["podStatus"]["containerStatus"].get("state", {}),
               "main runs, says the status")
    world.kube.patch("pods", pod["metadata"]["name"], {"metadata": {"finalizers": None}}, world.host)
    world.kube.delete("pods", pod["metadata"]["name"], world.host, gracePeriodSeconds=0)
    assert "container main was running" in world.finished("item")["lastError"]["message"]


def exceed(pod):
    """Its kubelet was faster than the controller."""
    pod.run()
    pod.status("Failed", reason="DeadlineExceeded", init=ended(), main=ended(137), wait=ended())


@pytest.mark.parametrize("behaviour, words", [(hang, "container main was running"), (exceed, "container main: Error, exit code 137")])
def test_a_timeout_names_the_container_and_ends_with_its_log_without_its_inputs(world, behaviour, words):
    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, "password is canary-4711|waiting for the load balancer|"))
        return PASS

    with world.behind(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = behaviour
        world.item("item", timeout="3s", config={"importValues": {"password": "canary-4711"}})
        status = world.finished("item")
        world.quiet()
    message = status["lastError"]["message"]
    assert message.startswith('timeout at: "container deployer: start reconcile"; ') and words in message
    assert status["lastError"]["codes"] == ["ERR_TIMEOUT"]
    assert "waiting for the load balancer" in message and "canary" not in message
    assert "load balancer" in status["providerStatus"]["podStatus"]["mainLogTail"]


@pytest.mark.parametrize("end", ["timeout", "interrupt", "another job", "force-cleanup"])
def test_a_pod_that_has_to_end_gets_its_grace_time_because_wait_saves_the_state_in_it(world, end):
    """wait has all of it: until the containers have ended, nobody shortens it."""
    is_told, may_end, told = threading.Event(), threading.Event(), []

    def saving(pod):
        """Main and wait run on for a while after they were told to end."""
        pod.run()
        pod.killed.wait(120)
        is_told.set()
        may_end.wait(120)
        told.append(world.kube.find("pods", pod.name, pod.namespace))
        pod.save_state(b"saved")
        pod.status("Failed", init=ended(), main=ended(143), wait=ended(1, message="the pod was stopped; state: stored"))

    world.start()
    world.kubelet.behaviour = saving
    pod = begun(world, timeout="3s" if end == "timeout" else "10m")
    if end == "interrupt":
        world.interrupt("item", "job-1")
    elif end == "another job":
        world.trigger("item", "job-2")
    elif end == "force-cleanup":
        world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
        world.delete("item")
    assert is_told.wait(60), "nobody told the pod to end"
    world.kubelet.behaviour = succeed
    # Another item's whole life: whatever the controller wants to do to the pod, it has had the time.
    world.item("other")
    assert world.finished("other")["phase"] == "Succeeded"
    may_end.set()
    world.quiet()
    [seen] = told
    assert seen and seen["metadata"]["uid"] == pod["metadata"]["uid"], "it was removed while its containers ran"
    assert seen["metadata"]["deletionGracePeriodSeconds"] == seen["spec"]["terminationGracePeriodSeconds"] == 300
    if end == "force-cleanup":
        world.gone("item")
        return
    if end != "another job":
        world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
    [state] = [thing for thing in world.kube.items("secrets", world.host) if thing["metadata"]["name"].startswith("state-")]
    [second] = [pod for pod in world.kubelet.pods.values() if pod.job == "job-2"]
    assert decode(state["data"]["config"]) == b"saved"
    assert state["metadata"]["name"] in json.dumps(second.object["spec"]["volumes"]), "the next run reads it"


@pytest.mark.parametrize("end", ["timeout", "interrupt"])
def test_keep_pod_keeps_a_pod_that_had_to_be_ended(world, end):
    """Its kubelet ends it as it does at a pod's own deadline, so its log can still be read."""
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
    wait_until(lambda: world.host_objects(("pods", "secrets")) == [f"pods/{name}"], "the inputs gone, the pod kept")
    [pod] = wait_until(lambda: [p for p in world.pods() if POD_FINALIZER not in p["metadata"].get("finalizers", [])], "let go of")
    assert "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Failed"
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
