# SPDX-License-Identifier: Apache-2.0
"""The CRDs Environment and DeployerRegistration with a real API server: what v0.98 wrote is accepted, mistakes are rejected with a
message, and an object that an older definition accepted can still be changed and deleted."""

import copy

import pytest

from bench import crds
from bench.kube import ApiError
from registrations_harness import (AGENT_FINALIZER, DEFINITIONS, ENVIRONMENT_ANNOTATION, ENVIRONMENTS, MANAGEMENT_FINALIZER, REGISTRATIONS,
                                   environment, registration)


def changed(thing, path, value):
    """A copy with another value at a path such as spec.namespace; None removes it."""
    result = copy.deepcopy(thing)
    place = result
    *parents, last = path.split("/")
    for key in parents:
        place = place[int(key) if key.isdigit() else key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return result


ENVIRONMENT = environment("env")
ACCEPTED = {
    "v0.98": ENVIRONMENT,
    "inside-landscaper": changed(ENVIRONMENT, "spec/targetSelectors", [
        *ENVIRONMENT["spec"]["targetSelectors"], {"annotations": [{"key": ENVIRONMENT_ANNOTATION, "operator": "!"}]}]),
    "no-selectors": changed(ENVIRONMENT, "spec/targetSelectors", []),
    "inline-target": changed(changed(ENVIRONMENT, "spec/hostTarget/secretRef", None), "spec/hostTarget/config",
                             {"kubeconfig": {"secretRef": {"name": "a", "namespace": "b", "key": "c"}}}),
    "all-fields": changed(changed(ENVIRONMENT, "spec/landscaperClusterConfig", {
        "host": "10.0.0.1:6443", "apiPath": "/ls", "insecure": True, "serverName": "api.example", "caData": "YQ==", "nextProtos": ["h2"]}),
        "spec/hostTarget/labels", {"a": "b"}),
    "finalizers": changed(ENVIRONMENT, "metadata/finalizers", [AGENT_FINALIZER, MANAGEMENT_FINALIZER]),
    "registration-v0.98": registration("mock"),
    "registration-inline": registration("inline", blueprint={"inline": {"filesystem": {"blueprint.yaml": "text"}}}, componentDescriptor={
        "inline": {"meta": {"schemaVersion": "v2"}, "component": {
            "name": "example.com/a", "version": "v1", "provider": "a", "repositoryContexts": [{"type": "ociRegistry"}], "sources": [],
            "componentReferences": [], "resources": [{"name": "r", "version": "v1", "type": "ociImage", "relation": "external",
                                                      "access": {"type": "ociArtifact", "imageReference": "a/b:c"}}]}}}),
    "registration-imports": registration("imports", imports={
        "data": [{"name": "a", "dataRef": "b"}, {"name": "c", "configMapRef": {"name": "d", "key": "e"}}, {"name": "f", "secretRef": {"name": "g"}}],
        "targets": [{"name": "h", "target": "#i"}, {"name": "j", "targets": ["k"]}, {"name": "l", "targetMap": {"m": "n"}}]},
        importDataMappings={"values": {"a": "(( b ))"}, "list": [1, {"x": None}], "text": "t"}),
    "registration-needs": registration("needs", required=["landscaper.gardener.cloud/helm"]),
}
REJECTED = {
    "namespace": (changed(ENVIRONMENT, "spec/namespace", "Not A Name"), "spec.namespace", "must be the name of a namespace"),
    "namespace-template": (changed(ENVIRONMENT, "spec/namespace", "(( x ))"), "spec.namespace", "must be the name of a namespace"),
    "both-contents": (changed(ENVIRONMENT, "spec/hostTarget/config", {}), "spec.hostTarget", "must validate one and only one schema"),
    "no-content": (changed(ENVIRONMENT, "spec/hostTarget/secretRef", None), "spec.hostTarget", "must validate one and only one schema"),
    "no-host": (changed(ENVIRONMENT, "spec/landscaperClusterConfig/host", ""), "spec.landscaperClusterConfig.host", "must not be empty"),
    "host-template": (changed(ENVIRONMENT, "spec/landscaperClusterConfig/host", "((x))"), "spec.landscaperClusterConfig.host", 'must not contain "(("'),
    "value-template": (changed(ENVIRONMENT, "spec/targetSelectors/0/annotations/0/values", ["a", "x (( read(\"/etc/passwd\") ))"]),
                       "spec.targetSelectors[0].annotations[0].values[1]", 'must not contain "(("'),
    "key-template": (changed(ENVIRONMENT, "spec/targetSelectors/0/annotations/0/key", "((a))"), "spec.targetSelectors[0].annotations[0].key",
                     'must not contain "(("'),
    "target-template": (changed(ENVIRONMENT, "spec/targetSelectors", [{"targets": [{"name": "((!"}]}]), "spec.targetSelectors[0].targets[0].name",
                        'must not contain "(("'),
    "no-selectors": (changed(ENVIRONMENT, "spec/targetSelectors", None), "spec.targetSelectors", "Required value"),
    "no-types": (changed(registration("r"), "spec/types", []), "spec.types", "must have at least one type"),
    "no-blueprint": (changed(registration("r"), "spec/installationTemplate/blueprint", None), "blueprint", "Required value"),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_objects_of_v098_are_accepted_and_stored_as_they_are(registrations_server, case):
    kube, thing = registrations_server.kube, copy.deepcopy(ACCEPTED[case])
    thing["metadata"]["name"] = f"accepted-{case.replace('.', '-').lower()}"
    created = kube.create(thing)
    resource = kube.resource_of(thing)
    try:
        assert created["spec"] == thing["spec"]
    finally:
        kube.patch(resource, thing["metadata"]["name"], {"metadata": {"finalizers": None}})
        kube.delete(resource, thing["metadata"]["name"])


@pytest.mark.parametrize("case", REJECTED)
def test_mistakes_are_rejected_with_field_and_reason(registrations_server, case):
    thing, field, reason = REJECTED[case]
    with pytest.raises(ApiError) as caught:
        registrations_server.kube.create(thing)
    assert caught.value.status == 422 and field in caught.value.message and reason in caught.value.message


def test_status_columns_and_short_names(registrations_server):
    kube = registrations_server.kube
    kube.create(environment("columns"))
    kube.create(registration("columns"))
    try:
        now = "2026-01-01T00:00:00Z"
        condition = {"type": "AgentReady", "status": "True", "reason": "Renewed", "message": "", "lastTransitionTime": now}
        kube.patch(ENVIRONMENTS, "columns", {"spec": {"namespace": "ignored"}, "status": {
            "conditions": [condition], "agent": {"version": "v1", "types": ["t"]}, "deployers": {"ready": 1, "total": 2, "summary": "1/2"}}},
            subresource="status")
        kube.patch(REGISTRATIONS, "columns", {"status": {"ready": "1/2"}}, subresource="status")
        assert kube.get(ENVIRONMENTS, "columns")["spec"]["namespace"] == "ls-system"
        assert columns(kube, ENVIRONMENTS, "columns") == {"Name": "columns", "Agent": "True", "Deployers": "1/2", "Version": "v1"}
        assert columns(kube, REGISTRATIONS, "columns") == {"Name": "columns", "Types": '["example.com/columns"]', "Ready": "1/2"}
        # The old agent replaces the whole object with PUT and knows no status.
        stored = kube.get(ENVIRONMENTS, "columns")
        del stored["status"]
        assert kube.replace(stored)["status"]["agent"]["version"] == "v1"
        names = {r["name"]: r.get("shortNames") for r in kube.request("GET", "/apis/landscaper.gardener.cloud/v1alpha1")["resources"]}
        assert names["environments"] == ["env"] and names["deployerregistrations"] == ["deployreg", "deployerreg", "dreg"]
    finally:
        kube.delete(ENVIRONMENTS, "columns")
        kube.delete(REGISTRATIONS, "columns")


def columns(kube, resource, name):
    """The row of kubectl get, without the age."""
    kube._headers["Accept"] = "application/json;as=Table;v=v1;g=meta.k8s.io"
    try:
        table = kube.request("GET", kube.path(resource, name))
    finally:
        kube._headers["Accept"] = "application/json"
    row = dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"]))
    del row["Age"]
    return row


def test_an_object_that_the_old_definition_accepted_can_still_be_deleted(make_apiserver):
    """v0.98 validated no contents. Such an object must not be locked in by the new rules: its finalizers can be removed."""
    server = make_apiserver(with_crds=False)
    strict = crds.load(DEFINITIONS)
    lax = copy.deepcopy(strict)
    for definition in lax:
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crds.install(server.kube, lax)
    bad = changed(environment("old"), "spec/landscaperClusterConfig/host", "")
    bad["metadata"]["finalizers"] = [MANAGEMENT_FINALIZER]
    server.kube.create(bad)
    crds.install(server.kube, strict)
    server.kube.delete(ENVIRONMENTS, "old")
    server.kube.patch(ENVIRONMENTS, "old", {"status": {"observedGeneration": 1}}, subresource="status")
    server.kube.patch(ENVIRONMENTS, "old", {"metadata": {"finalizers": None}})
    assert server.kube.find(ENVIRONMENTS, "old") is None
