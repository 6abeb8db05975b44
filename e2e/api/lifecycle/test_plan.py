# SPDX-License-Identifier: Apache-2.0
"""`longshore lifecycle plan`: what would change in a cluster, without writing."""

import json
import subprocess

from bench import crds, paths
from bench.waiting import wait_until
from lifecycle_harness import API, MANIFESTS, RELEASES, SYSTEM, TEMPLATES, config_map, push_module


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


def make_mandatory(world, name, version):
    world.kcp.delete(RELEASES, name, world.namespace)
    world.kcp.create({"apiVersion": API, "kind": "ModuleReleaseMeta", "metadata": {"name": name, "namespace": world.namespace}, "spec": {
        "moduleName": name, "ocmComponentName": f"example.com/module/{world.namespace}/{name}", "mandatory": {"version": version}}})


def test_a_plan_for_programs_has_mandatory_modules(world):
    world.publish("tide", [config_map("tide-a", height="low")])
    world.publish("guard", [config_map("guard-a")])
    make_mandatory(world, "guard", "1.0.0")
    world.access("fleet-0001")
    world.kyma(modules=("tide",))
    first = plan(world, "fleet-0001", "-o", "json")
    document = json.loads(first.stdout)
    assert first.returncode == 1 and document["kyma"] == "fleet-0001" and document["result"] == "different", first
    tide, guard = document["modules"]
    assert (tide["name"], tide["before"], tide["after"], tide["result"]) == ("tide", "", "1.0.0", "different") and "mandatory" not in tide
    assert (guard["name"], guard["after"], guard["mandatory"]) == ("guard", "1.0.0", True)
    assert [(o["action"], o["name"]) for o in guard["changes"]["objects"]] == [("created", "guard-a")]
    assert "module guard: not installed -> 1.0.0 (mandatory)" in plan(world).stdout

    program = world.start()
    world.wait_state("Ready")
    wait_until(lambda: world.skr.find("configmaps", "guard-a", SYSTEM), "the mandatory module")
    program.stop()
    same = plan(world, "fleet-0001", "--output=json")
    assert same.returncode == 0 and json.loads(same.stdout)["result"] == "same", same
    # Without its template a mandatory module stays, and one that is removed everywhere goes.
    world.kcp.delete(TEMPLATES, "guard-1.0.0", world.namespace)
    kept = json.loads(plan(world, "fleet-0001", "-o", "json").stdout)["modules"][1]
    assert kept["stays"] and kept["before"] == kept["after"] == "1.0.0" and "ModuleTemplate is missing" in kept["note"], kept
    world.kcp.delete(RELEASES, "guard", world.namespace)
    gone = plan(world, "fleet-0001", "-o", "json")
    removed = json.loads(gone.stdout)["modules"][1]
    assert gone.returncode == 1 and (removed["name"], removed["before"], removed["after"]) == ("guard", "1.0.0", ""), gone
    assert [(o["action"], o["name"]) for o in removed["changes"]["objects"]] == [("deleted", "guard-a")]
    broken = plan(world, "absent", "-o", "json")
    assert broken.returncode == 3 and broken.stdout == ""


def test_a_plan_of_the_control_plane_itself(world):
    """In-cluster mode. The managed cluster plays the control plane."""
    own = type(world)(world.cluster, world.cluster, world.registry, world.namespace)
    own.skr.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
    crds.install(own.skr, crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"))
    try:
        own.publish("tide", [config_map("tide-a", height="low")])
        own.kyma(modules=("tide",))
        refused = plan(own)
        assert refused.returncode == 2 and "use --own-cluster" in refused.stderr, refused
        first = plan(own, "fleet-0001", "--own-cluster")
        assert first.returncode == 1 and f"created    ConfigMap {SYSTEM}/tide-a" in first.stdout, first
        own.start("--own-cluster")
        own.wait_state("Ready")
        same = plan(own, "fleet-0001", "--own-cluster")
        assert same.returncode == 0 and "0 created, 0 changed, 0 deleted, 1 unchanged" in same.stdout, same
        own.delete()
    finally:
        own.close()


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
