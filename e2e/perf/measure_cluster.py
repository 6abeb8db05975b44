# SPDX-License-Identifier: Apache-2.0
"""Measures the deployer in a real cluster, installed by its chart: from item to result, compared to a bare pod with the same image."""

import importlib.util
import pathlib
import statistics
import time

from bench import images, paths
from bench.kube import DEPLOYITEMS
from bench.node import Node

_spec = importlib.util.spec_from_file_location(
    "cluster_conftest", pathlib.Path(__file__).resolve().parents[1] / "cluster/conftest.py")
cluster = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cluster)

NAMESPACE = "bench"
SCRIPT = "echo 'a: 1' > $EXPORTS_PATH; date > $STATE_PATH/f"


def _until(kube, resource, namespace, name, condition, begin):
    """The time from begin until a watch reports that the object meets the condition. Polling would measure its own interval."""
    version = kube.list(resource, namespace)["metadata"]["resourceVersion"]
    found = kube.find(resource, name, namespace)
    if found and condition(found):
        return time.monotonic() - begin
    for _, thing in kube.watch(resource, namespace, timeout=120, fieldSelector=f"metadata.name={name}", resourceVersion=version):
        if condition(thing):
            return time.monotonic() - begin
    raise TimeoutError(f"timed out waiting for {resource} {name}")


def _bare_pod(node, number):
    name = f"bare-{number}"
    begin = time.monotonic()
    node.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [{
            "name": "main", "image": images.BUSYBOX, "imagePullPolicy": "IfNotPresent", "command": ["/bin/sh", "-c", "date"]}]}},
        NAMESPACE)
    seconds = _until(node.kube, "pods", NAMESPACE, name, lambda pod: pod["status"].get("phase") == "Succeeded", begin)
    node.kube.delete("pods", name, NAMESPACE, gracePeriodSeconds=0)
    return seconds


def _item(world, name, job):
    begin = time.monotonic()
    if job == "job-1":
        world.shell(name, SCRIPT)
    else:
        world.trigger(name, job)
    seconds = _until(world.kube, DEPLOYITEMS, NAMESPACE, name,
                     lambda item: item.get("status", {}).get("jobIDFinished") == job, begin)
    status = world.status(name)
    assert status["phase"] == "Succeeded", status
    return seconds


def latency(quick):
    rounds = 3 if quick else 15
    node = Node(paths.run_directory() / "node")
    try:
        node.load(images.busybox(), images.BUSYBOX)
        cluster.install(node)
        node.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        node.kube.wait_for("serviceaccounts", "default", bool, NAMESPACE)
        world = cluster.Cluster(node, NAMESPACE)
        _bare_pod(node, "warm")
        _item(world, "warm", "job-1")
        bare, first, repeated = [], [], []
        # Alternate the three, so that a slow phase of the machine affects all of them.
        for number in range(rounds):
            bare.append(_bare_pod(node, number))
            first.append(_item(world, f"item-{number}", "job-1"))
            repeated.append(_item(world, f"item-{number}", "job-2"))
    finally:
        node.close()
    middle = statistics.median(bare)
    return {"rounds": rounds, "barePodSeconds": middle, "firstSeconds": statistics.median(first),
            "repeatedSeconds": statistics.median(repeated), "first": statistics.median(first) / middle,
            "repeated": statistics.median(repeated) / middle}
