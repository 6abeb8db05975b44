# SPDX-License-Identifier: Apache-2.0
"""A module with an operator that runs: `longshore lifecycle` manages the cluster in which it works, the kubelet runs the operator, and the
operator reports the state of the module's resource and cleans up before the resource goes."""

import pathlib
import re
import subprocess

import pytest

from bench import crds, images, paths
from bench.modules import load
from bench.registry import Registry
from bench.waiting import wait_until

API_TESTS = paths.CHECKOUT / "e2e" / "api"
load("controller_harness", API_TESTS / "controller" / "harness.py")
harness = load("lifecycle_harness", API_TESTS / "lifecycle" / "harness.py")

GROUP, SYSTEM, DEPLOYMENTS, DEFINITIONS = harness.GROUP, harness.SYSTEM, harness.DEPLOYMENTS, harness.DEFINITIONS
BUOYS, DEFINITION = f"{GROUP}/v1alpha1/buoys", f"buoys.{GROUP}"
IMAGE = "longshore.test/buoy-operator:1"
FINALIZER = "example.com/buoy"

# The operator: adds its finalizer, reports its version as the state, and leaves a note when it has cleaned up.
OPERATOR = f"""
files=/var/run/secrets/kubernetes.io/serviceaccount
server=https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
buoy=$server/apis/{GROUP}/v1alpha1/namespaces/{SYSTEM}/buoys/buoy
# To a client that is called curl the API server sends indented JSON.
call() {{ curl -sS -A buoy-operator --max-time 10 --cacert $files/ca.crt -H "Authorization: Bearer $(cat $files/token)" "$@"; }}
patch() {{ call -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$2" "$1" > /dev/null; }}
while true; do
    found=$(call $buoy)
    case "$found" in
    *'"deletionTimestamp":'*'"{FINALIZER}"'*)
        call -X POST -H 'Content-Type: application/json' $server/api/v1/namespaces/default/configmaps \\
            -d '{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"generateName":"buoy-cleaned-up-"}}}}' > /dev/null
        patch $buoy '{{"metadata":{{"finalizers":null}}}}' ;;
    *'"kind":"Buoy"'*)
        case "$found" in *'"{FINALIZER}"'*) ;; *) patch $buoy '{{"metadata":{{"finalizers":["{FINALIZER}"]}}}}' ;; esac
        case "$found" in *'"version":"'$VERSION'"'*) ;; *) patch $buoy/status '{{"status":{{"state":"Ready","version":"'$VERSION'"}}}}' ;; esac ;;
    esac
    sleep 1
done
"""


def curl_files():
    """curl of this machine and the libraries that it needs."""
    program = paths.installed("curl")
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
    files = {"bin/curl": (pathlib.Path(program).read_bytes(), 0o755)}
    for library in libraries:
        files[library.lstrip("/")] = (pathlib.Path(library).read_bytes(), 0o755)
    return files


def module_objects(version):
    """What the author of a module writes, see docs/lifecycle.md."""
    account = {"kind": "ServiceAccount", "name": "buoy", "namespace": SYSTEM}
    schema = {"type": "object", "properties": {key: {"type": "object", "x-kubernetes-preserve-unknown-fields": True} for key in ("spec", "status")}}
    rules = [{"apiGroups": [GROUP], "resources": ["buoys", "buoys/status"], "verbs": ["get", "patch"]},
             {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    return [
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": DEFINITION}, "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "buoys", "kind": "Buoy"}, "versions": [
                {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "buoy", "namespace": SYSTEM}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "buoy"}, "rules": rules},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "buoy"}, "subjects": [account],
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "buoy"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "buoy", "namespace": SYSTEM}, "spec": {
            "selector": {"matchLabels": {"app": "buoy"}}, "template": {"metadata": {"labels": {"app": "buoy"}}, "spec": {
                "serviceAccountName": "buoy", "terminationGracePeriodSeconds": 0, "containers": [{
                    "name": "operator", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["/bin/sh", "-c", OPERATOR],
                    "env": [{"name": "VERSION", "value": version}]}]}}}}]


