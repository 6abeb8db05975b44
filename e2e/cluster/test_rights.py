# SPDX-License-Identifier: Apache-2.0
"""Permissions: the chart grants exactly what the audit log shows as used in all tests of this folder."""

import pytest

from bench.audit import resource_of
from cluster.conftest import HOST, RELEASE

RBAC = "rbac.authorization.k8s.io/v1"
# Granted, but only used after failures that these tests do not cause.
RARE = {
    ("secrets", "update", HOST): "granted to the wait container, and RBAC allows to grant only permissions that the granter has",
    ("secrets", "delete", HOST): "deletes leftovers of a crash, and old chunks of a very large state one by one",
    ("pods", "get", HOST): "gets the pod if a pod that should run has disappeared or its name is already used",
}
RARE_FOR_WAIT = {
    ("pods", "get"): "gets the pod if the watch breaks repeatedly",
    ("secrets", "update"): "replaces the export of an earlier attempt",
}


def granted(kube):
    """(resource, verb, namespace or None) of the roles of the release."""
    found = set()
    for kind, namespace in ((f"{RBAC}/clusterroles", None), (f"{RBAC}/roles", HOST)):
        for role in kube.items(kind, namespace):
            if role["metadata"].get("labels", {}).get("app.kubernetes.io/instance") == RELEASE:
                found |= {(resource, verb, namespace) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    return found


def uses(entries):
    """(resource, verb, namespace) of completed requests. An apply that creates an object needs the permission to create it too."""
    found = set()
    for entry in entries:
        if "objectRef" in entry:
            made = entry["verb"] == "patch" and entry.get("responseStatus", {}).get("code") == 201
            found |= {(resource_of(entry), verb, entry["objectRef"].get("namespace"))
                      for verb in (entry["verb"], *(["create"] if made else []))}
    return found


@pytest.fixture
def entries(deployed):
    prefix = f"system:serviceaccount:{HOST}:"
    return [entry for entry in deployed.api.audit.entries() if entry["user"]["username"].startswith(prefix)]


def is_controller(entry):
    return entry["user"]["username"].split(":")[-1].startswith(RELEASE)


def whole_folder(request):
    ran = {item.path.name for item in request.session.items}
    if not {"test_life.py", "test_trouble.py"} <= ran or request.config.option.keyword:
        pytest.fail("this test checks the requests of all tests of this folder: run the whole folder")


def test_the_chart_grants_nothing_that_is_unused(deployed, entries, request):
    whole_folder(request)
    used = uses(filter(is_controller, entries))
    anywhere = {(resource, verb) for resource, verb, _ in used}
    rights = granted(deployed.kube)
    assert len(rights) > 20, rights
    unused = {(resource, verb, namespace) for resource, verb, namespace in rights
              if (resource, verb, namespace) not in used and not (namespace is None and (resource, verb) in anywhere)}
    assert unused <= set(RARE), f"granted but never used: {unused - set(RARE)}"


def test_no_request_was_forbidden(entries):
    """Except by an API server that has just started: until it has read the rules, it refuses what it allows later."""
    def what(entry):
        reference = entry.get("objectRef", {})
        return entry["user"]["username"], entry["verb"], *(reference.get(key) for key in ("resource", "subresource", "namespace", "name"))

    allowed = {what(entry) for entry in entries if entry.get("responseStatus", {}).get("code", 500) < 300}
    refused = [f"{entry['user']['username']}: {entry['verb']} {entry['requestURI']}" for entry in entries
               if entry.get("responseStatus", {}).get("code") == 403 and what(entry) not in allowed]
    assert not refused, refused


def test_the_wait_container_uses_all_that_it_is_granted(cluster, entries, request):
    whole_folder(request)
    cluster.shell("granted", "sleep 600")
    cluster.main_runs("granted")
    role, = [role for role in cluster.kube.items(f"{RBAC}/roles", HOST)
             if role["metadata"].get("annotations", {}).get("longshore.container.deployer.landscaper.gardener.cloud/item-name") == "granted"]
    cluster.interrupt("granted", "job-1")
    rights = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    used = {(resource, verb) for resource, verb, _ in uses(entry for entry in entries if not is_controller(entry))}
    assert used <= rights and rights - used <= set(RARE_FOR_WAIT), (rights, used)
    named = [rule for rule in role["rules"] if "resourceNames" not in rule]
    assert named == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}], "only create cannot be restricted to names"
