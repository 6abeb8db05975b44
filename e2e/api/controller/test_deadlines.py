# SPDX-License-Identifier: Apache-2.0
"""Whatever a job waits for, its time is the limit, and the status says what it waited for."""

import threading

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import FORCE_CLEANUP, ended, succeed
from faults.clock import Clock

LOST_MARGIN = 60  # seconds after its deletion time


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


def test_a_pod_that_was_deleted_on_a_dead_node_is_lost_when_its_time_comes(world):
    """No event tells of it: its kubelet is silent, and the item has all the time in the world."""
    clock = Clock()
    clock.jump(LOST_MARGIN - 5)
    world.start(env=clock.environment)
    found = stubborn(world)
    pod = begun(world, timeout="none")
    world.kube.delete("pods", pod["metadata"]["name"], world.host, gracePeriodSeconds=1)
    status = world.finished("item")
    assert status["phase"] == "Failed" and status["lastError"]["reason"] == "PodLost"
    found.set()
    world.quiet()
