# SPDX-License-Identifier: Apache-2.0
"""Objects of modules that others change or delete at a moment at which no watch shows it."""

import json
import threading
import time

from bench import ports
from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS, status
from lifecycle_harness import AVAILABLE, DEPLOYMENTS, LABEL, MANAGER, SYSTEM, config_map, metric, token_kubeconfig, workload


def test_objects_that_are_deleted_before_they_are_watched_come_back(world):
    """Right after they were applied, while the module is not ready yet. It may be the deleted object that it needs."""
    world.start()
    world.catalog()
    world.access("fleet-0001")
    world.kyma()
    wait_until(lambda: (m := world.manifest()) and "sync-oci-ref" in m["metadata"].get("annotations", {}), "all objects applied")
    mark = world.cluster.audit.mark()
    world.skr.delete("configmaps", "harbour-settings", SYSTEM)
    world.skr.patch("serviceaccounts", MANAGER, {"metadata": {"labels": {LABEL: None}}}, SYSTEM)
    wait_until(lambda: world.skr.find("configmaps", "harbour-settings", SYSTEM), "the ConfigMap")
    wait_until(lambda: world.skr.get("serviceaccounts", MANAGER, SYSTEM)["metadata"]["labels"].get(LABEL) == "kyma", "the label")
    world.roll_out()
    world.wait_state("Ready")
    applied = [r.split()[1] for r in world.requests(mark) if r.startswith("patch ") and "kymas" not in r]
    assert sorted(applied) == ["configmaps", "serviceaccounts"], applied


def test_a_manager_that_is_deleted_before_its_first_list_comes_back(world):
    deleted = []

    def delete():
        deleted.append(world.skr.get(DEPLOYMENTS, MANAGER, SYSTEM)["metadata"]["uid"])
        world.skr.delete(DEPLOYMENTS, MANAGER, SYSTEM)

    def plan(request):
        is_first = request.method == "GET" and request.path.endswith("/deployments") and not deleted
        return Action(before=delete) if is_first else PASS

    with FaultProxy(world.cluster, plan) as proxy:
        world.access_through(proxy)
        world.start()
        world.catalog()
        world.kyma()
        wait_until(lambda: deleted, "the first list")
        wait_until(lambda: (m := world.skr.find(DEPLOYMENTS, MANAGER, SYSTEM)) and m["metadata"]["uid"] != deleted[0], "a new manager")
        world.roll_out()
        world.wait_state("Ready")
        world.programs[-1].stop()


def test_an_object_that_is_deleted_while_others_are_applied_comes_back(world):
    """The watch shows the deletion before the last object of the module is applied."""
    uids = []

    def delete():
        uids.append(wait_until(lambda: world.skr.find("configmaps", "late-a", SYSTEM), "the first object")["metadata"]["uid"])
        world.skr.delete("configmaps", "late-a", SYSTEM)
        time.sleep(1)  # for the event; if it takes longer, the deletion is found anyway

    def plan(request):
        return Action(before=delete) if request.method == "PATCH" and "/configmaps/late-b" in request.path and not uids else PASS

    with FaultProxy(world.cluster, plan) as proxy:
        world.publish("early", [config_map("early")])
        world.publish("late", [config_map("late-a"), config_map("late-b")])
        world.access_through(proxy)
        mark = world.cluster.audit.mark()
        program = world.start()
        world.kyma(modules=["early"])
        world.wait_state("Ready")
        wait_until(lambda: world.cluster.audit.count(mark, verb="watch", resource="configmaps"), "the watch")
        world.enable(["early", "late"])
        wait_until(lambda: uids, "the deletion")
        wait_until(lambda: (m := world.skr.find("configmaps", "late-a", SYSTEM)) and m["metadata"]["uid"] != uids[0], "a new object")
        world.wait_state("Ready")
        program.stop()


def updated(world, module, version):
    entry = world.module(module)
    return entry["version"] == version and entry["state"] == "Ready"


def test_kinds_that_came_with_an_update_are_watched(world):
    world.start()
    world.publish("quay", [config_map("quay", level="low")])
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.wait_state("Ready")
    wait_until(lambda: any(r.startswith("watch configmaps") for r in world.requests(0)), "the first watch")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "quay", "namespace": SYSTEM}}
    world.publish("quay", [config_map("quay", level="high"), account], version="1.1.0")
    wait_until(lambda: updated(world, "quay", "1.1.0"), "the update")
    wait_until(lambda: any(r.startswith("watch serviceaccounts") for r in world.requests(0)), "the watch of the new kind")
    world.skr.delete("serviceaccounts", "quay", SYSTEM)
    wait_until(lambda: world.skr.find("serviceaccounts", "quay", SYSTEM), "the ServiceAccount")


