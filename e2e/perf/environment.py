# SPDX-License-Identifier: Apache-2.0
"""Shared by the measurements of the controller: an API server with items."""

import collections
import contextlib
import resource
import time

from bench import load
from bench.apiserver import ApiServer
from bench.audit import resource_of
from bench.kube import DEPLOYITEMS
from measure_programs import RELEASE

import api.controller.harness as harness
import api.manifest.harness as manifest_harness

# The static program of the image, which users run, instead of the test build.
harness.PROGRAM = RELEASE / "deployer" / "longshore"


# The target of every item. It has a Secret, so that a run reads every kind of object that it can.
TARGET = "target"


@contextlib.contextmanager
def _serving(make):
    """make(server) with an API server of its own, which is removed with everything in it: cleaning up thousands of objects one by one
    would take too long."""
    server = ApiServer()
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}})
    made = make(server)
    try:
        yield made
    finally:
        made.kubelet.close()
        for controller in made.controllers:
            controller.stop()
        server.close()


@contextlib.contextmanager
def world():
    with _serving(lambda server: harness.World(server, "bench")) as made:
        made.secret("access", {"kubeconfig": "{}"})
        made.target(TARGET, secret="access", key="kubeconfig")
        yield made


@contextlib.contextmanager
def manifest_world():
    """Manifest items whose target is the cluster that they are in."""
    with _serving(lambda server: manifest_harness.ManifestWorld(server, "bench", server)) as made:
        made.kubelet.close()
        yield made


def children_cpu():
    """The CPU time in seconds of the load generators that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def settled(made, controller, mark, quiet=1):
    """Waits until the watch on items is open and no request arrived for some seconds: then the list has been read."""
    deadline = time.monotonic() + 300
    seen = -1
    while time.monotonic() < deadline:
        entries = made.apiserver.audit.entries(mark, user=controller.user)
        watching = any(e["verb"] == "watch" and resource_of(e) == DEPLOYITEMS.rpartition("/")[2] for e in entries)
        if watching and len(entries) == seen:
            return
        seen = len(entries)
        time.sleep(quiet)
    raise TimeoutError("the controller does not stop sending requests")
