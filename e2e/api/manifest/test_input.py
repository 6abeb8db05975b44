# SPDX-License-Identifier: Apache-2.0
"""Mistakes are reported at once, by name, before anything is touched; and an item with mistakes can be deleted."""

import base64
import json
import socket
import threading

import pytest

from bench import paths
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from faults.proxy import PASS, Action, status
from manifest_harness import EXPORTED, LABEL, V2, managed
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
        # An object that has a field items, which is not a list of objects.
        "items": ({"manifests": [fine, managed({"apiVersion": "example.com/v1", "kind": "Thing", "items": ["a"],
                                                "metadata": {"name": "t", "namespace": world.space}})]}, "manifests[1].manifest"),
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
    """F31: refused at once, and no connection is made."""
    world.start()
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    for number, user in enumerate(FORBIDDEN):
        config = world.kubeconfig(world.cluster, url=f"https://127.0.0.1:{server.getsockname()[1]}")
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
    with server, pytest.raises(BlockingIOError):
        server.accept()


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
# A value that programs quote with escapes, and that is longer than any message that is stored.
LONG_CANARY = '{"password": "%s"}\n' % "\n".join(f"line {n} of c4n4ry-long" for n in range(200))


def quoting_webhook(request):
    """A server that refuses Secrets of the name "quoted", and quotes them, in clear text and escaped; or passes the request on."""
    if request.method not in ("POST", "PUT") or not request.path.partition("?")[0].endswith(("/secrets", "/secrets/quoted")):
        return PASS
    thing = json.loads(request.body or b"{}")
    if thing.get("metadata", {}).get("name") != "quoted":
        return PASS
    values = [*thing.get("stringData", {}).values(), *(base64.b64decode(v).decode() for v in thing.get("data", {}).values())]
    message = 'admission webhook "quoting.example.com" denied the request: ' + " and ".join(map(json.dumps, sorted(values, key=len)))
    return Action(forward=False, answer=status(403, "Forbidden", message))


def test_values_of_secrets_appear_nowhere(world):
    """F26: a canary in every input, and a server that quotes it; logs, Events, status and conditions are searched."""
    def secret(name="s", **more):
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": world.space},
                "stringData": {"k": CANARY}, "type": "Opaque", **more}

    here = {"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": world.space}
    encoded = base64.b64encode(CANARY.encode()).decode()
    wrong_token = world.kubeconfig(world.cluster)
    wrong_token["users"][0]["user"] = {"token": CANARY}
    bad_yaml = f"apiVersion: v1\nusers: [{{name: {CANARY}, user: {{token: {CANARY}}}"
    for name, content in (("token", wrong_token), ("unreadable", bad_yaml), ("text", CANARY), ("list", [CANARY])):
        world.secret(f"target-{name}", {"kubeconfig": content})
        world.target(f"target-{name}", secret=f"target-{name}", key="kubeconfig")
    values = {"readinessChecks": {"custom": [{"name": "c", "resourceSelector": [here], "requirements": [
        {"jsonPath": ".data.k", "operator": "!=", "values": [{"value": encoded}]}]}]}}
    cases = {
        "good": ([secret()], {"exports": {"exports": [{"key": "k", "jsonPath": ".data.k", "fromResource": here}]}}),
        "text-as-reference": ([secret()], {"exports": {"exports": [{"key": "k", "jsonPath": ".data.k", "fromResource": here,
            "fromObjectRef": {"apiVersion": "v1", "kind": "Secret", "jsonPath": "x"}}]}}),
        "filter-on-text": ([secret()], {"exports": {"exports": [{"key": "k", "jsonPath": ".data.k[?(@.a=='b')]", "fromResource": here}]}}),
        "comparison": ([secret()], values),
        "invalid": ([secret(data={"k": [CANARY]})], {}),
        "immutable": ([secret(type="example.com/other")], {}),
        "quoted": ([secret("quoted", data={"l": base64.b64encode(LONG_CANARY.encode()).decode()})], {}),
        "quoted-long": ([secret("quoted", stringData={"l": LONG_CANARY})], {}),
        **{f"target-{name}": ([world.config()], {"target": f"target-{name}"}) for name in ("token", "unreadable", "text", "list")},
    }
    with world.behind_proxies(quoting_webhook):
        controller = world.start(proxy=world.proxy)
        for name, (things, config) in cases.items():
            world.deploy(name, [managed(thing, annotateBeforeDelete={"x": "y"}) for thing in things], spec={"timeout": "3s"}, **config)
        world.deploy("late", [managed(secret("late"), patchAfterDeployment={"stringData": {"p": CANARY}, "type": "example.com/other"})],
                     spec={"timeout": "3s"})
        texts = [json.dumps(world.finished(name)) for name in [*cases, "late"]]
        # The webhook also sees what is written before a deletion. A patch for that is stored in the status, as the Go deployer does.
        world.create(secret("quoted", metadata={"name": "quoted", "namespace": world.space, "labels": {LABEL: "removed"}}))
        world.deploy("removed", job=None)
        world.kube.patch(DEPLOYITEMS, "removed", {"status": {"observedGeneration": 1, "providerStatus": {
            "apiVersion": V2, "kind": "ProviderStatus", "managedResources": [
                {"policy": "manage", "resource": {**here, "name": "quoted"}, "annotateBeforeDelete": {"x": "y"}}]}}}, world.namespace, "status")
        world.delete("removed")
        wait_until(lambda: "quoting.example.com" in (text := json.dumps(world.status("removed"))) and texts.append(text) is None,
                   "the refused write before the deletion")
        for name in [*cases, "late", "removed"]:
            texts.append(json.dumps(world.events(name)))
        texts.append(controller.output())
        assert sum("quoting.example.com" in text for text in texts) >= 3, "the server was not quoted at all"
        for text in texts:
            for canary in (CANARY, encoded, "c4n4ry", base64.b64encode(LONG_CANARY.encode()).decode()[:24]):
                assert canary not in text, text[max(0, text.index(canary) - 300):][:600]
        world.kube.patch(DEPLOYITEMS, "removed", {"metadata": {"finalizers": None}}, world.namespace)
        for name in cases:
            world.delete(name)


