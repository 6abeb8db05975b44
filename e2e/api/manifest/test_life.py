# SPDX-License-Identifier: Apache-2.0
"""The life of manifest items: jobs, updates, deletions, policies, strategies, exports."""

import json

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from manifest_harness import EXPORTED, GROUP, LABEL, TYPE, V1, V2, config_map, managed, thing_definition


def test_an_item_is_applied_updated_and_deleted(world):
    world.start()
    world.deploy("item", [managed(world.config("a")), managed(world.config("b", data={"k": "1"}))])
    status = world.succeeded("item")
    assert world.names() == ["a", "b"]
    labels = world.found("a")["metadata"]["labels"]
    assert labels == {LABEL: "item"}
    entries = status["providerStatus"]["managedResources"]
    assert status["providerStatus"]["apiVersion"] == V2 and status["providerStatus"]["kind"] == "ProviderStatus"
    assert [e["policy"] for e in entries] == ["manage", "manage"]
    assert entries[0]["resource"] == {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": world.space,
                                      "uid": world.found("a")["metadata"]["uid"]}
    assert status["deployer"]["name"] == GROUP
    assert {c["type"]: c["status"] for c in status["conditions"]} == {"Applied": "True", "Ready": "True"}

    world.update("item", [managed(world.config("b", data={"k": "2"}))], job="job-2")
    world.succeeded("item", "job-2")
    assert world.names() == ["b"] and world.found("b")["data"] == {"k": "2"}
    assert world.recorded("item") == ["b"]

    world.removed("item")
    assert world.names() == []


POLICIES = [
    # policy, there before, data after the job, in the list, there after it left the list, there after the deletion
    ("manage", False, "ours", True, False), ("manage", True, "ours", True, False),
    ("fallback", False, "ours", True, False), ("fallback", True, "theirs", False, True),
    ("keep", False, "ours", True, True), ("keep", True, "ours", True, True),
    ("immutable", False, "ours", True, False), ("immutable", True, "theirs", True, False),
    ("ignore", False, None, False, False), ("ignore", True, "theirs", False, True),
]


def test_every_policy_does_what_its_table_says(world):
    world.start()
    for number, (policy, is_there, data, is_listed, _) in enumerate(POLICIES):
        if is_there:
            world.create(world.config(f"cm-{number}", data={"by": "theirs"}))
    manifests = [managed(world.config(f"cm-{number}", data={"by": "ours"}), policy=row[0]) for number, row in enumerate(POLICIES)]
    for number, manifest in enumerate(manifests):
        world.deploy(f"deleted-{number}", [manifest])
        world.succeeded(f"deleted-{number}")
        policy, _, data, is_listed, stays = POLICIES[number]
        found = world.found(f"cm-{number}")
        assert (found and found["data"]["by"]) == data, (number, policy)
        assert (f"cm-{number}" in world.recorded(f"deleted-{number}")) == is_listed, (number, policy)
    for number in range(len(POLICIES)):
        # One half leaves the list, the other half is deleted with its item.
        if number % 2:
            world.update(f"deleted-{number}", job="job-2")
            world.succeeded(f"deleted-{number}", "job-2")
        else:
            world.removed(f"deleted-{number}")
        assert (world.found(f"cm-{number}") is not None) == POLICIES[number][4], (number, POLICIES[number][0])


def test_every_strategy_does_what_its_table_says(world):
    world.start()
    live = {"same": "live", "only": "live", "empty": ""}
    wanted = {"same": "ours", "empty": "ours", "new": "ours"}
    for strategy, expected in {
            "update": wanted, "patch": wanted,
            "merge": {"same": "live", "only": "live", "empty": "ours", "new": "ours"},
            "mergeOverwrite": {"same": "ours", "only": "live", "empty": "ours", "new": "ours"},
            "apply": {"same": "ours", "only": "live", "empty": "ours", "new": "ours"}}.items():
        name = strategy.lower()
        world.create(world.config(name, data=live))
        world.deploy(name, [managed(world.config(name, data=wanted))], updateStrategy=strategy)
        world.succeeded(name)
        found = world.found(name)
        assert found["data"] == expected, strategy
        assert found["metadata"]["labels"][LABEL] == name, strategy
        if strategy == "apply":
            assert [m["manager"] for m in found["metadata"]["managedFields"] if m["operation"] == "Apply"] == [GROUP]


