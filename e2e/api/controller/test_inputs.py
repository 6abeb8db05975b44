# SPDX-License-Identifier: Apache-2.0
"""The inputs of a run, and the errors that invalid or missing inputs cause."""

import hashlib
import json
import pathlib

import pytest

from bench import paths
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import (
    FORCE_CLEANUP, HOST_KINDS, OURS, WITHOUT_UNINSTALL, decode, encode, succeed, with_export_and_state)
from faults.proxy import PASS, Action, status as refusal


def failed(world, name, reason):
    status = world.finished(name)
    assert status["phase"] == "Failed" and status["lastError"]["reason"] == reason, status
    return status["lastError"]


def test_a_missing_target_fails_the_job(world):
    world.start()
    world.item("item", target="nowhere")
    error = failed(world, "item", "NoTargetFound")
    assert error["operation"] == "reconcilePrivate" and "nowhere" in error["message"]


def test_the_target_reaches_the_pod_as_a_document(world):
    world.target("inline", config={"foo": "bar"})
    world.start()
    seen = {}

    def look(pod):
        for secret in world.kube.items("secrets", world.host):
            for key, value in secret.get("data", {}).items():
                if key == "target.json":
                    seen.update(json.loads(decode(value)))
        succeed(pod)

    world.kubelet.behaviour = look
    world.item("item", target="inline")
    world.finished("item")
    assert seen["target"]["metadata"]["name"] == "inline" and json.loads(seen["content"]) == {"foo": "bar"}


