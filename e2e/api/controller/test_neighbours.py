# SPDX-License-Identifier: Apache-2.0
"""Another deployer in the same host namespace has a pod under the name that we would give ours."""

import hashlib

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OURS, now

# The configuration of ours, and what the pod of theirs says.
NEIGHBOURS = {
    "another identity": ({}, {f"{GROUP}/deployer-id": "other"}),
    "no identity": ({}, {f"{GROUP}/deployer-id": ""}),
    "no deployer": ({}, {}),
    "another Landscaper": ({"identity": ""}, {f"{GROUP}/deployer-id": "", f"{OURS}/landscaper": "another"}),
}


def take_name(world, name, said):
    """A running pod; nobody's kubelet touches it."""
    world.kubelet.close()
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
    pod = f"{name}-{hashlib.sha256(f'{world.namespace}/{name}'.encode()).hexdigest()[:16]}"
    world.kube.create({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]},
                       "metadata": {"name": pod, "namespace": world.host,
                                    "annotations": {f"{OURS}/item-uid": "another", f"{OURS}/job": "theirs"},
                                    "labels": {LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: world.namespace, **said}}})
    world.kube.patch("pods", pod, {"status": {"phase": "Running"}}, world.host, "status")
    return world.kube.get("pods", pod, world.host)


@pytest.mark.parametrize("config, said", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_pods_name_that_another_deployer_has_is_told_and_its_pod_left_alone(world, config, said):
    theirs = take_name(world, "item", said)
    controller = world.start(config=config)
    world.item("item")
    error = wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
    assert "belongs to another deployer" in error["message"]
    # It is tried again, but not without a pause.
    controller.wait_until(lambda: controller.output().count('"action":"start"') > 1, "the next try")
    assert controller.output().count('"action":"start"') < 20
    assert world.kube.get("pods", theirs["metadata"]["name"], world.host) == theirs
    world.kube.delete("pods", theirs["metadata"]["name"], world.host, gracePeriodSeconds=0)
    wait_until(lambda: [p for p in world.pods() if f"{OURS}/job" in p["metadata"].get("annotations", {})], "a pod of ours")


@pytest.mark.parametrize("config, said", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_lost_pod_is_not_found_again_in_another_deployers(world, config, said):
    theirs = take_name(world, "item", said)
    world.item("item")
    begun = {"phase": "Progressing", "observedGeneration": 1, "transitionTimes": {"initTime": now()},
             "providerStatus": {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderStatus",
                                "podStatus": {"podName": theirs["metadata"]["name"]}}}
    world.kube.patch(DEPLOYITEMS, "item", {"status": begun}, world.namespace, "status")
    world.start(config=config)
    status = world.finished("item")
    assert (status["phase"], status["lastError"]["reason"]) == ("Failed", "PodLost")
    assert world.kube.get("pods", theirs["metadata"]["name"], world.host) == theirs
