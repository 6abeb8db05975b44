# SPDX-License-Identifier: Apache-2.0
"""Replacing the Go deployer during a run, and being replaced by it."""

import json
import time

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import (GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, POD_FINALIZER, decode, encode, ended, hang, ignore, now,
                                running)
from faults.proxy import Action, PASS


class GoPod:
    """The objects that the Go controller leaves if it is scaled down while a pod runs."""

    def __init__(self, world, name, job="job-1", generation=1):
        self.world, self.item = world, name
        world.item(name, job=job)
        world.kube.patch(DEPLOYITEMS, name, {"status": {
            "phase": "Progressing", "observedGeneration": generation, "lastReconcileTime": now(),
            "transitionTimes": {"initTime": now()}, "deployer": {"identity": "test", "name": GROUP, "version": "v0.152.0"}}},
            world.namespace, "status")
        if world.kube.find("serviceaccounts", "default", world.host) is None:
            world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
        labels = {f"{GROUP}/deployer-id": "test", f"{GROUP}/name": name, LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: world.namespace,
                  f"deployitem.{GROUP}/generation": str(generation)}
        self.pod = world.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "generateName": f"{name}-", "namespace": world.host, "labels": labels, "finalizers": [POD_FINALIZER]},
            "spec": {"nodeName": "n", "restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}, {"name": "wait", "image": "i"}],
                     "initContainers": [{"name": "init", "image": "i"}]}})
        self.name, self.started = self.pod["metadata"]["name"], self.pod["metadata"]["creationTimestamp"]
        self.status("Running", running(), running())

    def status(self, phase, main, wait):
        def entry(name, state):
            return {"name": name, "image": "i", "imageID": "i", "ready": False, "restartCount": 0, "state": state}
        self.world.kube.patch("pods", self.name, {"status": {
            "phase": phase, "startTime": self.started, "initContainerStatuses": [entry("init", ended())],
            "containerStatuses": [entry("main", main), entry("wait", wait)]}}, self.world.host, "status")

    def export(self, value):
        self.world.kube.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": f"{self.world.namespace}-{self.item}-export", "namespace": self.world.host, "labels": {f"{GROUP}/name": self.item}},
            "data": {"config": encode(value)}})


def test_a_run_started_by_the_go_deployer_is_completed_with_its_export(world):
    world.kubelet.behaviour = ignore
    pod = GoPod(world, "item")
    world.start()
    time.sleep(1.1)  # times have a resolution of one second, and Go's wait leaves no other mark
    pod.export({"from": "go"})
    pod.status("Succeeded", ended(), ended())
    status = world.finished("item")
    assert status["phase"] == "Succeeded" and status["providerStatus"]["podStatus"]["podName"] == pod.name
    assert json.loads(decode(world.kube.get("secrets", "item-export", world.namespace)["data"]["config"])) == {"from": "go"}
    wait_until(lambda: not world.pods(), "deletion of the pod")
    assert world.kubelet.ran() == []


def test_the_export_of_an_earlier_go_run_is_not_used_even_if_the_clock_of_the_node_is_behind(world):
    world.kubelet.behaviour = ignore
    world.kube.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": f"{world.namespace}-item-export", "namespace": world.host, "labels": {f"{GROUP}/name": "item"}},
        "data": {"config": encode({"old": True})}})
    pod = GoPod(world, "item")
    pod.started = "2020-01-01T00:00:00Z"
    pod.status("Succeeded", ended(), ended())
    world.start()
    assert "exportRef" not in world.finished("item")


def test_a_failed_go_run_is_reported(world):
    world.kubelet.behaviour = ignore
    pod = GoPod(world, "item")
    world.start()
    pod.status("Failed", ended(3), ended(1))
    status = world.finished("item")
    assert status["phase"] == "Failed" and "exit code 3" in status["lastError"]["message"]


def test_a_failed_go_run_is_reported_with_the_end_of_its_log_without_inputs(world):
    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, "password is canary-4711\nno such host\n"))
        return PASS

    world.kubelet.behaviour = ignore
    pod = GoPod(world, "item")
    world.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": f"{world.namespace}-item-config", "namespace": world.host,
        "labels": {LABEL_ITEM_NAME: "item", LABEL_ITEM_NAMESPACE: world.namespace, f"{GROUP}/type": "configuration"}},
        "data": {"configuration.json": encode({"importValues": {"password": "canary-4711"}})}})
    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        pod.status("Failed", ended(3), ended(1))
        error = world.finished("item")["lastError"]
    assert "exit code 3" in error["message"] and "no such host" in error["message"] and "canary" not in error["message"]


def test_a_go_pod_of_another_generation_or_older_than_the_job_is_removed(world):
    pod = GoPod(world, "item", generation=7)
    pod.status("Succeeded", ended(), ended())
    world.kube.patch(DEPLOYITEMS, "item", {"status": {"phase": "Succeeded", "jobIDFinished": "job-1"}}, world.namespace, "status")
    time.sleep(1.1)
    world.trigger("item", "job-2")
    world.start()
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
    assert [job for _, job, _ in world.kubelet.ran("item")] == ["job-2"]
    wait_until(lambda: not world.pods(), "deletion of both pods")


def test_a_job_that_the_go_deployer_recorded_as_successful_succeeds_without_a_run(world):
    world.item("item")
    world.kube.patch(DEPLOYITEMS, "item", {"status": {
        "phase": "Progressing", "observedGeneration": 1, "transitionTimes": {"initTime": now()},
        "providerStatus": {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderStatus", "lastOperation": "RECONCILE",
                           "podStatus": {"podName": "gone-x", "lastRun": now(), "lastSuccessfulJobID": "job-1"}}}},
        world.namespace, "status")
    world.start()
    assert world.finished("item")["phase"] == "Succeeded"
    assert world.kubelet.ran() == []


def test_our_pod_has_what_the_go_deployer_looks_for(world):
    world.kubelet.behaviour = hang
    controller = world.start()
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    [pod] = world.pods()
    assert pod["metadata"]["finalizers"] == [POD_FINALIZER]
    for key, value in {f"{GROUP}/deployer-id": "test", f"{GROUP}/name": "item", LABEL_ITEM_NAME: "item",
                       LABEL_ITEM_NAMESPACE: world.namespace, f"deployitem.{GROUP}/generation": "1"}.items():
        assert pod["metadata"]["labels"][key] == value
    assert pod["spec"]["terminationGracePeriodSeconds"] == 630
    status = world.status("item")
    assert status["providerStatus"]["podStatus"]["podName"] == pod["metadata"]["name"]
    assert status["providerStatus"]["podStatus"]["lastRun"] == pod["metadata"]["creationTimestamp"]
    assert controller.running
