# SPDX-License-Identifier: Apache-2.0
"""Containers that an admission webhook injects into our pods, such as the proxy of a service mesh or a log collector."""

from bench.waiting import wait_until
from controller_harness import ended, running, waiting


def last(world):
    status = world.finished("item")
    assert status["phase"] == "Failed", status
    return status["lastError"]


def test_a_sidecar_that_keeps_running_does_not_block_the_job(world):
    world.start()

    def injected(pod):
        pod.run()
        pod.status("Running", init=ended(), main=ended(), wait=ended())
        pod.killed.wait(60)
        pod.status("Succeeded", init=ended(), main=ended(), wait=ended())

    world.kubelet.behaviour = injected
    world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    world.wait_for_cleanup()


def test_a_failed_sidecar_does_not_make_the_run_fail(world):
    """It must not matter whether the pod is read before or after the end of the sidecar."""
    def injected(pod):
        pod.bind()
        pod.export({"a": 1})
        pod.status("Failed", init=ended(), main=ended(), wait=ended(), beside={"istio-proxy": ended(137, reason="OOMKilled")})

    world.start()
    world.kubelet.behaviour = injected
    world.item("item")
    status = world.finished("item")
    assert status["phase"] == "Succeeded" and status["exportRef"] and "lastError" not in status
    world.wait_for_cleanup()


TO_COME = {"init": waiting("PodInitializing"), "main": waiting("PodInitializing"), "wait": waiting("PodInitializing")}


def test_an_injected_container_that_fails_is_reported_without_inputs(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.bind(), pod.status("Failed", **TO_COME, before={
        "istio-init": ended(137, message="iptables: permission denied for canary-4711")}))
    world.item("item", config={"importValues": {"password": "canary-4711"}})
    error = last(world)
    assert (error["operation"], error["reason"]) == ("RunPod", "Error")
    assert error["message"] == "container istio-init: Error, exit code 137, signal 9 (SIGKILL): iptables: permission denied for ***"
    assert set(world.status("item")["providerStatus"]["podStatus"]) <= {
        "podName", "lastRun", "containerStatus", "initContainerStatus", "waitContainerStatus", "outcome"}
    world.wait_for_cleanup()
    assert [e["reason"] for e in world.events("item")] == ["Error"]


def test_an_injected_container_that_cannot_start_is_reported_during_the_run_and_at_its_end(world):
    def stuck(pod):
        pod.bind()
        pod.status("Pending", **TO_COME, before={"istio-init": waiting("ErrImagePull", "dial tcp: no route to canary-4711")})
        wait_until(lambda: world.status("item").get("lastError", {}).get("reason") == "ErrImagePull", "the error in the status")
        pod.status("Pending", **TO_COME, before={"istio-init": waiting("ImagePullBackOff", "Back-off pulling image of canary-4711")})

    world.start()
    world.kubelet.behaviour = stuck
    world.item("item", timeout="5s", config={"importValues": {"password": "canary-4711"}})
    wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
    assert world.status("item")["lastError"]["message"] == "container istio-init: ErrImagePull: dial tcp: no route to ***"
    error = last(world)
    assert error["codes"] == ["ERR_TIMEOUT"] and "container istio-init: ImagePullBackOff" in error["message"]
    assert "canary" not in error["message"]
    world.wait_for_cleanup()
    assert sorted(e["reason"] for e in world.events("item")) == ["ErrImagePull", "ProgressingTimeout"]


def test_an_injected_container_whose_image_cannot_be_pulled_fails_the_job_after_the_grace_period(world):
    world.start(config={"imageGracePeriod": "1s"})
    world.kubelet.behaviour = lambda pod: (pod.bind(), pod.status("Pending", **TO_COME, before={
        "istio-init": waiting("ImagePullBackOff", "Back-off pulling image")}))
    world.item("item")
    error = last(world)
    assert error["reason"] == "ImagePullBackOff" and "container istio-init" in error["message"]
    world.wait_for_cleanup()


def test_a_sidecar_that_cannot_start_is_reported_and_main_continues(world):
    def beside(pod):
        pod.bind()
        pod.status("Pending", init=ended(), main=running(), wait=running(), beside={"istio-proxy": waiting("InvalidImageName", "x")})
        wait_until(lambda: world.status("item").get("lastError", {}).get("reason") == "InvalidImageName", "the error in the status")
        pod.status("Pending", init=ended(), main=ended(), wait=ended(), beside={"istio-proxy": waiting("InvalidImageName", "x")})
        pod.killed.wait(60)
        pod.status("Succeeded", init=ended(), main=ended(), wait=ended(), beside={"istio-proxy": ended()})

    world.start(config={"imageGracePeriod": "0s"})
    world.kubelet.behaviour = beside
    world.item("item")
    status = world.finished("item")
    assert status["phase"] == "Succeeded" and "lastError" not in status
    world.wait_for_cleanup()


def test_a_timeout_reports_the_sidecar_that_cannot_start_and_the_container_that_was_running(world):
    def beside(pod):
        pod.bind()
        pod.status("Pending", init=ended(), main=running(), wait=running(), beside={"istio-proxy": waiting("ErrImagePull")})
        pod.killed.wait(60)
        pod.status("Failed", init=ended(), main=ended(143), wait=ended())

    world.start()
    world.kubelet.behaviour = beside
    world.item("item", timeout="2s")
    message = last(world)["message"]
    assert message.startswith('timeout at: "container deployer: start reconcile"; container istio-proxy: ErrImagePull; container main was running')
    world.wait_for_cleanup()
