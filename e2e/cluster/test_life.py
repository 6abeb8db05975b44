# SPDX-License-Identifier: Apache-2.0
"""The documented behaviour of a run, in a real cluster."""

import json
import subprocess

import yaml

from api.controller.harness import PROGRAM, WITHOUT_UNINSTALL, decode
from bench.kube import DEPLOYITEMS
from bench.process import Process
from bench.waiting import wait_until

COUNT = ('n=$(cat $STATE_PATH/count 2>/dev/null || echo 0); n=$((n+1)); echo $n > $STATE_PATH/count; '
         'echo "{\\"count\\": $n}" > $EXPORTS_PATH')


def test_documented_example(cluster):
    """An image with imports and an export."""
    cluster.shell("example", 'cp $IMPORTS_PATH $EXPORTS_PATH', importValues={"my-val": True})
    status = cluster.succeeded("example")
    assert json.loads(cluster.exports("example")) == {"my-val": True}
    assert status["exportRef"] == {"name": "example-export", "namespace": cluster.namespace}
    assert status["deployer"]["name"] == "container.deployer.landscaper.gardener.cloud"
    assert {c["type"]: c["status"] for c in status["conditions"]} == {"InitContainer": "True", "WaitContainer": "True"}
    assert status["providerStatus"]["podStatus"]["lastSuccessfulJobID"] == "job-1"


def test_main_has_the_documented_user_and_environment(cluster):
    cluster.shell("who", '{ echo "id: \\"$(id -u):$(id -g):$(id -G)\\""; echo "operation: $OPERATION"; '
                         'echo "files: \\"$(stat -c %u:%g:%a $IMPORTS_PATH $STATE_PATH | tr "\\n" " ")\\""; '
                         'echo "token: $(ls /var/run/secrets/kubernetes.io 2>/dev/null | wc -l)"; } > $EXPORTS_PATH',
                  importValues={})
    cluster.succeeded("who")
    seen = yaml.safe_load(cluster.exports("who"))
    assert seen["id"].startswith("1000:3000:") and "2000" in seen["id"]
    assert seen["operation"] == "RECONCILE"
    assert all(owner.startswith("1000:2000") for owner in seen["files"].split())
    assert seen["token"] == 0, "main has credentials"


def test_target_with_config_and_with_secret(cluster):
    cluster.target("plain", config={"foo": "bar"})
    cluster.secret("s", {"kubeconfig": '{"foo": "bar"}'})
    cluster.target("by-key", secret="s", key="kubeconfig")
    for target in ("plain", "by-key"):
        cluster.shell(f"item-{target}", "cp $TARGET_PATH $EXPORTS_PATH", target=target)
    for target in ("plain", "by-key"):
        cluster.succeeded(f"item-{target}")
        resolved = json.loads(cluster.exports(f"item-{target}"))
        assert resolved["target"]["metadata"]["name"] == target
        assert resolved["target"]["kind"] == "Target"
        assert json.loads(resolved["content"]) == {"foo": "bar"}


def test_logs_follow_a_run_from_before_its_start_to_its_end(cluster):
    item = f"{cluster.namespace}/talker"
    cluster.shell("talker", "for i in 1 2 3; do echo line $i; sleep 1; done", job=None)
    with Process("logs", [PROGRAM, "logs", item, "--follow", "--kubeconfig", cluster.node.kubeconfig]) as logs:
        cluster.trigger("talker", "job-1")
        wait_until(lambda: not logs.running, "the end of the log", timeout=120)
        assert logs.exit_code == 0 and [line for line in logs.output().splitlines() if line.startswith("line")] == ["line 1", "line 2", "line 3"]
    cluster.succeeded("talker")
    shown = subprocess.run([PROGRAM, "status", item, "-o", "json", "--kubeconfig", cluster.node.kubeconfig], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    states = {step["step"]: step["state"] for step in json.loads(shown.stdout)["timeline"]}
    assert states == {**dict.fromkeys(["triggered", "picked up", "scheduled", "init", "main", "wait"], "done"), "exported": "skipped"}


def test_state_over_three_runs_then_delete(cluster):
    cluster.shell("counter", COUNT)
    for number in (1, 2, 3):
        if number > 1:
            cluster.trigger("counter", f"job-{number}")
        cluster.succeeded("counter", f"job-{number}")
        assert json.loads(cluster.exports("counter")) == {"count": number}
    assert [o for o in cluster.item_objects("counter") if "/state" in o], "there is no state on the host"
    cluster.delete("counter")
    cluster.deleted("counter")
    assert cluster.kube.find("secrets", "counter-export", cluster.namespace) is None


def test_delete_runs_main_with_the_last_state(cluster):
    cluster.shell("cleaner", 'if [ "$OPERATION" = DELETE ]; then [ "$(cat $STATE_PATH/mark)" = here ] || exit 5; '
                             'else echo here > $STATE_PATH/mark; fi')
    cluster.succeeded("cleaner")
    cluster.delete("cleaner")
    cluster.deleted("cleaner")


def test_failed_delete_keeps_the_item_and_reports_the_reason(cluster):
    cluster.shell("stubborn", '[ "$OPERATION" = RECONCILE ] || { echo will not go >&2; exit 4; }')
    cluster.succeeded("stubborn")
    cluster.delete("stubborn", "job-2")
    status = cluster.failed("stubborn", "job-2", phase="DeleteFailed")
    assert "4" in status["lastError"]["message"] and "will not go" in status["lastError"]["message"]
    cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "stubborn", {"metadata": {"annotations": {
        "container.deployer.landscaper.gardener.cloud/force-cleanup": "true"}}}, cluster.namespace)
    cluster.trigger("stubborn", "job-3")
    cluster.deleted("stubborn")


