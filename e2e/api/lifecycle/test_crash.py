# SPDX-License-Identifier: Apache-2.0
"""The program is killed before, or after, every write to either cluster: each run gets one write further than the one before. A crash at
a read leaves the same behind as a crash after the write before it, so reads are not counted. Nothing is lost, nothing is left behind,
and the module's resource goes before its operator."""

import json
import re

import pytest

from bench.audit import resource_of
from bench.waiting import wait_until
from controller_killer import Killer, PASS
from faults.proxy import FaultProxy
from lifecycle_harness import API, AVAILABLE, DEPLOYMENTS, GROUP, KYMAS, MANIFESTS, SYSTEM, config_map, token_kubeconfig

PIERS, OPERATOR = f"{GROUP}/v1alpha1/piers", "pier-operator"
RESOURCE = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Pier", "metadata": {"name": "pier", "namespace": SYSTEM, "finalizers": ["example.com/operator"]}}
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"piers.{GROUP}"}, "spec": {
    "group": GROUP, "scope": "Namespaced", "names": {"plural": "piers", "kind": "Pier"}, "versions": [{"name": "v1alpha1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": OPERATOR, "namespace": SYSTEM}, "spec": {
    "selector": {"matchLabels": {"app": "pier"}}, "template": {"metadata": {"labels": {"app": "pier"}}, "spec": {
        "containers": [{"name": "operator", "image": "example.com/pier:1.0.0"}]}}}}
VERSIONS = {"1.0.0": ["pier-settings", "pier-old"], "1.1.0": ["pier-settings", "pier-new"]}
# More than any of the four operations needs.
CRASHES_MAX = 100
# More than a run has: it is not killed.
ALL_WRITES = 1000


@pytest.fixture(params=["before", "after"])
def killer(world, request):
    """Kills the program at a write of either proxy that is not about its Lease."""
    made = Killer(request.param)
    made.writes = []

    def plan(request):
        if request.method == "GET" or "/leases" in request.path or "/events" in request.path:
            return PASS
        if made.left is not None:
            made.writes.append((request.method, request.path, request.body))
        return made.plan(request)

    with FaultProxy(world.control_plane, plan) as control_plane, FaultProxy(world.cluster, plan) as cluster:
        made.kubeconfig = world.control_plane.directory / f"crash-{world.namespace}.json"
        made.kubeconfig.write_text(json.dumps(token_kubeconfig(world.control_plane, world.namespace, control_plane)))
        world.access_through(cluster)
        yield made
        made.left = None
        for program in world.programs:
            program.expected = False
            program.stop()


class Crashes:
    def __init__(self, world, killer):
        self.world, self.killer = world, killer

    def check(self):
        """What holds at every moment, whatever was killed."""
        world = self.world
        listed = [f"{s['kind']}/{s['name']}" for m in world.kcp.items(MANIFESTS, world.namespace) for s in m.get("status", {}).get("synced", [])]
        kinds = {"configmaps": "ConfigMap", "deployments": "Deployment", "customresourcedefinitions": "CustomResourceDefinition"}
        for found in world.objects():
            kind, _, name = found.partition("/")
            assert f"{kinds[kind]}/{name}" in listed, f"{found} exists, and no Manifest lists it"
        resource = world.left(PIERS)
        assert not resource or world.skr.find(DEPLOYMENTS, OPERATOR, SYSTEM), "the operator is gone before its resource"
        if resource or listed:
            assert world.kcp.get(KYMAS, "fleet-0001", world.namespace)["metadata"].get("finalizers"), "the Kyma would not wait"

    def play_controllers(self):
        """The Deployment controller, and the operator, which is done with a resource that is being deleted."""
        world = self.world
        manager = world.skr.find(DEPLOYMENTS, OPERATOR, SYSTEM)
        generation = manager["metadata"]["generation"] if manager else None
        if manager and manager.get("status", {}).get("observedGeneration") != generation:
            world.skr.patch(DEPLOYMENTS, OPERATOR, {"status": {**AVAILABLE, "observedGeneration": generation}}, SYSTEM, "status")
        for resource in world.left(PIERS):
            if resource["metadata"].get("deletionTimestamp"):
                assert manager, "the operator is gone before its resource"
                world.skr.patch(PIERS, "pier", {"metadata": {"finalizers": None}}, SYSTEM)

    def run(self, number, is_over):
        """Runs the program until its write of this number, or the end. Returns its writes, or None if it got to the end."""
        def ends():
            self.play_controllers()
            return self.killer.has_killed.is_set() or is_over()

        self.killer.writes = []
        self.killer.arm(number)
        self.world.forget_lease()
        self.killer.controller = self.world.start(kubeconfig_path=self.killer.kubeconfig, is_waiting=False)
        self.killer.controller.expected = False
        wait_until(ends, f"a crash at write {number}, or the end")
        if self.killer.has_killed.is_set():
            return self.killer.writes[:number]
        self.killer.left = None
        self.killer.controller.kill()
        return None

    def until(self, is_over):
        """Runs the program again and again, each time until one write more is done. Returns the writes at which it was killed."""
        number, done, killed_at = 1, [], []
        is_before = self.killer.moment == "before"
        for _ in range(CRASHES_MAX):
            writes = self.run(number, is_over)
            self.check()
            if writes is None:
                return killed_at
            killed_at.append(writes[-1][:2])
            # Writes without effect, which every run repeats: the next one gets past them, and does one more.
            repeated = next((n for n, (one, other) in enumerate(zip(done, writes)) if one != other), min(len(done), len(writes)))
            number = repeated + (2 if is_before else 1)
            done = writes[:-1] if is_before else writes
        raise AssertionError(f"not done after {CRASHES_MAX} crashes: {killed_at}")

    def is_installed(self, version):
        def check():
            status = self.world.kcp.find(KYMAS, "fleet-0001", self.world.namespace).get("status", {})
            module = (status.get("modules") or [{}])[0]
            return status.get("state") == "Ready" and module.get("state") == "Ready" and module.get("version") == version
        return check


def expected(version):
    return sorted([f"configmaps/{name}" for name in VERSIONS[version]] + [f"customresourcedefinitions/piers.{GROUP}", f"deployments/{OPERATOR}"])


def test_installation_update_disabling_and_deletion_survive_crashes(world, killer):
    """C8: the default resource always goes before its operator."""
    for version, names in VERSIONS.items():
        world.publish("pier", [DEFINITION, DEPLOYMENT, *(config_map(name, version=version) for name in names)], version=version, data=RESOURCE)
    component = f"example.com/module/{world.namespace}/pier"
    world.kcp.apply({"apiVersion": API, "kind": "ModuleReleaseMeta", "metadata": {"name": "pier", "namespace": world.namespace}, "spec": {
        "moduleName": "pier", "ocmComponentName": component, "channels": [{"channel": "regular", "version": "1.0.0"}, {"channel": "fast", "version": "1.1.0"}]}})
    world.kyma(modules=["pier"])
    runs, mark = Crashes(world, killer), world.cluster.audit.mark()

    crashes = {"install": runs.until(runs.is_installed("1.0.0"))}
    assert world.objects() == expected("1.0.0") and len(world.manifest("pier")["status"]["synced"]) == 4
    uids = {t["metadata"]["name"]: t["metadata"]["uid"] for t in [*world.left(PIERS), world.skr.get(DEPLOYMENTS, OPERATOR, SYSTEM)]}
    assert len(uids) == 2

    world.enable([{"name": "pier", "channel": "fast", "managed": True}])
    crashes["update"] = runs.until(runs.is_installed("1.1.0"))
    assert world.objects() == expected("1.1.0") and len(world.manifest("pier")["status"]["synced"]) == 4
    assert world.skr.get("configmaps", "pier-settings", SYSTEM)["data"] == {"version": "1.1.0"}
    assert uids == {t["metadata"]["name"]: t["metadata"]["uid"] for t in [*world.left(PIERS), world.skr.get(DEPLOYMENTS, OPERATOR, SYSTEM)]}

    world.enable([])
    crashes["disable"] = runs.until(lambda: world.manifest("pier") is None and not world.status().get("modules") and world.status()["state"] == "Ready")
    assert world.objects() == [] and world.left(PIERS) == []

    world.enable([{"name": "pier", "channel": "fast", "managed": True}])
    assert runs.run(ALL_WRITES, runs.is_installed("1.1.0")) is None
    world.kcp.delete(KYMAS, "fleet-0001", world.namespace)
    crashes["delete"] = runs.until(lambda: world.kcp.find(KYMAS, "fleet-0001", world.namespace) is None)
    assert world.objects() == [] and world.left(KYMAS) == [] and world.kcp.items(MANIFESTS, world.namespace) == []

    # Each operation has at least so many writes; a killer that does not kill would pass everything else.
    least = {"install": 15, "update": 5, "disable": 6, "delete": 8}
    assert all(len(set(crashes[name])) >= count for name, count in least.items()), crashes
    deleted = [resource_of(e) for e in world.cluster.audit.entries(mark, verb="delete") if e["responseStatus"]["code"] == 200]
    assert re.findall("piers|deployments", " ".join(deleted)) == ["piers", "deployments"] * 2, deleted
    created = [e for e in world.cluster.audit.entries(mark, verb="create", resource="piers") if e["responseStatus"]["code"] == 201]
    assert len(created) == 2, "one resource for each of the two installations"
    print({name: len(found) for name, found in crashes.items()})
