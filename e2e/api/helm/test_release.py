# SPDX-License-Identifier: Apache-2.0
"""Helm items with helmDeployment: true: helm manages a release in the target cluster."""

import base64
import json

import yaml

from api.helm.harness import VERSION, chart_archive, decode, raw
from api.helm.templates import CONFIG, DEPLOYMENT, HOOK, REPEATED, SCHEMA, STUCK, TEST
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until

CHART = chart_archive({"values.yaml": {"color": "red", "more": {"default": "kept"}}, "values.schema.json": SCHEMA,
                       "templates/deployment.yaml": DEPLOYMENT, "templates/config.yaml": CONFIG, "templates/hook.yaml": HOOK,
                       "templates/tests/check.yaml": TEST})
SIMPLE = chart_archive({"templates/config.yaml": CONFIG, "templates/stuck.yaml": STUCK})
REPEATING = chart_archive({"templates/deployment.yaml": DEPLOYMENT, "templates/repeated.yaml": REPEATED})


def make_ready(world, name="app"):
    """What the controllers and the kubelet of the target do."""
    deployment = wait_until(lambda: world.found(name, "apps/v1/deployments"), "the Deployment exists")
    generation = deployment["metadata"]["generation"]
    world.kube.patch("apps/v1/deployments", name, {"status": {
        "observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [{"type": "Available", "status": "True", "reason": "r", "message": "m"},
                       {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "m"}]}}, world.space, "status")


def test_a_release_is_installed_upgraded_and_uninstalled(world):
    exports = {"exports": [{"key": "color", "jsonPath": ".Values.color"}, {"key": "kept", "jsonPath": ".Values.more.default"},
                           {"key": "replicas", "jsonPath": ".status.readyReplicas", "fromResource": {
                               "apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "namespace": world.space}}]}
    pods = []
    world.kubelet.hold = pods.append
    world.start()
    world.deploy("item", raw(CHART), is_release=True, values={"color": "blue"}, exports=exports)

    # The job waits until what helm installed is ready.
    wait_until(lambda: any(c["type"] == "Ready" and "app" in c.get("message", "") for c in world.status("item").get("conditions", [])),
               "the job waits for the Deployment")
    make_ready(world)
    world.succeeded("item")
    assert world.recorded("item") == ["Deployment/app"]
    assert world.exported("item") == {"color": "blue", "kept": "kept", "replicas": 1}
    assert world.names() == ["config", "hook"] and world.releases() == {1: "deployed"}  # tests are not run

    # Only main has the kubeconfig of the target, as a file.
    [pod] = pods
    token = json.loads(json.dumps(pod.object))
    assert "certificate-authority-data" not in str(token)
    volumes = {c["name"]: {m["name"] for m in c["volumeMounts"]} for c in pod.object["spec"]["containers"] + pod.object["spec"]["initContainers"]}
    assert "script" in volumes["main"] and "script" not in volumes["wait"] | volumes["init"]
    [script] = [v for v in pod.object["spec"]["volumes"] if v["name"] == "script"]
    assert {i["path"] for i in script["secret"]["items"]} == {"values.json", "kubeconfig"} and script["secret"]["defaultMode"] == 0o440

    # Values that the schema refuses, and the option that skips it.
    world.update("item", raw(CHART), job="job-2", is_release=True, values={"color": 5})
    assert "schema" in world.failed("item", "job-2")["lastError"]["message"]
    world.update("item", raw(CHART), job="job-3", is_release=True, values={"color": 5},
                 helmDeploymentConfig={"upgrade": {"skipSchemaValidation": True}})
    make_ready(world)
    world.succeeded("item", "job-3")
    assert world.found("config")["data"] == {"color": "5"}

    world.delete("item")
    world.wait_until_deleted("item")
    assert world.releases() == {} and world.names() == ["hook"]  # helm does not remove hooks
    assert world.kubelet.ran("item")[-1][2] == "DELETE"
    wait_until(lambda: world.host_objects() == [], "nothing is left on the host")


def claims_of_main(pod):
    """Of the token in the kubeconfig that only main gets."""
    [script] = [v["secret"] for v in pod.object["spec"]["volumes"] if v["name"] == "script"]
    [key] = [i["key"] for i in script["items"] if i["path"] == "kubeconfig"]
    kubeconfig = yaml.safe_load(decode(pod.kube.get("secrets", script["secretName"], pod.namespace)["data"][key]))
    return json.loads(base64.urlsafe_b64decode(kubeconfig["users"][0]["user"]["token"].split(".")[1] + "=="))


def test_helm_gets_a_token_of_its_own_that_lives_as_long_as_the_job(world):
    """The controller's own tokens live for a day, and are kept for half of it."""
    claims = []
    world.kubelet.hold = lambda pod: claims.append(claims_of_main(pod))
    world.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "self", "namespace": world.namespace}})
    world.kube.allow(f"{world.namespace}:self", [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]}],
                     namespace=world.space, kind="ServiceAccount")
    world.target("self", config={"selfConfig": {"serviceAccount": {"name": "self"}}})
    world.target("brief", config={"selfConfig": {"serviceAccount": {"name": "self"}, "expirationSeconds": 700}})
    archive = chart_archive({"templates/config.yaml": CONFIG.replace("name: config", 'name: "{{ .Release.Name }}"')})
    controller = world.start()
    mark = world.apiserver.audit.mark()
    for target in ("self", "brief"):
        world.deploy(target, raw(archive), is_release=True, release=target, spec={
            "timeout": "30m", "target": {"name": target, "namespace": world.namespace}})
        world.succeeded(target)
    world.trigger("self", "job-2")
    world.succeeded("self", "job-2")
    assert world.names() == ["brief", "self"]

    # At most the 30 minutes of the job and 5 for its end, and not longer than the Target says.
    first, brief, second = [c["exp"] - c["iat"] for c in claims]
    assert all(600 <= life <= 35 * 60 for life in (first, second)) and brief == 700, (first, brief, second)
    # One for each pod, and one for the controller and each Target.
    assert len({c["jti"] for c in claims}) == 3
    assert len(world.apiserver.audit.entries(mark, user=controller.user, resource="serviceaccounts/token")) == 5


