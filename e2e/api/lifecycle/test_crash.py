# SPDX-License-Identifier: Apache-2.0
"""The program is killed before and after requests to either cluster, again and again, each time at a later one, until what it does
needs fewer requests than that. Nothing is lost, nothing is left behind, and the module's resource goes before its operator."""

import json
import os

import pytest

from bench.audit import resource_of
from bench.waiting import wait_until
from controller_killer import Killer, PASS
from faults.proxy import FaultProxy
from lifecycle_harness import DEPLOYMENTS, HARBOURS, KYMAS, MANAGER, SYSTEM, token_kubeconfig

# Every request is tried; `LONGSHORE_CRASH_STEP=4` tries every fourth.
STEP = int(os.environ.get("LONGSHORE_CRASH_STEP", "1"))
SEVEN = {"ClusterRole", "ClusterRoleBinding", "ConfigMap", "CustomResourceDefinition", "Deployment", "Service", "ServiceAccount"}


@pytest.fixture
def killer(world):
    """Kills the program at a request of either proxy that is not about its Lease."""
    made = Killer("before")

    def plan(request):
        return PASS if "/leases" in request.path else made.plan(request)

    with FaultProxy(world.control_plane, plan) as control_plane, FaultProxy(world.cluster, plan) as cluster:
        document = token_kubeconfig(world.control_plane, world.namespace, control_plane)
        made.kubeconfig = world.control_plane.directory / f"crash-{world.namespace}.json"
        made.kubeconfig.write_text(json.dumps(document))
        world.access_through(cluster)
        yield made
        made.left = None
        for program in world.programs:
            program.expected = False
            program.stop()


def run(world, killer):
    """Starts the program. It may be killed before it leads."""
    world.forget_lease()
    killer.controller = world.start(kubeconfig_path=killer.kubeconfig, is_waiting=False)
    killer.controller.expected = False


def crash_until(world, killer, is_over, first=1, check=lambda: None):
    """Kills the program at a later and later request until is_over. Returns the number of crashes."""
    number, crashes = first, 0
    while True:
        killer.moment = "before" if crashes % 2 else "after"
        killer.arm(number)
        run(world, killer)
        wait_until(lambda: killer.has_killed.is_set() or is_over(), f"crash {number} or the end")
        check()
        if not killer.has_killed.is_set():
            killer.left = None
            return crashes
        crashes, number = crashes + 1, number + STEP


def is_installed(world, version):
    def check():
        if world.skr.find(DEPLOYMENTS, MANAGER, SYSTEM):
            world.roll_out()
        module = world.module() or {}
        return world.status().get("state") == "Ready" and module.get("version") == version and module.get("state") == "Ready"
    return check


def test_installation_update_disabling_and_deletion_survive_crashes(world, killer):
    """C8: the default resource always goes before its operator."""
    world.catalog()
    world.kyma()
    crashes = crash_until(world, killer, is_installed(world, "1.0.0"))
    assert crashes >= 5
    assert {s["kind"] for s in world.manifest()["status"]["synced"]} == SEVEN and len(world.objects()) == 7
    assert world.skr.find(HARBOURS, "harbour", SYSTEM)

    killer.controller.kill()
    world.enable([{"name": "harbour", "channel": "fast", "managed": True}])
    crash_until(world, killer, is_installed(world, "1.1.0"))
    assert len(world.objects()) == 7 and "configmaps/harbour-tuning" in world.objects()
    assert len(world.manifest()["status"]["synced"]) == 7

    killer.controller.kill()
    world.skr.patch(HARBOURS, "harbour", {"metadata": {"finalizers": ["example.com/operator"]}}, SYSTEM)
    world.enable([])

    def operator_is_there():
        """The operator removes its finalizer when the resource is being deleted, and must be there until then."""
        resource = world.left(HARBOURS)
        if resource:
            assert world.skr.find(DEPLOYMENTS, MANAGER, SYSTEM), "the operator is gone before its resource"
        if resource and resource[0]["metadata"].get("deletionTimestamp") and killer.patience > 2:
            world.skr.patch(HARBOURS, "harbour", {"metadata": {"finalizers": None}}, SYSTEM)
        killer.patience += 1

    killer.patience = 0

    def is_disabled():
        if killer.patience > 4:
            operator_is_there()
        return world.manifest() is None and not world.status().get("modules")

    crash_until(world, killer, is_disabled, check=operator_is_there)
    assert world.objects() == [] and world.status()["state"] in ("Ready", "Processing")

    killer.controller.kill()
    killer.left = None
    run(world, killer)
    world.enable(["harbour"])
    wait_until(is_installed(world, "1.0.0"), "installed again")
    killer.controller.kill()
    mark = world.cluster.audit.mark()
    world.kcp.delete(KYMAS, "fleet-0001", world.namespace)
    crash_until(world, killer, lambda: world.kcp.find(KYMAS, "fleet-0001", world.namespace) is None)
    assert world.objects() == [] and world.left(KYMAS) == []
    deleted = [resource_of(e) for e in world.cluster.audit.entries(mark, verb="delete") if e["responseStatus"]["code"] == 200]
    assert deleted.index("harbours") < deleted.index("deployments"), deleted