def test_an_object_whose_version_changed_is_recorded_and_corrected(world):
    """The recorded version would not be served any more one day: then the object could not be removed."""
    scaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "quay", "namespace": SYSTEM},
              "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "quay"}}}
    world.start()
    world.publish("quay", [{"apiVersion": "autoscaling/v1", **scaler}])
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.wait_state("Ready")
    world.publish("quay", [{"apiVersion": "autoscaling/v2", **scaler}], version="1.1.0")
    wait_until(lambda: updated(world, "quay", "1.1.0"), "the update")
    assert [(s["kind"], s["version"]) for s in world.manifest("quay")["status"]["synced"]] == [("HorizontalPodAutoscaler", "v2")]
    scalers = "autoscaling/v2/horizontalpodautoscalers"
    mark = world.cluster.audit.mark()
    world.skr.patch(scalers, "quay", {"spec": {"maxReplicas": 9}}, SYSTEM)
    wait_until(lambda: world.skr.get(scalers, "quay", SYSTEM)["spec"]["maxReplicas"] == 3, "corrected")
    world.skr.delete(scalers, "quay", SYSTEM)
    wait_until(lambda: world.skr.find(scalers, "quay", SYSTEM), "the object")
    assert len([r for r in world.requests(mark) if r.startswith("patch horizontalpodautoscalers")]) == 2
    world.enable([])
    wait_until(lambda: world.manifest("quay") is None, "the Manifest gone")
    assert world.skr.find(scalers, "quay", SYSTEM) is None


def test_a_record_that_could_not_be_written_is_written_later(world):
    """After an update: the list of objects still has one that was removed. It must not be looked for without end."""
    refused = []

    def plan(request):
        is_record = request.method == "PATCH" and "/manifests/" in request.path and request.path.endswith("/status") and \
            list(request.json["status"]) == ["synced"]
        if is_record and not refused:
            refused.append(request.json)
            return Action(forward=False, answer=status(409, "Conflict"))
        return PASS

    with FaultProxy(world.control_plane, plan) as proxy:
        path = world.control_plane.directory / f"record-{world.namespace}.json"
        path.write_text(json.dumps(token_kubeconfig(world.control_plane, world.namespace, proxy)))
        port = ports.free_port()
        program = world.start(f"--metrics-address=127.0.0.1:{port}", kubeconfig_path=path)
        world.publish("quay", [config_map("stays"), config_map("goes")])
        world.access("fleet-0001")
        world.kyma(modules=["quay"])
        world.wait_state("Ready")
        wait_until(lambda: any(r.startswith("watch configmaps") for r in world.requests(0)), "the watch")
        world.publish("quay", [config_map("stays")], version="1.1.0")
        wait_until(lambda: refused, "the record refused")
        wait_until(lambda: updated(world, "quay", "1.1.0"), "the update")
        passes, mark = metric(port, "workqueue_adds_total"), world.control_plane.audit.mark()
        wait_until(lambda: world.control_plane.audit.count(mark, resource="leases", verb="update") >= 3, "renewals")
        assert metric(port, "workqueue_adds_total") - passes <= 50, "the cluster is looked at without end"
        wait_until(lambda: [s["name"] for s in world.manifest("quay")["status"]["synced"]] == ["stays"], "the record")
        program.stop()


def test_an_update_that_waits_for_a_removal_says_for_what(world):
    world.start()
    world.publish("quay", [config_map("quay"), config_map("stuck")])
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.wait_state("Ready")
    world.skr.patch("configmaps", "stuck", {"metadata": {"finalizers": ["example.com/busy"]}}, SYSTEM)
    world.publish("quay", [config_map("quay")], version="1.1.0")
    world.wait_state("Warning")
    message = world.module("quay")["message"]
    assert "ConfigMap kyma-system/stuck" in message and "example.com/busy" in message, message
    world.skr.patch("configmaps", "stuck", {"metadata": {"finalizers": None}}, SYSTEM)
    world.wait_state("Ready")
    assert updated(world, "quay", "1.1.0") and world.skr.find("configmaps", "stuck", SYSTEM) is None


def test_the_old_state_of_the_manager_is_not_that_of_the_new_version(world):
    """The watch shows the changed Deployment long after it was applied."""
    shown, watches = threading.Event(), []

    def roll_out():
        found = world.skr.get(DEPLOYMENTS, "quay", SYSTEM)
        world.skr.patch(DEPLOYMENTS, "quay", {"status": {**AVAILABLE, "observedGeneration": found["metadata"]["generation"]}}, SYSTEM, "status")

    def plan(request):
        if request.method != "GET" or not request.path.endswith("/deployments"):
            return PASS
        watches.append(request.is_watch)
        if len(watches) == 1:
            return Action(before=roll_out)
        # The first watch ends at its first event, and the others are silent.
        return Action(cut=1) if request.is_watch and watches.count(True) == 1 else Action(before=lambda: shown.wait(300))

    with FaultProxy(world.cluster, plan) as proxy:
        try:
            world.access_through(proxy)
            program = world.start()
            world.publish("quay", [workload("Deployment", "quay")])
            world.kyma(modules=["quay"])
            world.wait_state("Ready")
            wait_until(lambda: True in watches, "the watch")
            world.publish("quay", [workload("Deployment", "quay", image="example.com/quay:1.1.0")], version="1.1.0")
            wait_until(lambda: "has not seen the last change" in world.manifest("quay")["status"]["lastOperation"]["operation"], "the new version is awaited")
            assert world.manifest("quay")["status"]["state"] == "Processing"
            roll_out()
        finally:
            shown.set()
        wait_until(lambda: updated(world, "quay", "1.1.0"), "the update")
        program.stop()
