# SPDX-License-Identifier: Apache-2.0
"""Tests in a real cluster: the images of `make images`, installed by Helm into a namespace that enforces the restricted Pod
Security standard, and items as Landscaper creates them."""

import pathlib

import pytest

from api.controller.harness import ITEM_FINALIZER, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OURS, World, decode
from bench import images
from bench.kube import DEPLOYITEMS, ApiError
from bench.waiting import wait_until
from ship import helm, release

HERE = pathlib.Path(__file__).parent
HOST = "longshore-system"
RELEASE = "container-deployer"


def pytest_collection_modifyitems(items):
    indexes = [index for index, item in enumerate(items) if HERE in item.path.parents]
    ours = [items[index] for index in indexes]
    # A stable sort: the tests of permissions check the requests of all other tests, so they run last.
    for index, item in zip(indexes, sorted(ours, key=lambda item: item.path.name == "test_rights.py")):
        item.add_marker(pytest.mark.node)
        items[index] = item


def restricted(node, name):
    node.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {
        "pod-security.kubernetes.io/enforce": "restricted"}}})
    node.kube.wait_for("serviceaccounts", "default", bool, name)


def merge(left, right):
    """Merges values as Helm does."""
    both = dict(left)
    for key, value in right.items():
        both[key] = merge(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both


def install(node, namespace=HOST, name=RELEASE, **values):
    """Installs the chart and waits until its pod is ready. Returns the values."""
    restricted(node, namespace)
    release.load(node)
    # wait assumes that a stopped main has ended after this time without changes. The default would slow some tests down a lot.
    chosen = merge({"deployer": {"identity": name, "imageGracePeriod": "90s", "oci": {"allowPlainHttp": True},
                                 "waitContainer": {"args": ["--quiet=4"]}}}, values)
    helm.run("install", name, helm.CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, values=chosen,
             namespace=namespace)
    return chosen


def uninstall(node, namespace=HOST, name=RELEASE):
    helm.run("uninstall", name, "--wait", "--timeout", "2m", kubeconfig=node.kubeconfig, namespace=namespace)


@pytest.fixture(scope="session")
def deployed(node, request):
    """The deployer on the node, shared by all tests that do not break it."""
    install(node)
    request.config.stash[DEPLOYED] = node
    return node


DEPLOYED = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Removes the deployer after the last test of this folder, because it would process the items of other tests."""
    if nextitem is not None and HERE not in nextitem.path.parents and DEPLOYED in item.config.stash:
        node = item.config.stash[DEPLOYED]
        del item.config.stash[DEPLOYED]
        uninstall(node)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the objects of the deployer to the report of a failed test."""
    outcome = yield
    report = outcome.get_result()
    node = item.config.stash.get(DEPLOYED, None)
    if report.failed and report.when == "call" and node is not None:
        try:
            report.sections.append((f"namespace {HOST}", node.describe(HOST)))
        except (OSError, ApiError) as error:  # the test may have broken the API server
            report.sections.append((f"namespace {HOST}", f"not available: {error}"))


class Cluster(World):
    """Items in one namespace, with the real deployer and real pods."""

    def __init__(self, node, namespace, host=HOST):
        # Does not call World.__init__, which starts a kubelet in the test.
        self.node, self.kube, self.host_kube, self.namespace, self.host = node, node.kube, node.kube, namespace, host
        self.apiserver, self.controllers = node.api, []
        self.context()

    def shell(self, name, script, *, job="job-1", target=None, namespace=None, timeout=None, **config):
        spec = {"timeout": timeout} if timeout else {}
        return self.item(name, job=job, target=target, namespace=namespace, config={
            "image": images.BUSYBOX, "command": ["/bin/sh", "-c", script], **config}, **spec)

    def succeeded(self, name, job="job-1", namespace=None, timeout=120):
        status = self.finished(name, job, namespace, timeout)
        assert status["phase"] == "Succeeded", status
        return status

    def failed(self, name, job="job-1", namespace=None, timeout=180, phase="Failed"):
        status = self.finished(name, job, namespace, timeout)
        assert status["phase"] == phase, status
        return status

    def exports(self, name, namespace=None):
        """The text that the item exported, or None."""
        reference = self.status(name, namespace).get("exportRef")
        if not reference:
            return None
        secret = self.kube.find("secrets", reference["name"], reference["namespace"])
        return decode(secret["data"]["config"]).decode() if secret else None

    def pod_of(self, name, namespace=None, timeout=60):
        """The pod of an item, as soon as it exists."""
        def check():
            for pod in self.pods():
                annotations = pod["metadata"].get("annotations", {})
                if annotations.get(f"{OURS}/item-name") == name and \
                        annotations.get(f"{OURS}/item-namespace") == (namespace or self.namespace):
                    return pod
            return None
        return wait_until(check, f"pod of {name}", timeout)

    def main_runs(self, name, namespace=None, timeout=60):
        def check():
            pod = self.pod_of(name, namespace)
            statuses = {s["name"]: s["state"] for s in pod.get("status", {}).get("containerStatuses", [])}
            return pod if "running" in statuses.get("main", {}) else None
        return wait_until(check, f"main of {name} runs", timeout)

    def pods(self):
        return self.host_kube.items("pods", self.host)

    def controller_pod(self):
        pods = [p for p in self.pods() if p["metadata"]["name"].startswith(RELEASE)]
        return pods[0] if pods else None

    def item_objects(self, name, namespace=None):
        """The objects of an item that are still on the host."""
        wanted, found = (namespace or self.namespace, name), []
        for kind in ("pods", "secrets", "serviceaccounts", "rbac.authorization.k8s.io/v1/roles",
                     "rbac.authorization.k8s.io/v1/rolebindings"):
            for thing in self.host_kube.items(kind, self.host):
                metadata = thing["metadata"]
                labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
                if wanted in ((annotations.get(f"{OURS}/item-namespace"), annotations.get(f"{OURS}/item-name")),
                              (labels.get(LABEL_ITEM_NAMESPACE), labels.get(LABEL_ITEM_NAME))):
                    found.append(f"{kind.rpartition('/')[2]}/{metadata['name']}")
        return found

    def deleted(self, name, namespace=None, timeout=120):
        self.wait_until_deleted(name, namespace, timeout)
        wait_until(lambda: not self.item_objects(name, namespace), f"deletion of the objects of {name}", 60)


class OwnTarget(Cluster):
    """Items of one type whose Target is this cluster: a token of an account that may do anything to the kinds that the tests use."""

    def __init__(self, node, namespace, host, item_type):
        super().__init__(node, namespace, host)
        self.item_type, self.group = item_type, f"{namespace}.example.com"
        self.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "applier", "namespace": namespace}})
        self.kube.allow(f"{namespace}:applier", [
            {"apiGroups": ["", "apps", "batch", self.group], "resources": ["*"], "verbs": ["*"]},
            {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"]}],
            kind="ServiceAccount", name=f"applier-{namespace}")
        self.target("self", config={"selfConfig": {"serviceAccount": {"name": "applier"}}})

    def put(self, name, config, job):
        """Creates or changes an item and triggers it. With job=None it is not triggered."""
        if self.kube.find(DEPLOYITEMS, name, self.namespace):
            self.kube.patch(DEPLOYITEMS, name, {"spec": {"config": None}}, self.namespace)
            self.kube.patch(DEPLOYITEMS, name, {"spec": {"config": config}}, self.namespace)
        else:
            self.kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
                              "metadata": {"name": name, "namespace": self.namespace, "finalizers": [ITEM_FINALIZER]},
                              "spec": {"type": self.item_type, "target": {"name": "self", "namespace": self.namespace}, "config": config}})
        if job:
            self.trigger(name, job)

    def definition(self):
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"things.{self.group}"},
                "spec": {"group": self.group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                         "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                             "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}

    def release_items(self):
        """Items that a failed test leaves behind must not keep its namespace."""
        for item in self.kube.items(DEPLOYITEMS, self.namespace):
            self.kube.patch(DEPLOYITEMS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, self.namespace)


@pytest.fixture
def cluster(deployed, node_namespace):
    world = Cluster(deployed, node_namespace)
    yield world
    # Remaining items would block the deletion of their namespace; a failed test may leave some.
    for item in world.kube.items(DEPLOYITEMS, node_namespace):
        world.kube.patch(DEPLOYITEMS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, node_namespace)