def test_a_target_with_an_exec_plugin_in_its_kubeconfig_is_rejected(world):
    world.target("evil", config={"kubeconfig": json.dumps({
        "apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"exec": {"command": "sh"}}}]})})
    world.start()
    world.item("item", target="evil")
    error = failed(world, "item", "ValidateTarget")
    assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"]


def test_a_missing_target_secret_is_reported_and_waited_for(world):
    world.target("late", secret="missing", key="kubeconfig")
    world.start()
    world.item("item", target="late")
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert status["phase"] == "Init" and status["lastError"]["reason"] == "ResolveTarget"
    assert status["transitionTimes"]["initTime"] and status["lastReconcileTime"]
    world.secret("missing", {"kubeconfig": "clusters: []"})
    assert world.finished("item")["phase"] == "Succeeded"


def target_seen(world):
    """Makes pods succeed; returns the list of target contents that they find."""
    seen = []

    def look(pod):
        [secret] = [s for s in world.kube.items("secrets", world.host) if "target.json" in s.get("data", {})]
        seen.append(json.loads(decode(secret["data"]["target.json"]))["content"])
        succeed(pod)

    world.kubelet.behaviour = look
    return seen


def test_a_retry_of_a_job_uses_the_current_target(world):
    refused = [True]

    def plan(request):
        if refused[0] and request.method == "POST" and request.path.endswith("/pods"):
            return Action(forward=False, answer=refusal(403, "Forbidden", "exceeded quota"))
        return PASS

    seen = target_seen(world)
    world.secret("kubeconfig", {"kubeconfig": "clusters: []"})
    world.target("cluster", secret="kubeconfig")
    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("item", target="cluster")
        wait_until(lambda: world.status("item").get("lastError", {}).get("reason") == "CreatePod", "the rejection of the pod")
        world.secret("kubeconfig", {"kubeconfig": "clusters: []\nusers: []"})
        refused[0] = False
        assert world.finished("item")["phase"] == "Succeeded"
        world.wait_for_cleanup()
    assert len(seen) == 1 and "users" in seen[0]


def test_a_target_that_changes_while_no_controller_runs_is_used_as_it_is_then(world):
    """The controller dies after it wrote the inputs and before it creates the pod."""
    def plan(request):
        if request.method == "PATCH" and "-in-" in request.path:
            return Action(lose=True, applied=first.kill)
        return PASS

    seen = target_seen(world)
    world.secret("kubeconfig", {"kubeconfig": "clusters: []"})
    world.target("cluster", secret="kubeconfig")
    with world.behind_proxy(plan) as proxy:
        first = world.start(proxy=proxy)
        first.expected = False
        world.item("item", target="cluster")
        wait_until(lambda: not first.running, "the end of the first instance")
        world.secret("kubeconfig", {"kubeconfig": "clusters: []\nusers: []"})
        world.start()
        assert world.finished("item")["phase"] == "Succeeded"
        world.wait_for_cleanup()
    assert len(seen) == 1 and "users" in seen[0]


ENV_A = {"labels": [{"key": "env", "operator": "=", "values": ["a"]}]}


@pytest.mark.parametrize("selector", [[ENV_A], ENV_A], ids=["list", "lone-map"])
def test_the_selector_decides_which_items_the_deployer_processes(world, selector):
    world.target("mine", config={}, labels={"env": "a"})
    world.target("theirs", config={}, labels={"env": "b"})
    # Operations that need no target are not for this deployer either.
    world.item("overdue", target="theirs")
    begun = {"phase": "Progressing", "observedGeneration": 1, "transitionTimes": {"initTime": "2020-01-01T00:00:00Z"}}
    world.kube.patch(DEPLOYITEMS, "overdue", {"status": begun}, world.namespace, "status")
    world.item("deleted", target="theirs", annotations={WITHOUT_UNINSTALL: "true"})
    world.delete("deleted")
    before = {name: world.kube.get(DEPLOYITEMS, name, world.namespace) for name in ("overdue", "deleted")}
    world.start(config={"targetSelector": selector})
    world.item("theirs", target="theirs")
    world.item("mine", target="mine")
    world.item("no-target")
    assert world.finished("mine")["phase"] == "Succeeded"
    assert world.finished("no-target")["phase"] == "Succeeded"
    assert "phase" not in world.status("theirs")
    assert world.kubelet.ran("theirs") == []
    assert before == {name: world.kube.get(DEPLOYITEMS, name, world.namespace) for name in before}


def test_a_missing_context_is_reported_and_waited_for(world):
    world.start()
    world.item("item", context="later")
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert (status["lastError"]["operation"], status["lastError"]["reason"]) == ("reconcile", "GetLandscaperContext")
    assert status["phase"] == "Init"
    world.context("later")
    assert world.finished("item")["phase"] == "Succeeded"
    world.wait_for_cleanup()
    assert len(world.events("item")) == 1


def test_a_missing_context_ends_with_the_timeout_of_the_item(world):
    world.start()
    world.item("item", context="never", timeout="3s")
    error = failed(world, "item", "ProgressingTimeout")
    assert error["codes"] == ["ERR_TIMEOUT"] and "never" in error["message"]


def test_a_missing_pull_secret_is_reported_with_its_name(world):
    world.context(registryPullSecrets=[{"name": "absent"}])
    world.start()
    world.item("item")
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert status["lastError"]["reason"] == "ParseAndSyncSecrets" and "absent" in status["lastError"]["message"]
    world.secret("absent", {".dockerconfigjson": {"auths": {"example.com": {"username": "u", "password": "p"}}}},
                 type="kubernetes.io/dockerconfigjson")
    seen = {}

    def look(pod):
        seen["pull"] = pod.object["spec"].get("imagePullSecrets")
        succeed(pod)

    world.kubelet.behaviour = look
    assert world.finished("item")["phase"] == "Succeeded"
    assert seen["pull"]


def test_a_missing_pull_secret_of_the_item_is_reported_with_its_name(world):
    world.start()
    world.item("item", config={"registryPullSecrets": [{"name": "absent", "namespace": "elsewhere"}]})
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert status["lastError"]["reason"] == "ParseAndSyncSecrets" and "elsewhere/absent" in status["lastError"]["message"]
    assert status["phase"] == "Init" and world.kubelet.ran("item") == []


def test_a_missing_configuration_fails_the_job(world):
    world.start()
    world.item("item", config=None)
    assert failed(world, "item", "ProviderConfigurationMissing")["codes"] == ["ERR_CONFIGURATION_PROBLEM"]


@pytest.mark.parametrize("given, expected", [
    ({"config": {"resources": {"requests": {"nvidia.com/gpu": "1"}}}}, 'requests."nvidia.com/gpu": Invalid value: requires an equal limit'),
    ({"target": "A B"}, 'spec.target.name: Invalid value: "A B"'),
    ({"context": "A B"}, 'spec.context: Invalid value: "A B"'),
], ids=["resources", "target", "context"])
def test_configuration_that_the_api_server_would_reject_fails_with_the_message_of_validate(world, given, expected):
    world.start()
    world.item("item", **given)
    error = world.finished("item")["lastError"]
    assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"] and expected in error["message"], error


def test_an_empty_pull_secret_reference_fails_with_the_message_of_the_go_deployer(world):
    world.start()
    world.item("item", config={"registryPullSecrets": [{}]})
    error = failed(world, "item", "ValidateProviderConfiguration")
    assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"] and error["operation"] == "InitContainerOperation"
    assert "registryPullSecrets[0].name: Required value: name must not be empty" in error["message"]


def test_an_invalid_entry_in_the_registry_files_is_reported_and_the_others_are_used(world):
    directory = paths.fresh_directory("registries")
    (directory / "mixed.json").write_text(json.dumps({
        "auths": {"bad.example.com": {"auth": encode(":token")}, "example.com": {"auth": encode("user:canary-4711")}},
        "credHelpers": {"gcr.io": "gcloud"}}))
    (directory / "empty.json").write_text("")
    controller = world.start(config={"oci": {"configFiles": [f"{directory}/mixed.json", f"{directory}/empty.json",
                                                             f"{directory}/absent.json"]}})
    seen = []

    def look(pod):
        for reference in pod.object["spec"].get("imagePullSecrets", []):
            secret = world.kube.get("secrets", reference["name"], world.host)
            seen.extend(json.loads(decode(secret["data"][".dockerconfigjson"]))["auths"])
        succeed(pod)

    world.kubelet.behaviour = look
    world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    assert seen == ["example.com"]
    logged = [json.loads(line) for line in controller.output().splitlines() if "registry credential is unusable" in line]
    assert {(pathlib.Path(line["file"]).name, line["entry"]) for line in logged} == {
        ("mixed.json", "bad.example.com"), ("mixed.json", "gcr.io"), ("empty.json", ""), ("absent.json", "")}
    assert "canary" not in controller.output()


POISON = {
    "image-number": {"image": 5},
    "command-text": {"command": "sh"},
    "args-object": {"args": {"a": 1}},
    "command-numbers": {"command": [1, 2]},
    "blueprint-list": {"blueprint": []},
    "descriptor-text": {"componentDescriptor": "x"},
    "secrets-object": {"registryPullSecrets": {"a": "b"}},
    "cron-both": {"continuousReconcile": {"cron": "* * * * *", "every": "1h"}},
    "resources-text": {"resources": "much"},
    "env-value-from": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}]},
    "image-upper": {"image": "EXAMPLE.com/UPPER Case"},
    "other-kind": {"kind": "Other"},
}


def test_invalid_items_fail_with_an_error_and_do_not_affect_others(world):
    world.start()
    for name, config in POISON.items():
        world.item(name, config=config)
    world.item("bad-timeout", timeout="soon")
    world.item("huge", config={"importValues": {"blob": "x" * 1024 * 1024}})  # larger than a Secret can be
    world.item("good")
    assert world.finished("good")["phase"] == "Succeeded"
    for name in [*POISON, "bad-timeout", "huge"]:
        status = world.finished(name)
        assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (name, status)
        assert world.kubelet.ran(name) == []


def test_items_that_cannot_be_read_fail_with_an_error(world):
    nested = {"a": 1}
    for _ in range(300):
        nested = {"n": nested}
    world.start()
    mark = {"landscaper.gardener.cloud/deployer-type": "landscaper.gardener.cloud/container",
            "landscaper.gardener.cloud/deployer-target-name": ".noTargetName"}
    world.item("deep", config={"importValues": nested}, annotations=mark)
    world.item("nul", config={"importValues": {"text": "a\u0000b"}}, annotations=mark)
    # Without the annotations of Landscaper, the type, which can be read, shows that the items are ours.
    world.item("bare-deep", config={"importValues": nested})
    world.item("bare-nul", config={"importValues": {"text": "a\u0000b"}})
    world.item("good")
    assert world.finished("good")["phase"] == "Succeeded"
    for name in ("deep", "nul", "bare-deep", "bare-nul"):
        status = world.finished(name)
        assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (name, status)
        assert world.kubelet.ran(name) == []


UNREADABLE = {"importValues": {"text": "a\u0000b"}}


def test_unreadable_items_with_targets_of_another_deployer_are_not_processed(world):
    """The Go deployer can read them."""
    world.target("mine", config={}, labels={"env": "a"})
    world.target("theirs", config={}, labels={"env": "b"})
    world.start(config={"targetSelector": [ENV_A]})
    world.item("theirs", target="theirs", config=UNREADABLE)
    world.item("mine", target="mine", config=UNREADABLE)
    world.item("no-target", config=UNREADABLE)
    for name in ("mine", "no-target"):
        assert world.finished(name)["phase"] == "Failed"
    world.item("marker")
    world.finished("marker")
    assert "phase" not in world.status("theirs")


def test_a_finished_item_that_becomes_unreadable_fails_only_with_its_next_job(world):
    world.start()
    world.item("item")
    before = world.finished("item")
    world.wait_for_cleanup()
    world.kube.patch(DEPLOYITEMS, "item", {"spec": {"config": UNREADABLE}}, world.namespace)
    world.item("marker")
    world.finished("marker")
    assert world.status("item") == before
    world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Failed"
    # An item that becomes readable again runs again.
    world.kube.patch(DEPLOYITEMS, "item", {"spec": {"config": {"importValues": None}}}, world.namespace)
    world.trigger("item", "job-3")
    assert world.finished("item", "job-3")["phase"] == "Succeeded"


@pytest.mark.parametrize("annotation", [FORCE_CLEANUP, WITHOUT_UNINSTALL])
def test_an_unreadable_item_with_an_annotation_that_skips_the_delete_run_is_deleted(world, annotation):
    world.kubelet.behaviour = with_export_and_state
    world.start()
    world.item("item")
    world.finished("item")
    world.kubelet.behaviour = succeed
    world.kube.patch(DEPLOYITEMS, "item", {"spec": {"config": UNREADABLE}}, world.namespace)
    runs = len(world.kubelet.ran("item"))
    world.delete("item")
    error = world.finished("item", "job-delete")
    assert error["phase"] == "DeleteFailed" and "can't be read" in error["lastError"]["message"]
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {annotation: "true"}}}, world.namespace)
    world.trigger("item", "job-again")
    world.wait_until_deleted("item")
    wait_until(lambda: not world.host_objects(), "deletion of all of its objects")
    assert len(world.kubelet.ran("item")) == runs


