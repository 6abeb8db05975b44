# SPDX-License-Identifier: Apache-2.0
"""The permissions of the controller: sufficient, and each one is used according to the audit log."""

import base64
import json

import pytest

from bench.kube import CONTEXTS, TARGETS
from bench.waiting import wait_until
from ship import helm, release
from ship.items import API, SCRIPT, delete_item, run_item

pytestmark = pytest.mark.node

ACCOUNT = "deployer-container-deployer-tmp"
NAME = "deployer-container-deployer"
# RBAC allows to grant only permissions that the granter has: the controller grants this to wait and never uses it.
TO_GIVE = {("", "secrets", "update")}
# Only used to clean up after the Go deployer or after a crash, or when the pod of a running job has disappeared: testing this
# would take minutes.
LEFT_BY_OTHERS = {("", "secrets", "delete"), ("", "pods", "get")}


def rules_of(role):
    return {(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"]}


def used_by(node, mark, namespace):
    """The successful requests of the controller by namespace; None stands for all other namespaces."""
    used = {}
    for entry in node.api.audit.entries(mark, user=f"system:serviceaccount:{namespace}:{ACCOUNT}"):
        reference, code = entry.get("objectRef", {}), entry.get("responseStatus", {}).get("code", 200)
        if "resource" not in reference:
            continue
        resource = reference["resource"] + (f"/{reference['subresource']}" if "subresource" in reference else "")
        permissions = used.setdefault(reference.get("namespace"), set())
        assert code != 403, f"forbidden: {entry['verb']} {resource} {reference.get('namespace')}/{reference.get('name')}"
        permissions.add((reference.get("apiGroup", ""), resource, entry["verb"]))
        if entry["verb"] == "patch" and code == 201:  # an apply that created the object
            permissions.add((reference.get("apiGroup", ""), resource, "create"))
    return used


def prepare(node, namespace):
    """Creates all objects that an item can refer to."""
    kube = node.kube
    auths = json.dumps({"auths": {"registry.example": {"auth": base64.b64encode(b"user:word").decode()}}})
    kube.create({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "metadata": {"name": "pull", "namespace": namespace},
                 "stringData": {".dockerconfigjson": auths}})
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "target", "namespace": namespace}, "stringData": {"config": "{}"}})
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ocm", "namespace": namespace}, "data": {".ocmconfig": ""}})
    kube.create({"apiVersion": API, "kind": "Context", "metadata": {"name": "default", "namespace": namespace},
                 "ocmConfig": {"name": "ocm"}, "registryPullSecrets": [{"name": "pull"}]})
    kube.create({"apiVersion": API, "kind": "Target", "metadata": {"name": "target", "namespace": namespace},
                 "spec": {"type": "example.test/target", "secretRef": {"name": "target", "key": "config"}}})
    assert kube.get(CONTEXTS, "default", namespace) and kube.get(TARGETS, "target", namespace)


def test_the_controller_uses_every_permission_that_it_has(node, node_namespace):
    """Items and runs are in different namespaces to separate the two sides. Two replicas, so that leases are used."""
    release.load(node)
    runs = f"{node_namespace}-runs"
    node.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": runs}})
    prepare(node, node_namespace)
    mark = node.api.audit.mark()
    values = {"deployer": {"namespace": runs, "garbageCollection": {"requeueTimeSeconds": 2}}, "hpa": {"maxReplicas": 2}}
    helm.run("install", "deployer", helm.CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, namespace=node_namespace, values=values)
    try:
        spec = {"target": {"name": "target", "namespace": node_namespace}}
        for job in range(4):
            item = run_item(node, node_namespace, "counter", SCRIPT, f"job-{job}", spec=spec)
            assert item["status"]["phase"] == "Succeeded", item["status"]
        # Twice: the second run finds the account of the failed one.
        for job in ("job-1", "job-2"):
            failed = run_item(node, node_namespace, "broken", "echo no luck; exit 3", job)
            assert "no luck" in failed["status"]["lastError"]["message"]
        wait_until(lambda: ("", "configmaps", "list") in used_by(node, mark, node_namespace).get(runs, ()), "a run of the garbage collector", 60)
        delete_item(node, node_namespace, "counter", "job-9")
        roles = {
            "items": node.kube.get("rbac.authorization.k8s.io/v1/clusterroles", NAME),
            "runs": node.kube.get("rbac.authorization.k8s.io/v1/roles", NAME, runs),
            "replicas": node.kube.get("rbac.authorization.k8s.io/v1/roles", f"{NAME}-replicas", node_namespace),
            "locks": node.kube.get("rbac.authorization.k8s.io/v1/roles", f"{NAME}-locks", node_namespace)}
        used = used_by(node, mark, node_namespace)
        here, there = used.get(node_namespace, set()) | used.get(None, set()), used[runs]
        unused = {side: sorted(rules_of(role) - (there if side == "runs" else here)) for side, role in roles.items()}
        # This test has no lock that is held by another process.
        assert unused == {"items": [], "runs": sorted(TO_GIVE | (LEFT_BY_OTHERS - there)), "replicas": [], "locks": [("", "pods", "get")]}
    finally:
        helm.run("uninstall", "deployer", "--wait", kubeconfig=node.kubeconfig, namespace=node_namespace)
        node.kube.delete("namespaces", runs)
