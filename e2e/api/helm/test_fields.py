# SPDX-License-Identifier: Apache-2.0
"""Fields of the provider configuration that both modes have, or that manifest items have, too; and the operator's settings."""

import pytest

from api.helm.harness import MAJOR, chart_archive, raw
from api.helm.templates import CONFIG, DEPLOYMENT
from bench.waiting import wait_until

CHART = chart_archive({name: f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name[10:-5]}}}\ndata: {{color: "{{{{ .Values.color }}}}"}}\n'
                       for name in ("templates/first.yaml", "templates/second.yaml")})
MODES = pytest.mark.parametrize("is_release", [False, True], ids=["render", "release"])


@MODES
def test_a_namespace_is_created_and_never_deleted(world, is_release):
    space = world.space = f"{world.space}-new"      # removed with the world
    world.kube.delete("namespaces", space.removesuffix("-new"))
    world.start()
    world.deploy("missing", raw(CHART), is_release=is_release, spec={"timeout": "8s"})
    assert space in world.failed("missing")["lastError"]["message"]
    world.deploy("item", raw(CHART), is_release=is_release, createNamespace=True)
    world.succeeded("item")
    assert world.names() == ["first", "second"]
    world.delete("item")
    world.wait_until_deleted("item")
    assert world.names() == [] and world.kube.find("namespaces", space)["status"]["phase"] == "Active"


@MODES
def test_custom_checks_decide_when_the_job_is_over(world, is_release):
    check = {"name": "is-blue", "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "first", "namespace": world.space}],
             "requirements": [{"jsonPath": ".data.ready", "operator": "exists"}]}
    world.start()
    world.deploy("item", raw(CHART), is_release=is_release, readinessChecks={"custom": [check]})
    wait_until(lambda: any(c["type"] == "Ready" and "first" in c.get("message", "") for c in world.status("item").get("conditions", [])),
               "the job waits for the check")
    assert not world.status("item").get("jobIDFinished")
    world.kube.patch("configmaps", "first", {"data": {"ready": "yes"}}, world.space)
    world.succeeded("item")


@MODES
def test_the_default_check_can_be_disabled(world, is_release):
    """Nobody makes the Deployment ready."""
    world.start()
    world.deploy("item", raw(chart_archive({"templates/deployment.yaml": DEPLOYMENT})), is_release=is_release,
                 readinessChecks={"disableDefault": True})
    world.succeeded("item")
    assert world.recorded("item") == ["Deployment/app"]
    assert "availableReplicas" not in world.found("app", "apps/v1/deployments").get("status", {})


@pytest.mark.parametrize("strategy, method", [("update", "update"), ("patch", "patch")])
def test_the_strategy_decides_on_the_request(world, strategy, method):
    world.start()
    world.deploy("item", raw(CHART), values={"color": "red"}, updateStrategy=strategy)
    world.succeeded("item")
    mark = world.apiserver.audit.mark()
    world.update("item", raw(CHART), job="job-2", values={"color": "blue"}, updateStrategy=strategy)
    world.succeeded("item", "job-2")
    assert world.found("first")["data"] == {"color": "blue"}
    verbs = [e["verb"] for e in world.apiserver.audit.entries(mark, user=world.user) if e.get("objectRef", {}).get("resource") == "configmaps"]
    assert [v for v in verbs if v not in ("get", "list")] == [method] * 2


def group(world, name):
    return {"customResourceGroup": {"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "names": [name], "namespaces": [world.space]}]}}


def test_groups_decide_on_what_an_update_removes_and_when(world):
    """Both ConfigMaps leave the chart. The second one has to be gone before the first one is deleted."""
    other = raw(chart_archive({"templates/other.yaml": CONFIG}))
    world.start()
    world.deploy("item", raw(CHART))
    world.succeeded("item")
    world.kube.patch("configmaps", "second", {"metadata": {"finalizers": ["example.com/hold"]}}, world.space)
    world.update("item", other, job="job-2", values={"color": "red"}, deletionGroupsDuringUpdate=[group(world, "second"), group(world, "first")])
    wait_until(lambda: "deletionTimestamp" in world.found("second")["metadata"], "the deletion of the second")
    assert "deletionTimestamp" not in world.found("first")["metadata"]
    world.kube.patch("configmaps", "second", {"metadata": {"finalizers": None}}, world.space)
    world.succeeded("item", "job-2")
    assert world.names() == ["config"]


def test_an_update_keeps_what_no_group_contains(world):
    world.start()
    world.deploy("item", raw(CHART))
    world.succeeded("item")
    world.update("item", raw(chart_archive({"templates/other.yaml": CONFIG})), job="job-2", values={"color": "red"},
                 deletionGroupsDuringUpdate=[group(world, "second")])
    world.succeeded("item", "job-2")
    assert world.names() == ["config", "first"]


def test_deletion_groups_decide_on_the_order(world):
    """The second ConfigMap has to be gone before the first one is deleted."""
    world.start()
    world.deploy("item", raw(CHART), deletionGroups=[group(world, "second"), group(world, "first")])
    world.succeeded("item")
    world.kube.patch("configmaps", "second", {"metadata": {"finalizers": ["example.com/hold"]}}, world.space)
    world.delete("item")
    wait_until(lambda: "deletionTimestamp" in world.found("second")["metadata"], "the deletion of the second")
    assert "deletionTimestamp" not in world.found("first")["metadata"]
    world.kube.patch("configmaps", "second", {"metadata": {"finalizers": None}}, world.space)
    world.wait_until_deleted("item")
    assert world.names() == []


def test_the_operator_chooses_the_image(world):
    chosen = {"image": "registry.example/other-helm:1", "command": ["/opt/helm"], "resources": {"limits": {"memory": "1Gi"}}, "version": MAJOR}
    pods = []
    world.kubelet.hold = pods.append
    world.start(config={"helm": chosen})
    world.deploy("item", raw(CHART))
    world.succeeded("item")
    main = pods[0].container("main")
    assert (main["image"], main["command"], main["resources"]["limits"]) == (chosen["image"], chosen["command"], {"memory": "1Gi"})