def test_a_rejected_write_to_an_unreadable_item_is_retried(world):
    refused = []

    def plan(request):
        if request.method == "PATCH" and request.path.endswith("/status") and "/item/" in request.path and len(refused) < 8:
            refused.append(request.path)
            return Action(forward=False, answer=refusal(503, "ServiceUnavailable", "busy"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("item", config=UNREADABLE)
        assert world.finished("item", timeout=90)["phase"] == "Failed"
    assert len(refused) == 8


def test_object_names_of_two_items_never_collide(world):
    kube = world.kube
    other = f"{world.namespace}-b"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    world.context(namespace=other)
    try:
        def export(pod):
            pod.run()
            pod.save_state(pod.name.encode())
            pod.export({"item": "/".join(pod.item())})
            pod.succeed()

        world.kubelet.behaviour = export
        world.start()
        # The same name in two namespaces, and two items for which namespace and name together give the same text.
        world.item("same")
        world.item("same", namespace=other)
        world.item("b-c")
        world.item("c", namespace=other)
        for name, namespace in (("same", None), ("same", other), ("b-c", None), ("c", other)):
            assert world.finished(name, namespace=namespace)["phase"] == "Succeeded"
            secret = kube.get("secrets", f"{name}-export", namespace or world.namespace)
            assert json.loads(decode(secret["data"]["config"])) == {"item": f"{namespace or world.namespace}/{name}"}
        world.wait_for_cleanup()
        world.delete("same")
        world.wait_until_deleted("same")
        left = world.host_objects()
        assert any("serviceaccounts/same" in thing for thing in left), left
        world.trigger("same", "job-2", other)
        assert world.finished("same", "job-2", other)["phase"] == "Succeeded"
    finally:
        for item in kube.items(DEPLOYITEMS, other):
            kube.patch(DEPLOYITEMS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, other)
            kube.delete(DEPLOYITEMS, item["metadata"]["name"], other)
        kube.delete("namespaces", other)


def test_an_item_whose_name_is_the_label_of_a_long_name_is_a_different_item(world):
    world.kubelet.behaviour = with_export_and_state
    world.start()
    long = "1" * 64
    twin = "1" * 46 + "-" + hashlib.sha256(long.encode()).hexdigest()[:16]
    for name in (long, twin):
        world.item(name)
        world.finished(name)
    world.wait_for_cleanup()
    before = of_item(world, long)
    assert before and of_item(world, twin)
    world.kubelet.behaviour = succeed
    world.delete(twin)
    world.wait_until_deleted(twin)
    wait_until(lambda: not of_item(world, twin), "deletion of the objects of the twin")
    assert of_item(world, long) == before


def of_item(world, name):
    mark = hashlib.sha256(f"{world.namespace}/{name}".encode()).hexdigest()[:16]
    return sorted(o["metadata"]["uid"] for kind in HOST_KINDS for o in world.kube.items(kind, world.host)
                  if o["metadata"].get("labels", {}).get(f"{OURS}/item") == mark)


@pytest.mark.parametrize("name", ["n" * 253, "a.b.c-" + "x" * 100 + ".d", "1" * 64])
def test_names_that_are_too_long_for_labels_work_and_can_be_deleted(world, name):
    def both(pod):
        pod.run()
        pod.save_state()
        pod.export({"ok": True})
        pod.succeed()

    world.kubelet.behaviour = both
    world.start()
    world.item(name)
    status = world.finished(name)
    assert status["phase"] == "Succeeded", status
    assert world.kube.get("secrets", status["exportRef"]["name"], world.namespace)
    world.wait_for_cleanup()
    world.kubelet.behaviour = succeed
    world.delete(name)
    world.wait_until_deleted(name)
    wait_until(lambda: not world.host_objects(), "deletion of everything on the host", 30)
