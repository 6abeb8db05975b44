# SPDX-License-Identifier: Apache-2.0
"""Shared by the measurements of the controller: an API server with items."""

import collections
import contextlib
import importlib.util
import pathlib
import time

from bench import load
from bench.apiserver import ApiServer
from bench.audit import resource_of
from bench.kube import DEPLOYITEMS
from measure_programs import RELEASE

_spec = importlib.util.spec_from_file_location(
    "controller_harness", pathlib.Path(__file__).resolve().parents[1] / "api/controller/harness.py")
harness = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(harness)
# The static program of the image, which users run, instead of the test build.
harness.PROGRAM = RELEASE / "deployer" / "longshore"


# The target of every item. It has a Secret, so that a run reads every kind of object that it can.
TARGET = "target"


@contextlib.contextmanager
def world():
    server = ApiServer()
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}})
    made = harness.World(server, "bench")
    made.secret("access", {"kubeconfig": "{}"})
    made.target(TARGET, secret="access", key="kubeconfig")
    try:
        yield made
    finally:
        made.kubelet.close()
        for controller in made.controllers:
            controller.stop()
        # Delete everything at once: cleaning up thousands of objects one by one would take too long.
        server.close()


def counted(made, controller, mark):
    """{"verb resource": number of requests}, without watches."""
    found = made.apiserver.audit.entries(mark, user=controller.user)
    return dict(collections.Counter(f"{e['verb']} {resource_of(e)}" for e in found if e["verb"] != "watch"))


def item(name, namespace):
    return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "namespace": namespace, "finalizers": [harness.ITEM_FINALIZER]},
            "spec": {"type": harness.TYPE, "target": {"name": TARGET, "namespace": namespace},
                     "config": {"apiVersion": f"{harness.GROUP}/v1alpha1", "kind": "ProviderConfiguration",
                                "image": "example.com/main:1"}}}


def trigger(name, namespace, job):
    """The request by which Landscaper triggers a run."""
    return load.request("patch", DEPLOYITEMS, namespace, name, "status", {"status": {
        "jobID": job, "jobIDGenerationTime": harness.now(), "observedGeneration": 0,
        "transitionTimes": {"triggerTime": harness.now()}}})


def create_items(made, prefix, count, first=0, finished=False):
    """Creates items prefix-0 to prefix-(count - 1). With finished they have the status that a run of ours leaves."""
    name = f"{prefix}{first}-{load.N}"
    requests = [load.request("create", DEPLOYITEMS, made.namespace, body=item(name, made.namespace))]
    if finished:
        requests.append(load.request("patch", DEPLOYITEMS, made.namespace, name, "status", {"status": {
            "jobID": "job-1", "jobIDFinished": "job-1", "phase": "Succeeded", "observedGeneration": 1,
            "deployer": {"identity": "test", "name": "container", "version": "0"},
            "conditions": [{"type": kind, "status": "True", "reason": "Bench", "message": "as after a run",
                            "lastTransitionTime": harness.now(), "lastUpdateTime": harness.now()}
                           for kind in ("DeployItemValidation", "StateRestored", "ExportWritten")],
            "transitionTimes": {key: harness.now() for key in ("triggerTime", "initTime", "waitTime", "finishedTime")}}}))
    done = load.repeat(made.apiserver, requests, count)
    assert done["failed"] == 0, done


def settled(made, controller, mark):
    """Waits until the watch on items is open and no request arrived for a second: then the list has been read."""
    deadline = time.monotonic() + 300
    seen = -1
    while time.monotonic() < deadline:
        entries = made.apiserver.audit.entries(mark, user=controller.user)
        watching = any(e["verb"] == "watch" and resource_of(e) == DEPLOYITEMS.rpartition("/")[2] for e in entries)
        if watching and len(entries) == seen:
            return
        seen = len(entries)
        time.sleep(1)
    raise TimeoutError("the controller did not finish reading its list")
