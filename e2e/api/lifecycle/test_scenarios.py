# SPDX-License-Identifier: Apache-2.0
"""The scenarios of data/scenarios, which the original passes as well: steps that change a cluster, and what has to follow."""

import json
import time

import pytest

from bench.waiting import wait_until
from lifecycle_harness import DATA, GROUP, RELEASES, SYSTEM

SCENARIOS = sorted((DATA / "scenarios").glob("*.json"))


def resource(gvr):
    plural, version, group = gvr.split(".", 2)
    return f"{group}/{version}/{plural}" if group else plural


def pointer(document, path):
    for part in path.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list):
            document = document[int(part)] if int(part) < len(document) else None
        else:
            document = (document or {}).get(part)
    return document


class Scenario:
    def __init__(self, world, path):
        self.world, self.name = world, path.stem
        self.steps = json.loads(path.read_text().replace("kcp-system", world.namespace))["steps"]

    def kube(self, cluster):
        return self.world.kcp if cluster == "kcp" else self.world.skr

    def find(self, ref):
        kube, kind, namespace = self.kube(ref["cluster"]), resource(ref["gvr"]), ref.get("namespace")
        if "name" in ref:
            return kube.find(kind, ref["name"], namespace)
        found = kube.items(kind, namespace, labelSelector=",".join(f"{k}={v}" for k, v in ref["labels"].items()))
        return found[0] if found else None

    def holds(self, step, ref):
        found = self.find(ref)
        if step.get("absent"):
            return found is None
        if found is None or any(pointer(found, path) != value for path, value in step.get("at", {}).items()):
            return False
        has = step.get("has")
        elements = pointer(found, has["path"]) or [] if has else []
        if has and "where" in has:
            return any(all(e.get(k) == v for k, v in has["where"].items()) for e in elements)
        return not has or all(e in elements for e in has["all"])

    def do(self, step):
        on = step.get("on", {})
        where = (resource(on["gvr"]), on["name"]) if on else ()
        match step["do"]:
            case "apply":
                self.world.apply(step["file"])
            case "create":
                self.kube(step["cluster"]).create(step["object"])
            case "access":
                self.world.access(step["kyma"])
            case "merge":
                self.kube(on["cluster"]).patch(*where, step["patch"], on["namespace"])
            case "status":
                generation = self.find(on)["metadata"]["generation"]
                self.kube(on["cluster"]).patch(*where, {"status": {**step["status"], "observedGeneration": generation}}, on["namespace"], "status")
            case "delete":
                self.kube(on["cluster"]).delete(*where, on["namespace"])

    def run(self):
        for number, step in enumerate(self.steps):
            if "do" in step:
                self.do(step)
            elif "want" in step:
                try:
                    wait_until(lambda: self.holds(step, step["want"]), f"step {number}: {json.dumps(step)}")
                except TimeoutError as error:
                    raise AssertionError(f"{error}; it is {json.dumps(self.find(step['want']))}") from None
            elif "keep" in step:
                for _ in range(10):
                    assert self.holds(step, step["keep"]), step
                    time.sleep(step["for"] / 50)
            else:
                assert "check" in step, step
                CHECKS[self.name](self.world)


def check_install(world):
    remote = world.skr.get(f"{GROUP}/v1beta2/kymas", "default", SYSTEM)
    assert all("manifest" not in m and m["template"]["metadata"]["namespace"] == SYSTEM for m in remote["status"]["modules"])
    assert world.skr.get("namespaces", SYSTEM)["metadata"]["labels"]["istio-injection"] == "enabled"
    assert sorted(s["kind"] for s in world.manifest()["status"]["synced"]) == [
        "ClusterRole", "ClusterRoleBinding", "ConfigMap", "CustomResourceDefinition", "Deployment", "Service", "ServiceAccount"]


def check_disable(world):
    wait_until(lambda: not world.skr.get(f"{GROUP}/v1beta2/kymas", "default", SYSTEM)["status"].get("modules"), "no modules")
    assert not world.status().get("modules")
    assert world.objects() == [] and world.skr.get("namespaces", SYSTEM)["status"]["phase"] == "Active"


def check_upgrade(world):
    manifest = world.manifest()
    assert manifest["metadata"]["annotations"]["sync-oci-ref"] == manifest["spec"]["install"]["source"]["ref"]


def check_mandatory(world):
    assert not world.status().get("modules")
    labels = world.manifest("pilot")["metadata"]["labels"]
    assert labels[f"{GROUP}/mandatory-module"] == "true" and f"{GROUP}/channel" not in labels
    wait_until(lambda: f"{GROUP}/mandatory-module" in world.kcp.get(RELEASES, "pilot", world.namespace)["metadata"].get("finalizers", []), "the finalizer")


def check_ignored(world):
    manifest = world.manifest()
    assert sorted(c["type"] for c in manifest["status"]["conditions"]) == ["Installation", "Resources"]
    assert "resource.kyma-project.io/finalizer" not in manifest["metadata"]["finalizers"]
    assert "resource" not in world.module()


# For the steps that say in words what has to hold.
CHECKS = {"S01-install": check_install, "S02-disable": check_disable, "S03-upgrade-and-prune": check_upgrade, "S06-mandatory": check_mandatory,
          "S07-ignore-policy": check_ignored}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario(world, path):
    world.start()
    Scenario(world, path).run()
    world.delete()
    assert world.objects() == []
    # The API server removes a definition some time after its deletion.
    wait_until(lambda: world.own_definitions() == [], "the definitions gone")
