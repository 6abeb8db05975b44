# SPDX-License-Identifier: Apache-2.0
"""Mistakes are reported at once, by name, before anything is touched; and an item with mistakes can be deleted."""

import json
import threading

import pytest

from bench import paths
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from manifest_harness import EXPORTED, managed
from ship import helm

CHECK = {"name": "c", "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": "x"}]}


def mistakes(world):
    """(configuration, part of the message)"""
    fine = managed(world.config("fine"))
    return {
        "strategy": ({"updateStrategy": "replace"}, "updateStrategy"),
        "policy": ({"manifests": [fine, managed(world.config(), policy="own")]}, "manifests[1].policy"),
        "no-namespace": ({"manifests": [fine, managed({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}})]},
                         "manifests[1].manifest"),
        "name": ({"manifests": [fine, managed({"apiVersion": "v1", "kind": "ConfigMap",
                                               "metadata": {"generateName": "x", "namespace": world.space}})]}, "manifests[1].manifest"),
        "nested-list": ({"manifests": [fine, managed({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "List", "items": []}]})]}, "manifests[1].manifest"),
        "path": ({"readinessChecks": {"custom": [{**CHECK, "requirements": [{"jsonPath": "a[", "operator": "exists"}]}]}},
                 "readinessChecks.custom[0].requirements[0].jsonPath"),
        "values": ({"readinessChecks": {"custom": [{**CHECK, "requirements": [
            {"jsonPath": "a", "operator": "==", "values": [{"v": 1}]}]}]}}, "readinessChecks.custom[0].requirements[0].values[0]"),
        "export": ({"exports": {"exports": [{"key": "a[0]", "jsonPath": "b", "fromResource": {
            "apiVersion": "v1", "kind": "ConfigMap", "name": "cm"}}]}}, "exports.exports[0].key"),
        "update-group": ({"deletionGroupsDuringUpdate": [{"predefinedResourceGroup": {"type": "all"}}]},
                         "deletionGroupsDuringUpdate[0].predefinedResourceGroup.type"),
        "group-target": ({"deletionGroups": [{"customResourceGroup": {"targetName": "t", "resources": [
            {"apiVersion": "v1", "kind": "ConfigMap"}]}}]}, "deletionGroups[0].customResourceGroup.targetName"),
        "cron": ({"continuousReconcile": {"cron": "x"}}, "continuousReconcile.cron"),
        "version": ({"version": "manifest.deployer.landscaper.gardener.cloud/v1"}, "apiVersion"),
    }


def test_mistakes_fail_at_once_and_touch_nothing(world):
    """F21, F22, F34."""
    world.start()
    for name, (config, expected) in mistakes(world).items():
        config = {"manifests": [managed(world.config("fine"))], **config}
        world.deploy(name, config.pop("manifests"), **config)
    for name, (_, expected) in mistakes(world).items():
        error = world.failed(name)["lastError"]
        assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (name, error)
        assert expected in error["message"], (name, error)
        assert error["reason"] == ("ParseProviderConfiguration" if name == "version" else "ValidateProviderConfiguration"), name
    assert world.names() == []
    for name in mistakes(world):
        world.delete(name)
    for name in mistakes(world):
        world.wait_until_deleted(name)


def test_an_item_without_a_usable_configuration_can_be_deleted(world):
    """F25: also if it has objects. What is deleted is what the status says."""
    world.start()
    for name in ("missing", "invalid"):
        world.deploy(name, [managed(world.config(name))])
        world.succeeded(name)
    item = world.kube.get(DEPLOYITEMS, "missing", world.namespace)
    del item["spec"]["config"]
    world.kube.replace(item)
    item = world.kube.get(DEPLOYITEMS, "invalid", world.namespace)
    item["spec"]["config"]["deletionGroups"] = [{"predefinedResourceGroup": {"type": "wrong"}}]
    item["spec"]["config"]["updateStrategy"] = "wrong"
    world.kube.replace(item)
    world.deploy("never", [managed(world.config("never"))], job=None, updateStrategy="wrong", target="no-such-target")
    for name in ("missing", "invalid", "never"):
        world.removed(name)
    assert world.names() == []