def test_a_pending_release_does_not_block_a_killed_controller_goes_on_and_a_failure_is_rolled_back(world):
    world.start()
    world.deploy("item", raw(SIMPLE), is_release=True, values={"color": "a"})
    world.succeeded("item")

    # What a pod leaves behind that was killed during an upgrade.
    pending = world.kube.get("secrets", "sh.helm.release.v1.app.v1", world.space)
    pending["metadata"] = {"name": "sh.helm.release.v1.app.v2", "namespace": world.space,
                           "labels": {**pending["metadata"]["labels"], "status": "pending-upgrade", "version": "2"}}
    world.kube.create(pending)
    second = world.controllers[-1]

    def kill(_):
        second.expected = False
        second.kill()

    world.kubelet.hold = kill
    world.update("item", raw(SIMPLE), job="job-2", is_release=True, values={"color": "b"})
    wait_until(lambda: not second.running, "the controller is killed while helm runs")
    world.kubelet.hold = None
    world.start()
    world.succeeded("item", "job-2")
    assert world.found("config")["data"] == {"color": "b"} and world.releases() == {1: "superseded", 2: "deployed"}
    assert [job for _, job, _ in world.kubelet.ran("item")] == ["job-1", "job-2"]
    assert any(e["reason"] == "PendingReleaseRemoved" for e in world.events("item"))

    # An upgrade that fails is rolled back, and lastError shows helm's output without the values.
    world.update("item", raw(SIMPLE), job="job-3", is_release=True, values={"color": "unspeakable-color", "stuck": True},
                 helmDeploymentConfig={"upgrade": {"atomic": True, "timeout": "3s"}})
    error = world.failed("item", "job-3")["lastError"]
    assert "rolled back" in error["message"] and "unspeakable" not in error["message"], error
    assert world.found("config")["data"] == {"color": "b"} and world.releases() == {1: "superseded", 2: "superseded", 3: "failed", 4: "deployed"}

    # An item whose release is gone can be deleted.
    world.helm("uninstall", "app")
    world.delete("item")
    world.wait_until_deleted("item")


def test_a_chart_with_duplicate_keys_is_installed_and_its_workloads_are_found(world):
    """helm accepts them: the last one counts. A job that fails after helm has installed would fail for ever."""
    world.start()
    world.deploy("item", raw(REPEATING), is_release=True)
    make_ready(world)
    world.succeeded("item")
    assert world.recorded("item") == ["Deployment/app"]
    labels = world.found("repeated")["metadata"]["labels"]
    assert labels["app"] == "c" and "tier" not in labels


def test_an_item_that_never_ran_is_deleted_without_helm(world):
    world.start()
    world.deploy("item", {"ref": "r.example/without-tag"}, is_release=True)
    error = world.failed("item")["lastError"]
    assert error["codes"] == ["ERR_CONFIGURATION_PROBLEM"] and "must have a tag" in error["message"]
    world.delete("item")
    world.wait_until_deleted("item")
    assert world.kubelet.ran("item") == [] and world.kube.find(DEPLOYITEMS, "item", world.namespace) is None


def test_what_somebody_else_changed_or_deleted_is_repaired_by_the_next_job(world):
    """helm compares the last manifest, the new one and what is there: fields of others stay."""
    archive = chart_archive({"templates/config.yaml": CONFIG, "templates/other.yaml": CONFIG.replace("name: config", "name: other")})
    world.start()
    world.deploy("item", raw(archive), is_release=True, values={"color": "a"})
    world.succeeded("item")
    world.kube.patch("configmaps", "config", {"data": {"color": "drifted", "more": "of somebody else"}}, world.space)
    world.kube.delete("configmaps", "other", world.space)
    world.trigger("item", "job-2")
    world.succeeded("item", "job-2")
    assert world.found("config")["data"] == {"color": "a", "more": "of somebody else"} and world.found("other")["data"] == {"color": "a"}
    assert world.releases() == {1: "superseded", 2: "deployed"}


