# SPDX-License-Identifier: Apache-2.0
"""Objects of modules that others change or delete at a moment at which no watch shows it."""

import time

from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS
from lifecycle_harness import DEPLOYMENTS, LABEL, MANAGER, SYSTEM, config_map


def test_objects_that_are_deleted_before_they_are_watched_come_back(world):
    """A module that is not ready yet: only its manager is watched at first. It may be the deleted object that it needs."""
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
