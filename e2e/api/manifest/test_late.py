# SPDX-License-Identifier: Apache-2.0
"""Changes after the end of a job are reported, or answered with one job of the root Installation."""

import json
import time

import pytest

from bench import crds, paths
from bench.kube import DEPLOYITEMS
from bench.ports import free_port
from bench.waiting import wait_until
from manifest_harness import managed
from ship import helm

LANDSCAPER = "landscaper.gardener.cloud/v1alpha1"
INSTALLATIONS, EXECUTIONS = f"{LANDSCAPER}/installations", f"{LANDSCAPER}/executions"
OPERATION = "landscaper.gardener.cloud/operation"
ALLOWED = {"manifest": {"lateChanges": {"trigger": True, "minimumInterval": "1s"}}}
SOON = {"level": "trigger", "quietPeriod": "1s", "interval": "1s"}


def definition(plural, kind):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.landscaper.gardener.cloud"},
            "spec": {"group": "landscaper.gardener.cloud", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                         "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


class Tree:
    """A root Installation with a sub-Installation, an Execution and an item that exports .data.answer of a ConfigMap."""

    def __init__(self, world, name, watch, manifest=None, **config):
        self.world, self.name, self.jobs = world, name, 1
        owner = None
        for plural, kind, thing in ((INSTALLATIONS, "Installation", f"{name}-root"), (INSTALLATIONS, "Installation", f"{name}-sub"),
                                    (EXECUTIONS, "Execution", f"{name}-execution")):
            made = world.kube.create({"apiVersion": LANDSCAPER, "kind": kind, "metadata": {
                "name": thing, "namespace": world.namespace, **({"ownerReferences": [owner]} if owner else {})}})
            owner = {"apiVersion": LANDSCAPER, "kind": kind, "name": thing, "uid": made["metadata"]["uid"], "controller": True}
        self.finish_root()
        world.deploy(name, [managed(world.config(name, data={"answer": "one"}), **(manifest or {}))], job=None, watch=watch, exports={
            "exports": [{"key": "the.answer", "jsonPath": ".data.answer", "fromResource": {
                "apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": world.space}}]}, **config)
        world.kube.patch(DEPLOYITEMS, name, {"metadata": {"ownerReferences": [owner]}}, world.namespace)
        world.trigger(name, "job-1")
        world.succeeded(name)

    def finish_root(self):
        self.world.kube.patch(INSTALLATIONS, f"{self.name}-root", {"status": {
            "phase": "Succeeded", "jobID": f"root-{self.jobs}", "jobIDFinished": f"root-{self.jobs}"}}, self.world.namespace, "status")

    def root(self):
        return self.world.kube.get(INSTALLATIONS, f"{self.name}-root", self.world.namespace)

    def is_requested(self):
        return self.root()["metadata"].get("annotations", {}).get(OPERATION) == "reconcile"

    def run_job(self):
        """What Landscaper does about the annotation."""
        self.jobs += 1
        self.world.kube.patch(INSTALLATIONS, f"{self.name}-root", {"metadata": {"annotations": {OPERATION: None}}}, self.world.namespace)
        self.world.kube.patch(INSTALLATIONS, f"{self.name}-root", {"status": {"phase": "Progressing", "jobID": f"root-{self.jobs}"}},
                              self.world.namespace, "status")
        self.world.trigger(self.name, f"job-{self.jobs}")
        self.world.succeeded(self.name, f"job-{self.jobs}")
        self.finish_root()

    def change(self, answer):
        self.world.remote.patch("configmaps", self.name, {"data": {"answer": answer}}, self.world.space)

    def condition(self, kind="ExportsUpToDate"):
        found = [c for c in self.world.status(self.name).get("conditions", []) if c["type"] == kind]
        return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None

    def becomes(self, status, reason, kind="ExportsUpToDate"):
        wait_until(lambda: (self.condition(kind) or ())[:2] == (status, reason), f"{kind} of {self.name}: {status}, {reason}")
        return self.condition(kind)[2]

    def triggers(self, mark):
        """How often a controller has set the annotation."""
        return len([e for e in self.world.apiserver.audit.entries(mark, verb="patch", resource="installations")
                    if e["user"]["username"].startswith("longshore-") and e["responseStatus"]["code"] == 200])


@pytest.fixture
def late(world):
    crds.install(world.kube, [definition("installations", "Installation"), definition("executions", "Execution")])
    return world


def test_changes_are_reported_and_waiting_costs_nothing(late):
    controller = late.start()
    tree = Tree(late, "item", {"level": "report", "quietPeriod": "1s"})
    off = Tree(late, "off", {"level": "trigger", "quietPeriod": "1s"})
    for each in (tree, off):
        each.becomes("True", "UpToDate")
        each.becomes("True", "UpToDate", "StillReady")
    mark = late.apiserver.audit.mark()
    requests = late.count(controller, lambda: time.sleep(3))
    assert requests == ([], []), requests

    tree.change("s3cret-two")
    off.change("s3cret-two")
    message = tree.becomes("False", "Changed")
    assert "the.answer" in message, message
    assert "manifest.lateChanges.trigger" in off.becomes("False", "TriggerDisabled")
    [event] = [e for e in late.events("item") if e["reason"] == "LateChange"]
    assert "the.answer" in event["message"]
    tree.change("one")
    tree.becomes("True", "UpToDate")
    late.remote.delete("configmaps", "item", late.space)
    assert "does not exist" in tree.becomes("False", "Changed", "StillReady")
    assert tree.triggers(mark) == 0 and off.triggers(mark) == 0
    assert "s3cret-two" not in json.dumps([late.status("item"), late.status("off"), late.events("item"), late.events("off")])

    # A cluster that is away is no change.
    controller.stop()
    late.secret("cluster", {"kubeconfig": late.kubeconfig(late.cluster, url=f"https://127.0.0.1:{free_port()}")})
    late.start()
    off.becomes("Unknown", "NotObserved")


def test_a_change_triggers_one_job(late):
    """With no more permissions than the chart grants."""
    things = helm.template({"deployer": {"lateChanges": {"trigger": True}}}, chart=paths.CHECKOUT / "charts" / "manifest-deployer")
    late.start(config=ALLOWED, rules=[rule for thing in things if thing["kind"] in ("Role", "ClusterRole") for rule in thing["rules"]])
    tree = Tree(late, "item", SOON)
    mark = late.apiserver.audit.mark()
    tree.becomes("True", "UpToDate")
    tree.change("two")
    wait_until(tree.is_requested, "the annotation")
    tree.becomes("False", "Triggered")
    tree.change("three")        # Landscaper has not begun yet: the job that is requested will see it
    tree.becomes("False", "InstallationBusy")
    late.remote.patch("configmaps", "item", {"data": {"answer": "one"}}, late.space)
    tree.run_job()
    tree.becomes("True", "UpToDate")
    assert tree.triggers(mark) == 1
    # The next change triggers again; a failed Installation is left alone.
    tree.finish_root()
    late.kube.patch(INSTALLATIONS, "item-root", {"status": {"phase": "Failed"}}, late.namespace, "status")
    tree.change("four")
    tree.becomes("False", "InstallationFailed")
    tree.finish_root()
    wait_until(tree.is_requested, "the second annotation")
    assert tree.triggers(mark) == 2
    tree.run_job()


def test_the_budget_and_successive_changes_limit_triggers(late):
    late.start(config=ALLOWED)
    tree = Tree(late, "item", {**SOON, "interval": "1h"})
    # Its job sets "one", exports it and then changes it: that triggers once, not for ever.
    loop = Tree(late, "loop", SOON, manifest={"patchAfterDeployment": {"data": {"answer": "patched"}}})
    mark = late.apiserver.audit.mark()
    wait_until(loop.is_requested, "the annotation of the loop")
    loop.run_job()
    loop.becomes("False", "Triggered")
    tree.becomes("True", "UpToDate")
    tree.change("two")
    wait_until(tree.is_requested, "the annotation")
    tree.run_job()
    tree.becomes("True", "UpToDate")
    tree.change("three")
    tree.becomes("False", "BudgetExhausted")
    tree.change("one")
    tree.becomes("True", "UpToDate")
    late.kube.patch(DEPLOYITEMS, "item", {"status": {"providerStatus": {"longshore": {"late": {"streak": 3}}}}}, late.namespace, "status")
    tree.change("four")
    tree.becomes("False", "Flapping")
    assert tree.triggers(mark) == 1 + 1     # one of each Installation


def test_restarts_and_new_leaders_neither_lose_nor_repeat_a_trigger(late):
    config = {**ALLOWED, "leaderElection": {"enabled": True, "leaseDuration": "3s", "leaseNamespace": late.namespace, "leaseName": "late"}}
    first = late.start(config=config)
    tree = Tree(late, "item", {**SOON, "quietPeriod": "3s"})
    mark = late.apiserver.audit.mark()
    tree.becomes("True", "UpToDate")
    second = late.start(config=config)
    tree.change("two")
    first.kill()                # in the quiet period
    wait_until(tree.is_requested, "the annotation")
    tree.becomes("False", "Triggered")
    second.kill()               # Landscaper has not begun
    late.start(config=config)
    late.deploy("other", [managed(late.config("other"))])
    late.succeeded("other", timeout=120)
    time.sleep(5)
    assert tree.triggers(mark) == 1
    tree.run_job()
    tree.becomes("True", "UpToDate")
    assert tree.triggers(mark) == 1


def test_continuous_reconcile_triggers_at_its_time(late):
    late.start(config=ALLOWED)
    tree = Tree(late, "item", SOON, continuousReconcile={"every": "3s"})
    idle = Tree(late, "idle", {"level": "report"}, continuousReconcile={"every": "1s"})
    wait_until(tree.is_requested, "the annotation")
    tree.run_job()
    wait_until(tree.is_requested, "the next annotation")
    assert not idle.is_requested()
    assert "ContinuousReconcileIgnored" in [e["reason"] for e in late.events("idle")]
    assert "ContinuousReconcileIgnored" not in [e["reason"] for e in late.events("item")]