def test_annotations_and_patches_are_written_at_their_time(world):
    world.start()
    world.deploy("item", [managed(world.config("cm", annotations={"own": "1"}), annotateBeforeCreate={"created": "yes"},
                                  annotateBeforeDelete={"deleted": "yes"}, patchAfterDeployment={"data": {"after": "yes"}},
                                  patchBeforeDelete={"data": {"before": "yes"}})])
    world.succeeded("item")
    found = world.found()
    assert found["metadata"]["annotations"]["created"] == "yes" and found["metadata"]["annotations"]["own"] == "1"
    assert found["data"] == {"a": "1", "after": "yes"}
    world.hold("cm")
    world.delete("item")
    found = wait_until(lambda: (t := world.found()) and "deletionTimestamp" in t["metadata"] and t, "deletion of the object")
    assert found["metadata"]["annotations"]["deleted"] == "yes" and found["data"]["before"] == "yes"
    world.release("cm")
    world.wait_until_deleted("item")


def test_a_custom_resource_follows_its_definition_in_one_pass(world):
    """F14: CRD and custom resource in one item: no error is ever written."""
    world.start()
    group = f"{world.space}.example.com"
    crd = thing_definition(group)
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing", "namespace": world.space}, "spec": {"a": 1}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": f"role-{world.space}"}, "rules": []}
    listed = {"apiVersion": "v1", "kind": "List", "items": [role, world.config("listed")]}
    world.deploy("item", [managed(thing), managed(listed), managed(crd)])
    status = world.succeeded("item")
    assert "firstError" not in status and "lastErrors" not in status
    assert [e["resource"]["kind"] for e in status["providerStatus"]["managedResources"]] == [
        "CustomResourceDefinition", "ClusterRole", "ConfigMap", "Thing"]
    assert world.remote.get(f"{group}/v1/things", "thing", world.space)["spec"] == {"a": 1}
    world.removed("item")
    assert world.remote.find("apiextensions.k8s.io/v1/customresourcedefinitions", f"things.{group}") is None
    assert world.remote.find("rbac.authorization.k8s.io/v1/clusterroles", f"role-{world.space}") is None