def test_a_hanging_target_delays_nobody_and_names_the_server(world):
    """F29, F11: 30 items with a target that accepts connections and then is silent; another item is done meanwhile."""
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


def reach_with_wrong_token(world):
    config = world.kubeconfig(world.cluster)
    config["users"][0]["user"] = {"token": "wrong"}
    world.secret("cluster", {"kubeconfig": config})


def test_credentials_that_are_replaced_while_a_job_waits_are_used(world):
    """F30: nothing is applied, so the server refuses a watch first: of a check, an export, an orphan, a deletion."""
    world.start()
    here = {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}
    world.create(world.config(data={"answer": "42"}))
    for name in ("orphan", "deletion"):
        world.deploy(name, [managed(world.config(name))])
        world.succeeded(name)
    reach_with_wrong_token(world)
    world.deploy("check", readinessChecks={"custom": [{"name": "c", "resourceSelector": [here], "requirements": [
        {"jsonPath": ".data.answer", "operator": "exists"}]}]})
    world.deploy("export", exports={"exports": [{**EXPORTED, "fromResource": here}]})
    world.update("orphan", job="job-2")
    world.delete("deletion")
    for name in ("check", "export", "orphan", "deletion"):
        wait_until(lambda: "does not accept the credentials" in world.status(name).get("lastError", {}).get("message", ""),
                   f"the error of {name}")
    world.reach(world.cluster)
    world.succeeded("check")
    world.succeeded("export")
    world.succeeded("orphan", "job-2")
    world.wait_until_deleted("deletion")
    assert world.names() == ["cm"]


@pytest.mark.parametrize("code", [401, 403])
def test_credentials_that_are_replaced_during_a_job_are_used(world, code):
    world.start()
    if code == 401:
        reach_with_wrong_token(world)
    else:
        world.reach(world.cluster, groups=(), user="nobody-special")
    world.deploy("item", [managed(world.config())])
    wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
    world.reach(world.cluster)
    world.succeeded("item")
    assert world.names() == ["cm"]
