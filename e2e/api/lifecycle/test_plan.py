# SPDX-License-Identifier: Apache-2.0
"""`longshore lifecycle plan`: what would change in a cluster, without writing."""

import subprocess

from lifecycle_harness import MANIFESTS, SYSTEM, config_map, push_module


def plan(world, kyma="fleet-0001", *more):
    path = world.control_plane.user_kubeconfig(f"{world.user}-plan", groups=["system:masters"])
    arguments = world.arguments(path, *more)
    return subprocess.run([*arguments[:2], "plan", kyma, *arguments[2:]], capture_output=True, text=True, timeout=120)


def test_a_plan_shows_what_would_be_created_changed_and_removed_and_writes_nothing(world):
    world.publish("tide", [config_map("tide-a", height="low"), config_map("tide-b")])
    world.publish("buoy", [config_map("buoy-a")])
    world.access("fleet-0001")
    world.kyma(modules=("tide", "buoy"))

    first = plan(world)  # the cluster has no namespace for modules yet
    assert first.returncode == 1, first.stdout + first.stderr
    assert "module tide: not installed -> 1.0.0" in first.stdout and f"created    ConfigMap {SYSTEM}/tide-a" in first.stdout
    assert world.kcp.items(MANIFESTS, world.namespace) == [] and world.skr.find("configmaps", "tide-a", SYSTEM) is None

    program = world.start()
    world.wait_state("Ready")
    same = plan(world)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "module tide: 1.0.0\n" in same.stdout and "0 created, 0 changed, 0 deleted, 2 unchanged" in same.stdout
    program.stop()

    world.publish("tide", [config_map("tide-a", height="high"), config_map("tide-c")], version="1.1.0")
    world.enable(["tide"])
    before = world.manifest("tide")["metadata"]["resourceVersion"]
    update = plan(world)
    assert update.returncode == 1, update.stdout + update.stderr
    for line in ("module tide: 1.0.0 -> 1.1.0", f"changed    ConfigMap {SYSTEM}/tide-a", "-  height: low", "+  height: high",
                 f"created    ConfigMap {SYSTEM}/tide-c", f"deleted    ConfigMap {SYSTEM}/tide-b",
                 "module buoy: 1.0.0 -> removed", f"deleted    ConfigMap {SYSTEM}/buoy-a"):
        assert line in update.stdout, (line, update.stdout)
    assert world.skr.get("configmaps", "tide-a", SYSTEM)["data"] == {"height": "low"}
    assert world.skr.find("configmaps", "tide-b", SYSTEM) and world.skr.find("configmaps", "tide-c", SYSTEM) is None
    assert world.manifest("tide")["metadata"]["resourceVersion"] == before


def test_a_plan_that_cannot_be_made_says_why(world):
    absent = plan(world, "absent")
    assert absent.returncode == 3 and f"read Kyma {world.namespace}/absent" in absent.stderr
    world.kyma(modules=())
    unknown = plan(world)
    assert unknown.returncode == 2 and "so the cluster of Kyma fleet-0001 is unknown" in unknown.stderr
    world.access("fleet-0001")
    world.publish("tide", [config_map("tide-a")])
    push_module(world.registry, f"example.com/module/{world.namespace}/tide", "1.0.0", b"", descriptor="meta: {}")
    world.kcp.patch("operator.kyma-project.io/v1beta2/kymas", "fleet-0001", {"spec": {"modules": [{"name": "tide"}]}}, world.namespace)
    broken = plan(world)
    assert broken.returncode == 3 and "failed     " in broken.stdout, broken.stdout + broken.stderr
