# SPDX-License-Identifier: Apache-2.0
"""The deletion of an item: DELETE runs, all objects are removed, then the finalizer."""

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from faults.proxy import Action, PASS, status as refusal
from controller_harness import (FORCE_CLEANUP, GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, WITHOUT_UNINSTALL, encode, hang,
                                succeed, with_export_and_state)


def first_run(world, name="item", **item):
    world.kubelet.behaviour = with_export_and_state
    world.item(name, **item)
    world.finished(name)
    world.wait_for_cleanup()
    world.kubelet.behaviour = succeed


def everything_gone(world, name="item"):
    world.wait_until_deleted(name)
    wait_until(lambda: not world.host_objects(), "deletion of everything on the host", 30)
    assert world.kube.find("secrets", f"{name}-export", world.namespace) is None


def test_deletion_runs_main_with_delete_and_the_last_state_then_removes_everything(world):
    world.start()
    first_run(world)
    seen = {}

    def delete(pod):
        seen["sequence"] = pod.env["LONGSHORE_STATE_SEQUENCE"]
        seen["phase"] = wait_until(lambda: (s := world.status("item")).get("phase") == "Deleting" and s["phase"], "phase Deleting")
        pod.run()
        pod.succeed()

    world.kubelet.behaviour = delete
    world.delete("item")
    everything_gone(world)
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE"), ("item", "job-delete", "DELETE")]
    assert seen["phase"] == "Deleting" and int(seen["sequence"]) > 0


def test_a_deleted_item_is_not_processed_until_the_deletion_has_a_job(world):
    world.start()
    first_run(world)
    world.delete("item", job=None)
    world.item("marker")
    world.finished("marker")
    assert world.status("item")["phase"] == "Succeeded"
    assert len(world.kubelet.ran("item")) == 1


def test_a_failed_delete_run_keeps_the_item_with_an_error_and_a_new_job_retries(world):
    world.start()
    first_run(world)
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(3))
    world.delete("item")
    status = world.finished("item", "job-delete")
    assert status["phase"] == "DeleteFailed"
    assert status["lastError"]["operation"] == "RunMainContainer"
    assert "exit code 3" in status["lastError"]["message"]
    item = world.kube.get(DEPLOYITEMS, "item", world.namespace)
    assert item["metadata"]["finalizers"]
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-delete-2")
    everything_gone(world)
    assert [o for _, _, o in world.kubelet.ran("item")] == ["RECONCILE", "DELETE", "DELETE"]


def test_force_cleanup_skips_the_run_whatever_its_value(world):
    world.start()
    first_run(world)
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "no"}}}, world.namespace)
    world.delete("item")
    everything_gone(world)
    assert len(world.kubelet.ran("item")) == 1


def test_force_cleanup_ends_a_delete_run_that_hangs(world):
    world.start()
    first_run(world)
    world.kubelet.behaviour = hang
    world.delete("item")
    wait_until(lambda: world.status("item").get("phase") == "Deleting", "phase Deleting")
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
    everything_gone(world)


def test_delete_without_uninstall_skips_the_run(world):
    world.start()
    first_run(world)
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {WITHOUT_UNINSTALL: "true"}}}, world.namespace)
    world.delete("item")
    everything_gone(world)
    assert len(world.kubelet.ran("item")) == 1


def test_delete_operation_skip_in_the_configuration_skips_the_run(world):
    world.start(config={"deleteOperation": "skip"})
    first_run(world)
    world.delete("item")
    everything_gone(world)
    assert len(world.kubelet.ran("item")) == 1


def test_an_item_without_runs_and_state_is_deleted_without_a_run(world):
    world.start()
    world.item("item", job=None)
    world.delete("item")
    everything_gone(world)
    assert world.kubelet.ran("item") == []


def test_an_item_that_never_ran_can_be_deleted_without_its_inputs(world):
    """It needs neither a valid configuration nor a Target nor a Context, whose absence may be why it never ran."""
    world.start()
    world.item("mistaken", config={"image": 5})
    world.item("homeless", target="nowhere")
    world.item("rootless", context="never", timeout="2s")
    for name in ("mistaken", "homeless", "rootless"):
        assert world.finished(name)["phase"] == "Failed"
        world.delete(name)
        everything_gone(world, name)
    assert world.kubelet.ran() == []