def test_a_job_without_an_export_removes_the_export_of_an_earlier_job(cluster):
    cluster.shell("once", '[ -e $STATE_PATH/done ] || echo "a: 1" > $EXPORTS_PATH; touch $STATE_PATH/done')
    cluster.succeeded("once")
    assert yaml.safe_load(cluster.exports("once")) == {"a": 1}
    cluster.trigger("once", "job-2")
    cluster.succeeded("once", "job-2")
    wait_until(lambda: not [o for o in cluster.item_objects("once") if "/state" not in o and o.startswith(("secrets/", "pods/"))],
               "nothing of a run but its state is on the host")


def test_private_registry_component_blueprint_and_image(cluster):
    """Descriptor, blueprint and image are behind basic authentication, with the pull Secret of the Context as credentials."""
    import importlib.util

    from local.conftest import ROOT

    registry = cluster.node.start_registry("basic")
    spec = importlib.util.spec_from_file_location("push", ROOT / "e2e/examples/component/push.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.push(registry.client())
    user, password = registry.credentials
    cluster.secret("pull", {".dockerconfigjson": {"auths": {registry.host: {"username": user, "password": password}}}},
                   type="kubernetes.io/dockerconfigjson")
    cluster.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ocm"}, "data": {
        ".ocmconfig": "type: generic.config.ocm.software/v1\nconfigurations: []\n"}}, cluster.namespace)
    cluster.context(registryPullSecrets=[{"name": "pull"}], ocmConfig={"name": "ocm"})
    item = yaml.safe_load((ROOT / "e2e/examples/component/item.yaml").read_text().replace("REGISTRY", registry.host))
    cluster.item("component", config={**item["spec"]["config"], "importValues": {}})
    cluster.succeeded("component")
    assert yaml.safe_load(cluster.exports("component")) == {"files": 2, "version": "1.2.0"}


def test_two_namespaces_with_the_same_item_name(cluster):
    other = f"{cluster.namespace}-2"
    cluster.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    cluster.context(namespace=other)
    cluster.shell("twin", "sleep 1; echo 'where: first' > $EXPORTS_PATH")
    cluster.shell("twin", "sleep 1; echo 'where: second' > $EXPORTS_PATH", namespace=other)
    cluster.succeeded("twin")
    cluster.succeeded("twin", namespace=other)
    assert yaml.safe_load(cluster.exports("twin")) == {"where": "first"}
    assert yaml.safe_load(cluster.exports("twin", other)) == {"where": "second"}
    cluster.delete("twin")
    cluster.wait_until_deleted("twin", timeout=120)
    cluster.trigger("twin", "job-2", other)
    cluster.succeeded("twin", "job-2", other)
    cluster.delete("twin", namespace=other)
    cluster.wait_until_deleted("twin", other, 120)


def test_item_names_of_253_characters(cluster):
    name = ("n" * 62 + ".") * 4
    name = name[:252] + "x"
    cluster.shell(name, COUNT)
    cluster.succeeded(name)
    cluster.trigger(name, "job-2")
    cluster.succeeded(name, "job-2")
    export, = [s for s in cluster.kube.items("secrets", cluster.namespace) if s["metadata"]["name"].endswith("-export")] or [None]
    assert export and json.loads(decode(export["data"]["config"])) == {"count": 2}
    cluster.delete(name)
    cluster.wait_until_deleted(name, timeout=120)


def test_fifty_items_at_once(cluster):
    names = [f"many-{number:02}" for number in range(50)]
    for name in names:
        cluster.shell(name, f"echo 'name: {name}' > $EXPORTS_PATH")
    for name in names:
        cluster.succeeded(name, timeout=600)
        assert yaml.safe_load(cluster.exports(name)) == {"name": name}
    for name in names:  # without fifty more pods
        cluster.kube.patch(DEPLOYITEMS, name, {"metadata": {"annotations": {WITHOUT_UNINSTALL: "true"}}}, cluster.namespace)
        cluster.delete(name)
    for name in names:
        cluster.wait_until_deleted(name, timeout=600)
    wait_until(lambda: not any(cluster.item_objects(name) for name in names), "deletion of all their objects", 120)


def test_script_item(cluster):
    """A script item, which has no image."""
    cluster.item("script", item_type="landscaper.gardener.cloud/script", config={
        "apiVersion": "script.deployer.landscaper.gardener.cloud/v1alpha1", "image": None} | {
        "image": "longshore.test/busybox:1", "script": "#!/bin/sh\n. \"$(dirname $0)/lib.sh\"\necho \"answer: $ANSWER\" > $EXPORTS_PATH\n",
        "files": {"lib.sh": "ANSWER=42\n"}})
    cluster.succeeded("script")
    assert yaml.safe_load(cluster.exports("script")) == {"answer": 42}
