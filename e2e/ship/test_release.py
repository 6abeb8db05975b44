# SPDX-License-Identifier: Apache-2.0
"""A release on a real node: install, test, upgrade, roll back and uninstall, with nothing left afterwards."""

import pytest
import yaml

from ship import helm, release
from ship.items import SCRIPT, delete_item, export_of, run_item

pytestmark = pytest.mark.node

NAME = "deployer"
FULL = f"{NAME}-container-deployer"


@pytest.fixture(scope="module", autouse=True)
def loaded(node):
    release.load(node)


def resources(kube):
    """(resource, whether it is in namespaces) of every kind that the server has and in which something could be left. Events expire."""
    versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in kube.request("GET", "/apis")["groups"])]
    for version in versions:
        for kind in kube.request("GET", f"/apis/{version}" if "/" in version else f"/api/{version}")["resources"]:
            if {"list", "delete"} <= set(kind["verbs"]) and kind["name"] != "events":
                yield f"{version}/{kind['name']}", kind["namespaced"]


def things(node, namespace):
    """All objects in the namespace and all that are in none, except those that Kubernetes creates in every namespace."""
    found = {(kind, thing["metadata"]["name"]) for kind, namespaced in resources(node.kube)
             for thing in node.kube.items(kind, namespace if namespaced else None)}
    return {entry for entry in found if entry[1] not in ("default", "kube-root-ca.crt")}


def template_of(node, namespace):
    return node.kube.get("apps/v1/deployments", FULL, namespace)["spec"]["template"]


def test_install_upgrade_rollback_uninstall_leave_nothing(node, node_namespace):
    kube, namespace = node.kube, node_namespace
    kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    before = things(node, namespace)

    def call(*arguments, **options):
        return helm.run(*arguments, kubeconfig=node.kubeconfig, namespace=namespace, **options)

    # Install: the pod becomes ready and the test of the chart passes.
    call("install", NAME, helm.CHART, "--wait", "--timeout", "3m")
    call("test", NAME, "--timeout", "2m")
    item = run_item(node, namespace, "counter", SCRIPT, "job-1")
    assert item["status"]["phase"] == "Succeeded", item["status"]
    assert export_of(node, item) == {"count": 1}

    # The Lease of the leader goes with the account of the release.
    [owner] = kube.get("coordination.k8s.io/v1/leases", FULL, namespace)["metadata"]["ownerReferences"]
    assert owner["uid"] == kube.get("serviceaccounts", template_of(node, namespace)["spec"]["serviceAccountName"], namespace)["metadata"]["uid"]

    # Upgrade: new values reach a new pod, and the state is kept.
    first = template_of(node, namespace)
    call("upgrade", NAME, helm.CHART, "--wait", "--timeout", "3m",
         values={"podLabels": {"revision": "two"}, "replicaCount": 2, "podDisruptionBudget": {"enabled": True}, "networkPolicy": {"enabled": True}})
    assert kube.get("apps/v1/deployments", FULL, namespace)["status"]["readyReplicas"] == 2
    item = run_item(node, namespace, "counter", SCRIPT, "job-2")
    assert export_of(node, item) == {"count": 2}

    # Rollback: the additions of the upgrade are removed.
    call("rollback", NAME, "1", "--wait", "--timeout", "3m")
    assert template_of(node, namespace) == first
    assert kube.items("policy/v1/poddisruptionbudgets", namespace) == []
    item = run_item(node, namespace, "counter", SCRIPT, "job-3")
    assert export_of(node, item) == {"count": 3}

    # Deleting the item removes everything that was created for it.
    delete_item(node, namespace, "counter", "job-4")

    # Uninstall: no object of the release or of its runs is left.
    call("uninstall", NAME, "--wait", "--timeout", "2m")
    node.kube.wait_for("namespaces", namespace, lambda _: things(node, namespace) <= before, what="removal of all objects", timeout=60)


def test_a_values_file_of_the_original_chart_installs(node, node_namespace):
    """The unchanged file, except for the image repositories and the kubeconfig of a second cluster."""
    old = yaml.safe_load((helm.CHART.parent.parent / "e2e" / "ship" / "original-values.yaml").read_text())
    version = release.Archive(release.archives()["longshore"]).name.rpartition(":")[2]
    old["deployer"]["namespace"] = node_namespace
    old["nodeSelector"] = {}
    for part, name in (("initContainer", "longshore-init"), ("waitContainer", "longshore-wait")):
        old["deployer"][part] = {"repository": f"localhost/{name}", "tag": version}
    old["image"] = {"repository": "localhost/longshore", "tag": version, "pullPolicy": "IfNotPresent"}
    old["deployer"]["targetSelector"] = []
    # The Landscaper cluster is this one, reached through a kubeconfig.
    kubeconfig = node.kubeconfig.read_text()
    node.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "my-landscaper", "namespace": node_namespace},
                      "stringData": {"kubeconfig": kubeconfig}})
    try:
        helm.run("install", "old", helm.CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, namespace=node_namespace, values=old)
        item = run_item(node, node_namespace, "counter", SCRIPT, "job-1")
        assert item["status"]["phase"] == "Succeeded", item["status"]
        assert item["status"]["deployer"]["identity"] == "container-europe"
    except helm.HelmError as error:
        raise AssertionError(node.describe(node_namespace)) from error  # before the next line removes the namespace
    finally:
        helm.run("uninstall", "old", "--wait", kubeconfig=node.kubeconfig, namespace=node_namespace)