def test_an_item_that_never_ran_is_deleted_without_reading_the_target_even_with_a_selector(world):
    world.start(config={"targetSelector": [{"annotations": [{"key": "env", "operator": "exists"}]}]})
    world.target("cluster", secret="missing", annotations={"env": "a"})
    world.item("item", target="cluster", timeout="2s")
    assert world.finished("item")["phase"] == "Failed"
    world.delete("item")
    everything_gone(world)
    assert world.kubelet.ran() == []


@pytest.mark.parametrize("is_pod_left", [True, False])
def test_delete_runs_although_the_first_job_is_not_in_the_status(world, is_pod_left):
    """The controller dies after it created the pod and before it wrote the status; main leaves no state, and the pod may be
    deleted before the next controller starts."""
    def plan(request):
        if request.method == "PATCH" and request.path.endswith("/item/status"):
            return Action(forward=False, answer=refusal(503, "ServiceUnavailable"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        first = world.start(proxy=proxy)
        first.expected = False
        world.item("item")
        wait_until(lambda: world.kubelet.ran("item") and world.pods()[0]["status"]["phase"] == "Succeeded", "the end of main")
        first.kill()
    assert "phase" not in world.status("item")
    if not is_pod_left:
        [pod] = world.pods()
        world.kube.patch("pods", pod["metadata"]["name"], {"metadata": {"finalizers": None}}, world.host)
        world.kube.delete("pods", pod["metadata"]["name"], world.host, gracePeriodSeconds=0)
    world.delete("item")
    world.start()
    everything_gone(world)
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE"), ("item", "job-delete", "DELETE")]


def test_an_item_without_a_configuration_can_be_deleted(world):
    world.start()
    world.item("item", config=None)
    assert world.finished("item")["lastError"]["reason"] == "ProviderConfigurationMissing"
    world.delete("item")
    everything_gone(world)


def test_deletion_with_a_missing_target_fails_and_force_cleanup_still_works(world):
    world.start()
    world.target("cluster", config={"kubeconfig": "clusters: []"})
    first_run(world, target="cluster")
    world.kube.delete("landscaper.gardener.cloud/v1alpha1/targets", "cluster", world.namespace)
    world.delete("item")
    status = world.finished("item", "job-delete")
    assert status["phase"] == "DeleteFailed" and status["lastError"]["reason"] == "NoTargetFound"
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
    world.trigger("item", "job-delete-2")
    everything_gone(world)


def test_objects_of_the_go_deployer_are_deleted_with_the_item(world):
    world.start()
    first_run(world)
    labels = {f"{GROUP}/deployer-id": "test", f"{GROUP}/name": "item", LABEL_ITEM_NAME: "item", LABEL_ITEM_NAMESPACE: world.namespace}
    for name in ("config", "target", "imgpullsec"):
        world.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": f"{world.namespace}-item-{name}", "namespace": world.host, "labels": labels}})
    world.kube.create({"apiVersion": "v1", "kind": "Secret", "data": {"config": encode("{}")}, "metadata": {
        "name": f"{world.namespace}-item-export", "namespace": world.host, "labels": {f"{GROUP}/name": "item"}}})
    world.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": f"{world.namespace}-item-ocmconfig", "namespace": world.host, "labels": labels}})
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
        "name": "item-init", "namespace": world.host, "labels": labels}})
    world.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bystander", "namespace": world.host}})
    world.delete("item")
    world.wait_until_deleted("item")
    wait_until(lambda: world.host_objects() == ["secrets/bystander"], "deletion of everything except the unrelated Secret", 30)


def test_a_finalizer_of_others_keeps_the_item_while_our_cleanup_completes(world):
    world.start()
    first_run(world)
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"finalizers": ["finalizer.landscaper.gardener.cloud", "example.com/other"]}},
                     world.namespace)
    world.delete("item")
    status = world.finished("item", "job-delete")
    assert status["phase"] == "Succeeded"
    wait_until(lambda: not world.host_objects(), "deletion of everything on the host", 30)
    assert world.kube.get(DEPLOYITEMS, "item", world.namespace)["metadata"]["finalizers"] == ["example.com/other"]


def test_a_forbidden_cleanup_is_reported_and_continues_when_it_is_allowed(world):
    refused = [True]

    def plan(request):
        if refused[0] and request.method == "DELETE" and request.path.endswith("/roles"):
            return Action(forward=False, answer=refusal(403, "Forbidden", "roles is forbidden"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        first_run(world)
        world.delete("item")
        error = wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
        assert (error["operation"], error["reason"]) == ("Delete", "CleanupRBAC") and "roles is forbidden" in error["message"]
        refused[0] = False
        everything_gone(world)
    assert len(world.kubelet.ran("item")) == 2