def test_every_option_reaches_helm(world):
    """With all options at once helm accepts their names; ownership, schema and time limit have an effect."""
    common = {"force": True, "skipSchemaValidation": True, "timeout": "40s", "wait": True}
    archive = chart_archive({"values.schema.json": SCHEMA, "templates/config.yaml": CONFIG,
                             "templates/stuck.yaml": f"{{{{ if .Values.stuck }}}}{DEPLOYMENT}{{{{ end }}}}"})
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config", "namespace": world.space}}
    arguments = []
    world.kubelet.hold = lambda pod: arguments.append(pod.container("main")["args"])
    world.kube.create(mine)
    world.start()
    world.deploy("item", raw(archive), is_release=True, values={"color": 1}, helmDeploymentConfig={"install": {"skipSchemaValidation": True}})
    error = world.failed("item")["lastError"]["message"]
    assert "ownership" in error and f'ConfigMap "config" in namespace "{world.space}"' in error, error
    options = {"install": {**common, "takeOwnership": True}, "upgrade": {**common, "takeOwnership": True, "atomic": True},
               "uninstall": {"timeout": "50s", "wait": True}}
    world.update("item", raw(archive), job="job-2", is_release=True, values={"color": 2}, helmDeploymentConfig=options)
    world.succeeded("item", "job-2")
    world.update("item", raw(archive), job="job-3", is_release=True, values={"color": 3}, helmDeploymentConfig=options)
    world.succeeded("item", "job-3")
    assert world.found("config")["data"] == {"color": "3"}

    # The limit is that of the option, not that of the item.
    options["upgrade"] = {"wait": True, "skipSchemaValidation": True, "timeout": "2s"}
    world.update("item", raw(archive), job="job-4", is_release=True, values={"color": 4, "stuck": True}, helmDeploymentConfig=options)
    assert "deadline exceeded" in world.failed("item", "job-4")["lastError"]["message"]
    world.delete("item")
    world.wait_until_deleted("item")
    limits = [a[a.index("--timeout") + 1] for a in arguments]
    assert limits[1:] == ["40s", "40s", "2s", "50s"] and "--wait" in arguments[-1] and world.releases() == {}


def set_config(world, name, config):
    item = world.kube.get(DEPLOYITEMS, name, world.namespace)
    item["spec"].pop("config")
    world.kube.replace({**item, "spec": {**item["spec"], **({"config": config} if config is not None else {})}})


def test_a_changed_mode_and_a_broken_configuration_lose_nothing(world):
    """What was deployed decides on the deletion, not what the configuration says now."""
    rendered = {"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Values.name }}\"}\n"}
    world.start()
    world.deploy("released", raw(SIMPLE), is_release=True)
    for name in ("broken", "missing"):
        world.deploy(name, raw(chart_archive(rendered)), values={"name": name})
    for name in ("released", "broken", "missing"):
        world.succeeded(name)
    assert world.status("released")["providerStatus"]["release"] == {"name": "app", "namespace": world.space}

    # In both directions: refused, and nothing changes in the cluster or in the record.
    world.update("released", raw(SIMPLE), job="job-2")
    world.update("broken", raw(chart_archive(rendered)), job="job-2", is_release=True, values={"name": "broken"})
    for name in ("released", "broken"):
        error = world.failed(name, "job-2")["lastError"]
        assert "change it back" in error["message"] and error["codes"] == ["ERR_CONFIGURATION_PROBLEM"], error
    assert world.releases() == {1: "deployed"} and world.names() == ["broken", "config", "missing"]
    assert world.recorded("broken") == ["ConfigMap/broken"]

    # Changed back, everything goes on.
    world.update("released", raw(SIMPLE), job="job-3", is_release=True, values={"color": "c"})
    world.succeeded("released", "job-3")
    assert world.releases() == {1: "superseded", 2: "deployed"}

    set_config(world, "released", {"apiVersion": VERSION, "kind": "ProviderConfiguration", "helmDeployment": False, "chart": 5})
    set_config(world, "broken", {"apiVersion": VERSION, "kind": "ProviderConfiguration", "helmDeployment": "perhaps", "chart": 5})
    set_config(world, "missing", None)
    for name in ("released", "broken", "missing"):
        world.delete(name)
        world.wait_until_deleted(name)
    assert world.releases() == {} and world.names() == []
    assert [operation for _, _, operation in world.kubelet.ran("released")][-1] == "DELETE"
    assert [operation for name in ("broken", "missing") for _, _, operation in world.kubelet.ran(name)] == ["RECONCILE"] * 2
