# SPDX-License-Identifier: Apache-2.0
"""The program is killed before and after every request to the control plane, the managed cluster and the registry: reads, lists, starts of watches, writes, the Lease and Events.
Nothing is lost, nothing is left behind, and the module's resource goes before its operator.

All crashes of an operation happen one after the other in the same clusters. A program is killed at the first request that has not been interrupted in this
operation yet: the first time before the server gets it, the next time after the server has executed it. The program that is started next finds what the
killed one left. So an operation with n different requests takes 2n short runs, instead of 2n installations."""

import json
import re
import threading

import pytest

from bench.audit import resource_of
from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS
from lifecycle_harness import API, AVAILABLE, DEPLOYMENTS, GROUP, KYMAS, MANIFESTS, OWN_DEFINITIONS, SYSTEM, config_map, token_kubeconfig

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
CRASHES_MAX = 500
# An operation is over when the program has sent no request for this long.
QUIET_SECONDS = 0.3
POLL_SECONDS = 0.1
# What differs each time the same request is sent: times, versions, identities, the duration of a watch.
VARIABLE = re.compile(rb'\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|"resourceVersion":"\d+"')
VARIABLE_QUERY = ("resourceVersion", "timeoutSeconds", "continue")


def key_of(request):
    """Equal for two requests that ask for the same."""
    query = sorted((name, value) for name, value in request.query.items() if name not in VARIABLE_QUERY)
    is_named = "/leases" in request.path or "/events" in request.path
    return request.method, request.path, tuple(query), b"" if is_named else VARIABLE.sub(b"", request.body)


class Killer:
    """Kills the program at the first request that was not interrupted before and after its execution since begin()."""

    def __init__(self):
        self.program = None         # None: nothing is killed
        self.is_killed = threading.Event()
        self.seen = 0               # requests since the program was started
        self.has_written = False    # one of them was a write, to one of the servers
        self._moments = {}          # of each request: the crashes so far
        self._lock = threading.Lock()

    def begin(self):
        self._moments = {}

    def interrupted(self, moment):
        """The requests that were interrupted at this moment."""
        return [key for key, moments in self._moments.items() if moment in moments]

    def arm(self, start):
        """Starts the program. Its requests wait until it is known whom to kill."""
        with self._lock:
            self.is_killed.clear()
            self.seen, self.has_written, self.program = 0, False, start()

    def disarm(self):
        with self._lock:
            self.program = None

    def plan(self, request):
        with self._lock:
            self.seen += 1
            self.has_written |= request.method != "GET" and "/leases" not in request.path
            moments = self._moments.setdefault(key_of(request), [])
            if self.program is None or len(moments) == 2:
                return PASS
            program, self.program = self.program, None
            moments.append("after" if moments else "before")

            def kill():
                program.kill()
                self.is_killed.set()
            return Action(forward=False, lose=True, before=kill) if moments[-1] == "before" else Action(lose=True, applied=kill)


@pytest.fixture
def killer(world):
    made = Killer()
    with FaultProxy(world.control_plane, made.plan) as control_plane, FaultProxy(world.cluster, made.plan) as cluster, FaultProxy(world.registry, made.plan) as registry:
        made.kubeconfig = world.control_plane.directory / f"crash-{world.namespace}.json"
        made.kubeconfig.write_text(json.dumps(token_kubeconfig(world.control_plane, world.namespace, control_plane)))
        made.registry = registry
        world.access_through(cluster)
        yield made
        made.disarm()
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

    def start(self):
        world = self.world
        world.forget_lease()
        program = world.start(f"--oci-registry-host={self.killer.registry.url}", kubeconfig_path=self.killer.kubeconfig, is_waiting=False)
        program.expected = False
        return program

    def run(self, is_over):
        """Runs the program until it is killed, or until the operation is over and the program sends no more requests. Returns whether it was killed."""
        self.killer.arm(self.start)

        def ends():
            if self.killer.is_killed.wait(POLL_SECONDS):
                return True
            self.play_controllers()
            seen = self.killer.seen
            return is_over() and not self.killer.is_killed.wait(QUIET_SECONDS) and self.killer.seen == seen
        wait_until(ends, "a crash, or the end of the operation", interval=0)
        return self.killer.is_killed.is_set()

    def complete(self, is_over):
        """Runs the program until the operation is over. It is not killed before."""
        program = self.start()
        wait_until(lambda: self.play_controllers() or is_over(), "the end of the operation")
        program.kill()

    def until(self, is_over):
        """Runs the program again and again until it can be killed no more. Returns the requests at which it was killed."""
        self.killer.begin()
        for _ in range(CRASHES_MAX):
            is_killed = self.run(is_over)
            if self.killer.has_written:
                self.check()
            if not is_killed:
                self.killer.disarm()
                self.world.programs[-1].kill()
                return {moment: self.killer.interrupted(moment) for moment in ("before", "after")}
        raise AssertionError(f"not done after {CRASHES_MAX} crashes: {self.killer.interrupted('before')}")

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
    assert len(uids) == 2 and world.own_definitions() == OWN_DEFINITIONS

    world.enable([{"name": "pier", "channel": "fast", "managed": True}])
    crashes["update"] = runs.until(runs.is_installed("1.1.0"))
    assert world.objects() == expected("1.1.0") and len(world.manifest("pier")["status"]["synced"]) == 4
    assert world.skr.get("configmaps", "pier-settings", SYSTEM)["data"] == {"version": "1.1.0"}
    assert uids == {t["metadata"]["name"]: t["metadata"]["uid"] for t in [*world.left(PIERS), world.skr.get(DEPLOYMENTS, OPERATOR, SYSTEM)]}

    world.enable([])
    crashes["disable"] = runs.until(lambda: world.manifest("pier") is None and not world.status().get("modules") and world.status()["state"] == "Ready")
    assert world.objects() == [] and world.left(PIERS) == []

    world.enable([{"name": "pier", "channel": "fast", "managed": True}])
    runs.complete(runs.is_installed("1.1.0"))
    world.kcp.delete(KYMAS, "fleet-0001", world.namespace)
    crashes["delete"] = runs.until(lambda: world.kcp.find(KYMAS, "fleet-0001", world.namespace) is None)
    assert world.objects() == [] and world.kcp.items(MANIFESTS, world.namespace) == []
    # The API server removes a definition some time after its deletion.
    wait_until(lambda: world.own_definitions() == [], "the definitions gone")

    for name, (writes, reads) in {"install": (12, 10), "update": (5, 10), "disable": (5, 10), "delete": (6, 10)}.items():
        for moment, requests in crashes[name].items():
            kinds = ["read" if request[0] == "GET" else "write" for request in requests]
            print(name, moment, kinds.count("read"), "reads", kinds.count("write"), "writes")
            # Each operation has at least so many; a killer that does not kill would pass everything else.
            assert kinds.count("write") >= writes and kinds.count("read") >= reads, (name, requests)
    deleted = [resource_of(e) for e in world.cluster.audit.entries(mark, verb="delete") if e["responseStatus"]["code"] == 200]
    assert re.findall("piers|deployments", " ".join(deleted)) == ["piers", "deployments"] * 2, deleted
    created = [e for e in world.cluster.audit.entries(mark, verb="create", resource="piers") if e["responseStatus"]["code"] == 201]
    assert len(created) == 2, "one resource for each of the two installations"
