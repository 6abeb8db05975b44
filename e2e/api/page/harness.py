# SPDX-License-Identifier: Apache-2.0
"""A controller with a status page, and ten thousand items as Landscaper and earlier controllers leave them."""

import time

from bench import copies, ports
from bench.kube import DEPLOYITEMS
from bench.page_client import PageClient
from bench.proc import memory
from controller_harness import GROUP, ITEM_FINALIZER, TYPE

SCRIPT = "landscaper.gardener.cloud/script"
MANIFEST = "landscaper.gardener.cloud/kubernetes-manifest"
# In everything that must not leave the controller: imports, exports, logs, later lines of errors.
CANARY = "canary-9f1b7c"
# Names of items, how many, their type, and reason and message if they failed.
GROUPS = [
    ("team-platform", "image-mirror", 13, TYPE, ("ImagePullBackOff", "container main: ImagePullBackOff: manifest unknown")),
    ("team-payments", "checkout-db-migration", 3240, TYPE, None),
    ("team-payments", "invoice-schema", 1500, SCRIPT, None),
    ("team-network", "ingress-controller", 2500, MANIFEST, None),
    ("team-network", "dns-zones", 1700, TYPE, None),
    ("team-platform", "node-bootstrap", 1000, SCRIPT, None),
    ("team-platform", "backup-verify", 60, TYPE, ("Error", "container main: Error, exit code 3")),
]
PARTS = 6
LOADED_AT = time.time()
FINISHED = sum(count for _, _, count, _, _ in GROUPS)
FAILED = sum(count for _, _, count, _, reason in GROUPS if reason)
RUNNING = 4  # items whose pods run
COUNT = FINISHED + RUNNING


def at(seconds_ago):
    """Before this module was loaded: creating the items takes a while, which must not change the picture."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(LOADED_AT - seconds_ago))


def container(started, finished, code=0):
    return {"image": "registry.example/tools/migrate:2.4.1", "imageID": "", "exitCode": code,
            "state": {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": at(started), "finishedAt": at(finished)}}}


def status_of(kind, ago, took, reason):
    """The status of an item whose job ended some seconds ago."""
    begun = ago + took
    status = {
        "phase": "Failed" if reason else "Succeeded", "observedGeneration": 1, "jobID": "job-1", "jobIDFinished": "job-1",
        "jobIDGenerationTime": at(begun + 2), "lastReconcileTime": at(begun),
        "deployer": {"identity": "test", "name": GROUP, "version": "v1"},
        "transitionTimes": {"triggerTime": at(begun + 2), "initTime": at(begun), "finishedTime": at(ago)},
        "conditions": [{"type": "Exported", "status": "True", "reason": "Succeeded", "message": f"all done\nlog: {CANARY}",
                        "lastTransitionTime": at(ago), "lastUpdateTime": at(ago)}]}
    if kind != MANIFEST:
        status["exportRef"] = {"name": f"{CANARY}-export", "namespace": "items"}
        status["providerStatus"] = {
            "apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderStatus", "lastOperation": "RECONCILE", "podStatus": {
                "podName": "run-1", "lastRun": at(begun - 1), "mainLogTail": f"log {CANARY}",
                "initContainerStatus": container(begun - 3, begun - 6), "containerStatus": container(begun - 7, ago + 4, 3 if reason else 0),
                "waitContainerStatus": {**container(begun - 7, ago + 1, 1 if reason else 0), "message": CANARY}}}
    if reason:
        status["conditions"] = []
        status["lastError"] = {"operation": "RunMainContainer", "reason": reason[0], "lastTransitionTime": at(ago), "lastUpdateTime": at(ago),
                               "message": f"{reason[1]}\nlast line of the log {CANARY}"}
    return status


def create_group(world, namespace, name, count, kind, reason, ago, took):
    """The first item is created; the others are copies of it."""
    first, *others = (f"{name}-{number}" for number in range(count))
    world.kube.create({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": first, "namespace": namespace, "finalizers": [ITEM_FINALIZER]},
        "spec": {"type": kind, "target": {"name": "prod-eu-1", "namespace": namespace}, "config": {
            "apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderConfiguration", "importValues": {"password": CANARY}}}})
    world.kube.patch(DEPLOYITEMS, first, {"status": status_of(kind, ago, took, reason)}, namespace, "status")
    copies.copy(world.apiserver, DEPLOYITEMS, namespace, first, others)


def part_size(count, part):
    """Items of a group end at PARTS different times."""
    return count // PARTS + (count % PARTS if part == 0 else 0)


def create_items(world):
    for namespace in sorted({group[0] for group in GROUPS}):
        world.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        world.context(namespace=namespace)
    for number, (namespace, name, count, kind, reason) in enumerate(GROUPS):
        for part in range(PARTS):
            create_group(world, namespace, f"{name}-{part}", part_size(count, part), kind, reason, 120 + 500 * part + 83 * number, 20 + 9 * part + 5 * number)


class Page(PageClient):
    """The page of a running controller."""

    def __init__(self, world, namespaces=(), **ui):
        """namespaces: the controller lists no others."""
        self.world, self.ui, self.namespaces = world, {"enabled": True, **ui}, list(namespaces)
        super().__init__(ports.free_port())
        self.restart()

    def restart(self):
        for controller in self.world.controllers:
            controller.stop()
        self.controller = self.world.start(
            verbosity="info", arguments=[f"--metrics-address=127.0.0.1:{self.port}"],
            config={"ui": self.ui, "manifest": {"enabled": True}, "namespaces": self.namespaces})
        self.controller.wait_until(lambda: "items listed" in self.controller.output(), "items listed", 600)
        self.first_memory = memory(self.controller.pid)["VmRSS"]
