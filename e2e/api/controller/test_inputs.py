# SPDX-License-Identifier: Apache-2.0
"""What a run is made from, and what is wrong with it."""

import json
import pathlib

import pytest

from bench import paths
from bench.kube import DEPLOYITEMS, TARGETS
from bench.waiting import wait_until
from controller_harness import GROUP, OURS, decode, encode, succeed


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


def test_a_target_with_a_program_in_its_kubeconfig_is_refused(world):
    world.target("evil", config={"kubeconfig": json.dumps({
        "apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"exec": {"command": "sh"}}}]})})
    world.start()
    world.item("item", target="evil")
    error = failed(world, "item", "ValidateTarget")
    assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"]


def test_a_target_secret_that_comes_late_is_waited_for_and_told(world):
    world.target("late", secret="missing", key="kubeconfig")
    world.start()
    world.item("item", target="late")
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert status["phase"] == "Init" and status["lastError"]["reason"] == "ResolveTarget"
    assert status["transitionTimes"]["initTime"] and status["lastReconcileTime"]
    world.secret("missing", {"kubeconfig": "clusters: []"})
    assert world.finished("item")["phase"] == "Succeeded"


def test_the_selector_decides_whose_item_it_is(world):
    world.target("mine", config={}, labels={"env": "a"})
    world.target("theirs", config={}, labels={"env": "b"})
    world.start(config={"targetSelector": [{"labels": [{"key": "env", "operator": "=", "values": ["a"]}]}]})
    world.item("theirs", target="theirs")
    world.item("mine", target="mine")
    world.item("no-target")
    assert world.finished("mine")["phase"] == "Succeeded"
    assert world.finished("no-target")["phase"] == "Succeeded"
    assert "phase" not in world.status("theirs")
    assert world.kubelet.ran("theirs") == []


def test_a_missing_context_is_told_and_waited_for(world):
    world.start()
    world.item("item", context="later")
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert (status["lastError"]["operation"], status["lastError"]["reason"]) == ("reconcile", "GetLandscaperContext")
    assert status["phase"] == "Init"
    world.context("later")
    assert world.finished("item")["phase"] == "Succeeded"
    world.quiet()
    assert len(world.events("item")) == 1


def test_a_missing_context_ends_with_the_items_time(world):
    world.start()
    world.item("item", context="never", timeout="3s")
    error = failed(world, "item", "ProgressingTimeout")
    assert error["codes"] == ["ERR_TIMEOUT"] and "never" in error["message"]


def test_a_missing_pull_secret_is_told_by_name(world):
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


def test_a_missing_pull_secret_of_the_item_itself_is_told_by_name(world):
    world.start()
    world.item("item", config={"registryPullSecrets": [{"name": "absent", "namespace": "elsewhere"}]})
    status = wait_until(lambda: (s := world.status("item")).get("lastError") and s, "the error in the status")
    assert status["lastError"]["reason"] == "ParseAndSyncSecrets" and "elsewhere/absent" in status["lastError"]["message"]
    assert status["phase"] == "Init" and world.kubelet.ran("item") == []


def test_a_missing_configuration_fails_the_job(world):
    world.start()
    world.item("item", config=None)
    assert failed(world, "item", "ProviderConfigurationMissing")["codes"] == ["ERR_CONFIGURATION_PROBLEM"]


def test_an_empty_pull_secret_reference_fails_as_the_go_deployer_says(world):
    world.start()
    world.item("item", config={"registryPullSecrets": [{}]})
    error = failed(world, "item", "ValidateProviderConfiguration")
    assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"] and error["operation"] == "InitContainerOperation"
    assert "registryPullSecrets[0].name: Required value: name must not be empty" in error["message"]


def test_one_bad_entry_of_the_operators_registry_files_is_told_and_spoils_nothing(world):
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
    told = [json.loads(line) for line in controller.output().splitlines() if "registry credential can't be used" in line]
    assert {(pathlib.Path(line["file"]).name, line["entry"]) for line in told} == {
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


def test_poisoned_items_fail_alone_and_visibly(world):
    world.start()
    for name, config in POISON.items():
        world.item(name, config=config)
    world.item("bad-timeout", timeout="soon")
    world.item("huge", config={"importValues": {"blob": "x" * 1024 * 1024}})  # more than a Secret holds
    world.item("good")
    assert world.finished("good")["phase"] == "Succeeded"
    for name in [*POISON, "bad-timeout", "huge"]:
        status = world.finished(name)
        assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (name, status)
        assert world.kubelet.ran(name) == []


def test_items_that_cannot_be_read_at_all_fail_visibly(world):
    nested = {"a": 1}
    for _ in range(300):
        nested = {"n": nested}
    world.start()
    mark = {"landscaper.gardener.cloud/deployer-type": "landscaper.gardener.cloud/container",
            "landscaper.gardener.cloud/deployer-target-name": ".noTargetName"}
    world.item("deep", config={"importValues": nested}, annotations=mark)
    world.item("nul", config={"importValues": {"text": "a\u0000b"}}, annotations=mark)
    # Without the annotations of Landscaper the type that can be read says whose they are.
    world.item("bare-deep", config={"importValues": nested})
    world.item("bare-nul", config={"importValues": {"text": "a\u0000b"}})
    world.item("good")
    assert world.finished("good")["phase"] == "Succeeded"
    for name in ("deep", "nul", "bare-deep", "bare-nul"):
        status = world.finished(name)
        assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (name, status)
        assert world.kubelet.ran(name) == []


def test_names_of_two_items_never_collide(world):
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
        # The same name in two namespaces, and two whose names run together to the same text.
        world.item("same")
        world.item("same", namespace=other)
        world.item("b-c")
        world.item("c", namespace=other)
        for name, namespace in (("same", None), ("same", other), ("b-c", None), ("c", other)):
            assert world.finished(name, namespace=namespace)["phase"] == "Succeeded"
            secret = kube.get("secrets", f"{name}-export", namespace or world.namespace)
            assert json.loads(decode(secret["data"]["config"])) == {"item": f"{namespace or world.namespace}/{name}"}
        world.quiet()
        world.delete("same")
        world.gone("same")
        left = world.host_objects()
        assert any("serviceaccounts/same" in thing for thing in left), left
        world.trigger("same", "job-2", other)
        assert world.finished("same", "job-2", other)["phase"] == "Succeeded"
    finally:
        for item in kube.items(DEPLOYITEMS, other):
            kube.patch(DEPLOYITEMS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, other)
            kube.delete(DEPLOYITEMS, item["metadata"]["name"], other)
        kube.delete("namespaces", other)


@pytest.mark.parametrize("name", ["n" * 253, "a.b.c-" + "x" * 100 + ".d", "1" * 64])
def test_long_and_label_breaking_names_work_and_go_again(world, name):
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
    world.quiet()
    world.kubelet.behaviour = succeed
    world.delete(name)
    world.gone(name)
    wait_until(lambda: not world.host_objects(), "everything gone from the host", 30)