FORBIDDEN = [{"tokenFile": "/etc/hostname"}, {"client-certificate": "/etc/hostname", "client-key": "/etc/hostname"},
             {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch"}},
             {"auth-provider": {"name": "oidc", "config": {"a": "b"}}}, {"as": "somebody"}]


def test_second_targets_are_checked_like_the_first(world):
    """F31: refused at once, and no request is sent."""
    world.start()
    for number, user in enumerate(FORBIDDEN):
        config = world.kubeconfig(world.cluster)
        config["users"][0]["user"] = user
        world.target(f"bad-{number}", config={"kubeconfig": config})
        export = {**EXPORTED, "targetName": f"bad-{number}",
                  "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}}
        world.deploy(f"first-{number}", [managed(world.config())], target=f"bad-{number}")
        world.deploy(f"second-{number}", [managed(world.config())], exports={"exports": [export]})
    for number in range(len(FORBIDDEN)):
        for name in (f"first-{number}", f"second-{number}"):
            error = world.failed(name)["lastError"]
            assert error["reason"] == "ValidateTarget" and error["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (name, error)
    assert world.names() == []


def test_the_role_of_the_chart_is_sufficient_and_an_event_keeps_its_text(world):
    """F36, F39: the Event arrives, also with a per cent sign; items are listed once, in pages, and nothing else is."""
    things = helm.template(chart=paths.CHECKOUT / "charts" / "manifest-deployer")
    controller = world.start(rules=[rule for thing in things if thing["kind"] in ("Role", "ClusterRole") for rule in thing["rules"]])
    mark = world.apiserver.audit.mark()
    world.deploy("item", [managed(world.config(labels={"full": "100%s or 100%"}))], spec={"timeout": "2s"})
    assert "100%s or 100%" in world.failed("item")["lastError"]["message"]
    wait_until(lambda: any("100%s or 100%" in e["message"] for e in world.events("item")), "the Event")
    export = {**EXPORTED, "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}}
    world.update("item", [managed(world.config(data={"answer": "yes"}))], job="job-2", exports={"exports": [export]},
                 spec={"timeout": "10m"})
    world.succeeded("item", "job-2")
    world.removed("item")
    lists = [e["requestURI"] for e in world.apiserver.audit.entries(user=controller.user, verb="list")]
    assert lists and all("/deployitems?" in uri and "limit=" in uri for uri in lists), lists
    assert world.apiserver.audit.count(mark, user=controller.user, verb="list") <= len(lists) <= 2


CANARY = "c4n4ry-value"


def test_values_of_secrets_appear_nowhere(world):
    """F26: a canary in every input; logs, Events, status and conditions are searched."""
    controller = world.start()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": world.space},
              "stringData": {"k": CANARY}, "type": "Opaque"}
    here = {"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": world.space}
    encoded = __import__("base64").b64encode(CANARY.encode()).decode()
    cases = {
        "good": {"exports": {"exports": [{"key": "k", "jsonPath": ".data.k", "fromResource": here}]}},
        "text-as-reference": {"exports": {"exports": [{"key": "k", "jsonPath": ".data.k", "fromResource": here,
                                                       "fromObjectRef": {"apiVersion": "v1", "kind": "Secret", "jsonPath": "x"}}]}},
        "filter-on-text": {"exports": {"exports": [{"key": "k", "jsonPath": ".data.k[?(@.a=='b')]", "fromResource": here}]}},
        "comparison": {"readinessChecks": {"custom": [{"name": "c", "resourceSelector": [here], "requirements": [
            {"jsonPath": ".data.k", "operator": "!=", "values": [{"value": encoded}]}]}]}},
    }
    for name, config in cases.items():
        world.deploy(name, [managed(secret, annotateBeforeDelete={"x": "y"})], spec={"timeout": "3s"}, **config)
    world.deploy("invalid", [managed({**secret, "apiVersion": "v1", "data": {"k": [CANARY]}})], spec={"timeout": "3s"})
    world.deploy("immutable", [managed({**secret, "type": "example.com/other"})], spec={"timeout": "3s"})
    texts = [json.dumps(world.finished(name)) for name in [*cases, "invalid", "immutable"]]
    for name in [*cases, "invalid", "immutable"]:
        texts.append(json.dumps(world.events(name)))
        world.removed(name)
    texts.append(controller.output())
    for text in texts:
        assert CANARY not in text and encoded not in text


def test_a_hanging_target_delays_nobody_and_names_the_server(world):
    """F29, F11: 30 items with a target that accepts connections and then is silent; another item is done meanwhile."""
    import socket
    silent = socket.create_server(("127.0.0.1", 0))
    kept = []
    threading.Thread(target=lambda: [kept.append(silent.accept()) for _ in range(1000)], daemon=True).start()
    try:
        world.start()
        world.reach(world.cluster, "silent", url=f"https://127.0.0.1:{silent.getsockname()[1]}")
        for number in range(30):
            world.deploy(f"silent-{number}", [managed(world.config())], target="silent", spec={"timeout": "3s"})
        world.deploy("done", [managed(world.config("done"))])
        world.succeeded("done")
        for number in range(30):
            error = world.failed(f"silent-{number}")["lastError"]
            assert f"127.0.0.1:{silent.getsockname()[1]}" in error["message"], error
    finally:
        silent.close()


def test_a_closed_port_is_retried_until_the_time_is_over(world):
    world.start()
    world.reach(world.cluster, "closed", url="https://127.0.0.1:1")
    world.deploy("item", [managed(world.config())], target="closed", spec={"timeout": "3s"})
    error = world.failed("item")["lastError"]
    assert error["codes"] == ["ERR_TIMEOUT"] and "127.0.0.1:1" in error["message"], error
    world.reach(world.cluster, "closed")
    world.trigger("item", "job-2")
    world.succeeded("item", "job-2")


@pytest.mark.parametrize("code", [401, 403])
def test_credentials_that_are_replaced_during_a_job_are_used(world, code):
    world.start()
    if code == 401:
        config = world.kubeconfig(world.cluster)
        config["users"][0]["user"] = {"token": "wrong"}
        world.secret("cluster", {"kubeconfig": config})
    else:
        world.reach(world.cluster, groups=(), user="nobody-special")
    world.deploy("item", [managed(world.config())])
    wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
    world.reach(world.cluster)
    world.succeeded("item")
    assert world.names() == ["cm"]
