# SPDX-License-Identifier: Apache-2.0
"""Tests the API server of the bench: the behaviour that other tests rely on."""

import pytest

from bench.kube import DEPLOYITEMS, TARGETS, ApiError

CONFIG = {"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
          "image": "example.com/image:1", "importValues": {"any": {"thing": [1]}}}


def deploy_item(name, **spec):
    return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": name},
            "spec": {"type": "landscaper.gardener.cloud/container", "config": CONFIG, **spec}}


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def test_deploy_item_keeps_its_config_and_has_a_status(kube, namespace):
    created = kube.create(deploy_item("one", timeout="none"), namespace)
    assert created["spec"]["config"] == CONFIG
    kube.patch(DEPLOYITEMS, "one", {"status": {"phase": "Init"}, "spec": {"type": "changed"}}, namespace)
    assert "status" not in kube.get(DEPLOYITEMS, "one", namespace)
    status = {"phase": "Init", "observedGeneration": 1, "providerStatus": {**CONFIG, "kind": "ProviderStatus"}}
    kube.patch(DEPLOYITEMS, "one", {"status": status}, namespace, subresource="status")
    assert kube.get(DEPLOYITEMS, "one", namespace)["status"] == status


@pytest.mark.parametrize("spec", [{"type": None}, {"config": {"image": "no kind"}}, {"target": {}}, {"timeout": 5}])
def test_invalid_deploy_items_are_rejected(kube, namespace, spec):
    with pytest.raises(ApiError) as error:
        kube.create(deploy_item("bad", **spec), namespace)
    assert error.value.status == 422


@pytest.mark.parametrize("config", ["text", 5, {"a": [None]}, [1]])
def test_target_config_is_any_json(kube, namespace, config):
    target = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target", "metadata": {"name": "t"},
              "spec": {"type": "x", "config": config}}
    kube.create(target, namespace)
    assert kube.get(TARGETS, "t", namespace)["spec"]["config"] == config


def test_audit_counts_requests_by_user(apiserver, kube, namespace):
    kube.allow("alice", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}], namespace)
    alice, mark = apiserver.user("alice"), apiserver.audit.mark()
    kube.create(config_map("one"), namespace)
    for _ in range(3):
        alice.get("configmaps", "one", namespace)
    with pytest.raises(ApiError) as error:
        alice.delete("configmaps", "one", namespace)
    assert error.value.status == 403
    assert apiserver.audit.count(mark, verb="get", resource="configmaps", user="alice") == 3
    assert apiserver.audit.summary(mark, user="alice")[-1] == "delete configmaps 403"


def test_service_account_token(apiserver, namespace):
    token = apiserver.service_account("robot", namespace)
    apiserver.kube.allow(f"{namespace}:robot", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}],
                         namespace, kind="ServiceAccount")
    assert apiserver.token_client(token).items("secrets", namespace) == []


def test_controllers_create_the_default_service_account(controllers, kube, namespace):
    kube.wait_for("serviceaccounts", "default", bool, namespace)


def test_restart_keeps_data_and_old_resource_versions_expire(private_apiserver):
    kube = private_apiserver.kube
    old = kube.create(config_map("kept"), "default")["metadata"]["resourceVersion"]
    for crash in (False, True):
        private_apiserver.restart(crash=crash)
        assert kube.get("configmaps", "kept", "default")["data"] == {"a": "b"}
    kube.create(config_map("newer"), "default")
    private_apiserver.expire_watches()
    kind, answer = next(kube.watch("configmaps", "default", resourceVersion=old))
    assert (kind, answer["code"], answer["reason"]) == ("ERROR", 410, "Expired")