def test_exports_are_read_written_and_withdrawn(world):
    """F23, F27: a value may appear later; an export that left the configuration is withdrawn."""
    world.start()
    world.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": world.space}, "data": {"k": "dg=="}})
    here = {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}
    exports = [{**EXPORTED, "key": "a.answer", "fromResource": here},
               {"key": "a.late", "jsonPath": ".data.late", "fromResource": {**here, "name": "late"}},
               {"key": "a.held", "jsonPath": '.metadata.ownerReferences[?(@.kind=="Node")].name', "fromResource": {**here, "name": "late"}},
               {"key": "ref", "jsonPath": ".metadata.annotations", "fromResource": here,
                "fromObjectRef": {"apiVersion": "v1", "kind": "Secret", "jsonPath": ".data.k"}}]
    world.deploy("item", [managed(world.config(data={"answer": "42"}, annotations={"name": "s"}))], exports={"exports": exports})
    wait_until(lambda: "late" in json.dumps(world.status("item").get("conditions", [])), "the missing export in a condition")
    world.create(world.config("late", data={"late": "now"}, ownerReferences=[
        {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "0"}]))
    # The object is there, but the filter does not match yet.
    wait_until(lambda: "a.late" not in (text := json.dumps(world.status("item")["conditions"])) and "a.held" in text, "the filter in a condition")
    world.remote.patch("configmaps", "late", {"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}]}}, world.space)
    status = world.succeeded("item")
    assert status["exportRef"] == {"name": "item-export", "namespace": world.namespace}
    assert world.exported("item-export") == {"a": {"answer": "42", "late": "now", "held": "n"}, "ref": "dg=="}
    [owner] = world.kube.get("secrets", "item-export", world.namespace)["metadata"]["ownerReferences"]
    assert owner["kind"] == "DeployItem" and "controller" not in owner and "blockOwnerDeletion" not in owner
    for number, config in enumerate(({}, {"exports": {}}, {"exports": {"exports": []}}), 2):
        world.update("item", [managed(world.config())], job=f"job-{number}", **config)
        assert "exportRef" not in world.succeeded("item", f"job-{number}")
        assert world.kube.find("secrets", "item-export", world.namespace) is None


def test_an_export_with_several_results_is_an_error(world):
    """F27, F28: the timeout names the key and the reason."""
    world.start()
    world.deploy("item", [managed(world.config(data={"a": "1", "b": "2"}))], spec={"timeout": "2s"}, exports={"exports": [
        {"key": "many", "jsonPath": ".data.*", "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm",
                                                                "namespace": world.space}}]})
    error = world.failed("item")["lastError"]
    assert error["codes"] == ["ERR_TIMEOUT"] and "many" in error["message"], error


def test_an_old_configuration_works_and_its_exports_and_groups_too(world):
    """F24."""
    world.start()
    world.create(world.config("kept"))
    world.deploy("item", [world.config(data={"answer": "42"}), {**world.config("stays")}], version=V1, exports={"exports": [
        {**EXPORTED, "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}}]},
        deletionGroups=[{"customResourceGroup": {"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "names": ["cm"]}]}}])
    status = world.succeeded("item")
    assert status["providerStatus"]["apiVersion"] == V2
    assert world.exported("item-export") == {"answer": "42"}
    world.removed("item")
    assert world.names() == ["kept", "stays"]


def test_fields_without_effect_are_said_once(world):
    world.start()
    world.deploy("item", [managed(world.config())], deleteTimeout="1m", continuousReconcile={"every": "1h"})
    world.succeeded("item")
    reasons = [e["reason"] for e in world.events("item")]
    assert sorted(reasons) == ["ContinuousReconcileIgnored", "FieldsIgnored"]
    world.trigger("item", "job-2")
    world.succeeded("item", "job-2")
    assert len(world.events("item")) == 2


def test_a_long_name_works(world):
    """F32: the label has a hash, an annotation the full name."""
    world.start()
    name = "n" + "x" * 99
    world.deploy(name, [managed(world.config())])
    world.succeeded(name)
    metadata = world.found()["metadata"]
    assert len(metadata["labels"][LABEL]) <= 63
    assert metadata["annotations"] == {f"longshore.{GROUP}/item": f"{world.namespace}/{name}"}
    world.removed(name)
    assert world.names() == []


def test_one_process_serves_manifests_and_containers(world):
    controller = world.start(config={"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1",
                                     "manifest": {"enabled": True}, "initContainer": {"image": "example.com/init:1"},
                                     "waitContainer": {"image": "example.com/wait:1"}})
    mark = world.apiserver.audit.mark()
    world.deploy("manifest", [managed(world.config())])
    world.item("container")
    world.succeeded("manifest")
    world.succeeded("container")
    assert world.status("manifest")["deployer"]["name"] == GROUP
    assert world.status("container")["deployer"]["name"].startswith("container.")
    assert len(world.apiserver.audit.entries(mark, user=controller.user, verb="watch", resource="deployitems")) <= 1


def test_items_of_other_types_are_left_alone(world):
    world.start()
    world.item("container", config={})
    world.deploy("manifest", [managed(world.config())])
    world.succeeded("manifest")
    assert "phase" not in world.status("container")
    assert world.kube.get(DEPLOYITEMS, "manifest", world.namespace)["spec"]["type"] == TYPE


@pytest.mark.parametrize("kind", ["inline", "whole", "text"])
def test_every_form_of_a_target_is_understood(world, kind):
    world.start()
    config = world.kubeconfig(world.cluster)
    if kind == "inline":
        world.target("other", config={"kubeconfig": config})
    elif kind == "text":
        world.target("other", config={"kubeconfig": json.dumps(config)})
    else:
        world.secret("whole", {"kubeconfig": json.dumps(config)})
        world.target("other", secret="whole")
    world.deploy("item", [managed(world.config())], target="other")
    world.succeeded("item")


def test_tokens_are_requested_once_for_self_and_oidc_targets(world):
    """F30: one token request for each target and half its lifetime."""
    controller = world.start()
    world.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "self", "namespace": world.namespace}})
    world.kube.allow(f"{world.namespace}:self", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
                     namespace=world.namespace, kind="ServiceAccount")
    world.target("self", config={"selfConfig": {"serviceAccount": {"name": "self"}}})
    authority = world.kubeconfig(world.apiserver)["clusters"][0]["cluster"]
    world.target("oidc", config={"oidcConfig": {"server": authority["server"], "caData": authority["certificate-authority-data"],
                                                "serviceAccount": {"name": "self"}, "expirationSeconds": 3600}})
    mark = world.apiserver.audit.mark()
    for target in ("self", "oidc"):
        for number in range(3):
            world.deploy(f"{target}-{number}", [managed(config_map(f"{target}-{number}", world.namespace))], target=target)
            world.succeeded(f"{target}-{number}")
    assert len(world.apiserver.audit.entries(mark, user=controller.user, resource="serviceaccounts/token")) == 2


def test_an_account_of_the_host_cluster_is_used_for_the_configured_target_only(world):
    """hostAccess none of an agent: no other Target, and nobody who may create Targets, gets that access."""
    world.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "host", "namespace": world.namespace}})
    world.kube.allow(f"{world.namespace}:host", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
                     namespace=world.namespace, kind="ServiceAccount")
    for name in ("allowed", "other"):
        world.target(name, config={"hostConfig": {"serviceAccount": {"name": "host", "namespace": world.namespace}}})
    world.start(config={"manifest": {"hostTarget": f"{world.namespace}/allowed"}})
    world.deploy("item", [managed(config_map("by-host-account", world.namespace))], target="allowed")
    world.succeeded("item")
    world.deploy("refused", [managed(config_map("never", world.namespace))], target="other")
    status = world.finished("refused")
    assert status["phase"] == "Failed" and "manifest.hostTarget" in status["lastError"]["message"], status
    assert world.kube.find("configmaps", "never", world.namespace) is None