class OperatorWorld(harness.LifecycleWorld):
    """The node manages itself. Its other kinds belong to other tests."""

    def __init__(self, node, registry, namespace):
        super().__init__(node.api, node.api, registry, namespace)
        self.kcp = self.skr = node.kube

    def clean_cluster(self):
        for resource in self.left(BUOYS):
            self.purge(self.skr, BUOYS, resource)
        for thing in [*self.left(DEFINITIONS, labelSelector=f"{GROUP}/managed-by=kyma"), *self.left(DEFINITIONS)]:
            if thing["spec"]["group"] == GROUP and self.skr.find(DEFINITIONS, thing["metadata"]["name"]):
                self.purge(self.skr, DEFINITIONS, thing)
        for note in self.notes():
            self.skr.delete("configmaps", note, "default")

    def notes(self):
        """What the operator has left: one for each clean-up."""
        return [c["metadata"]["name"] for c in self.skr.items("configmaps", "default") if c["metadata"]["name"].startswith("buoy-cleaned-up-")]

    def modules(self, modules):
        self.kcp.patch(harness.KYMAS, "fleet-0001", {"spec": {"modules": modules}}, self.namespace)

    def wait_version(self, version):
        """The module is Ready in this version, and its operator of this version has said so."""
        def is_there():
            module, resources = self.module("buoy") or {}, self.left(BUOYS)
            return module.get("version") == version and module["state"] == "Ready" and self.status()["state"] == "Ready" and \
                resources and resources[0].get("status") == {"state": "Ready", "version": version}
        wait_until(is_there, f"the module in version {version}", timeout=180)


@pytest.fixture
def world(node, node_namespace):
    crds.install(node.kube, crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"))
    node.load(images.busybox(curl_files()), IMAGE)
    registry = Registry()
    made = OperatorWorld(node, registry, node_namespace)
    yield made
    made.close()
    registry.close()


def test_a_module_with_a_running_operator_is_installed_updated_disabled_and_deleted(world):
    component = f"example.com/module/{world.namespace}/buoy"
    resource = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Buoy", "metadata": {"name": "buoy"}, "spec": {"color": "red"}}
    for version in ("1.0.0", "1.1.0"):
        world.publish("buoy", module_objects(version), version=version, data=resource)
    world.kcp.apply({"apiVersion": harness.API, "kind": "ModuleReleaseMeta", "metadata": {"name": "buoy", "namespace": world.namespace}, "spec": {
        "moduleName": "buoy", "ocmComponentName": component, "channels": [{"channel": "regular", "version": "1.0.0"}, {"channel": "fast", "version": "1.1.0"}]}})
    world.start("--own-cluster")
    world.kyma(modules=["buoy"])
    world.wait_version("1.0.0")
    [uid] = [r["metadata"]["uid"] for r in world.left(BUOYS)]

    # An update by channel: the new operator takes the same resource over.
    world.modules([{"name": "buoy", "channel": "fast", "managed": True}])
    world.wait_version("1.1.0")
    assert [r["metadata"]["uid"] for r in world.left(BUOYS)] == [uid]
    pods = [p for p in world.skr.items("pods", SYSTEM) if "deletionTimestamp" not in p["metadata"]]
    assert {e["value"] for p in pods for e in p["spec"]["containers"][0]["env"]} == {"1.1.0"}

    # Disabled: the operator cleans up before anything of it goes.
    world.modules([])
    wait_until(lambda: world.manifest("buoy") is None and not world.status().get("modules"), "the module gone", timeout=180)
    assert len(world.notes()) == 1 and world.left(BUOYS) == [] and world.skr.find(DEFINITIONS, DEFINITION) is None
    assert world.skr.find(DEPLOYMENTS, "buoy", SYSTEM) is None

    # The same when the Kyma goes.
    world.modules([{"name": "buoy", "channel": "regular", "managed": True}])
    world.wait_version("1.0.0")
    world.kcp.delete(harness.KYMAS, "fleet-0001", world.namespace)
    wait_until(lambda: world.kcp.find(harness.KYMAS, "fleet-0001", world.namespace) is None, "the Kyma gone", timeout=180)
    assert len(world.notes()) == 2 and world.left(BUOYS) == [] and world.skr.find(DEPLOYMENTS, "buoy", SYSTEM) is None
    wait_until(lambda: not world.skr.items("pods", SYSTEM), "no pods left")
