# SPDX-License-Identifier: Apache-2.0
"""What the status of a Kyma says about versions and templates while the Manifest of the module cannot be written."""

import json

import pytest

from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS, status
from lifecycle_harness import API, TEMPLATES, config_map, token_kubeconfig

WORDS = "the disk of the control plane is full"


class Refusal:
    """Refuses to write Manifests while it is on."""

    def __init__(self):
        self.is_on, self.count = False, 0

    def plan(self, request):
        if not self.is_on or request.method != "PATCH" or "/manifests/" not in request.path or request.path.endswith("/status"):
            return PASS
        self.count += 1
        return Action(forward=False, answer=status(507, "InternalError", WORDS))

    def begin(self):
        self.is_on, self.count = True, 0


@pytest.fixture
def refusal(world):
    made = Refusal()
    with FaultProxy(world.control_plane, made.plan) as proxy:
        made.kubeconfig = world.control_plane.directory / f"versions-{world.namespace}.json"
        made.kubeconfig.write_text(json.dumps(token_kubeconfig(world.control_plane, world.namespace, proxy)))
        yield made
        for program in world.programs:
            program.stop()


def offer(world, version):
    world.kcp.apply({"apiVersion": API, "kind": "ModuleReleaseMeta", "metadata": {"name": "pier", "namespace": world.namespace}, "spec": {
        "moduleName": "pier", "ocmComponentName": f"example.com/module/{world.namespace}/pier", "channels": [{"channel": "regular", "version": version}]}})


def wait_refused(world, refusal):
    """Until a write was refused and the status has the reason."""
    wait_until(lambda: refusal.count > 0 and WORDS in world.module("pier").get("message", ""), "the refusal is reported")


def test_the_status_names_what_the_manifest_has(world, refusal):
    """The versions of the status decide about downgrades and maintenance windows, and the generation of the template about whether the Manifest is written again."""
    for version in ("1.1.0", "1.0.0"):
        world.publish("pier", [config_map("pier-settings", version=version)], version=version)
    world.access("fleet-0001")
    world.kyma(modules=["pier"])

    # The first Manifest cannot be written: no version is installed, so a lower one is no downgrade.
    refusal.begin()
    offer(world, "1.1.0")
    program = world.start(kubeconfig_path=refusal.kubeconfig, is_waiting=False)
    wait_until(lambda: world.module("pier") and refusal.count > 0 and WORDS in world.module("pier").get("message", ""), "the refusal is reported")
    assert "version" not in world.module("pier") and world.module("pier")["state"] == "Error"
    refusal.is_on = False
    offer(world, "1.0.0")
    world.wait_state("Ready")
    assert world.module("pier")["version"] == world.manifest("pier")["spec"]["version"] == "1.0.0"

    # A new version that never gets into the Manifest is withdrawn: nothing was installed that would be downgraded.
    refusal.begin()
    offer(world, "1.1.0")
    wait_refused(world, refusal)
    assert world.module("pier")["version"] == "1.0.0" and world.module("pier")["state"] == "Error"
    offer(world, "1.0.0")
    refusal.is_on = False
    status_then = world.wait_state("Ready")
    assert "message" not in status_then["modules"][0] and status_then["modules"][0]["version"] == "1.0.0"

    # A changed template gets into the Manifest also if the program is killed between the refusal and the next attempt.
    refusal.begin()
    manager = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "pier"}
    world.kcp.patch(TEMPLATES, "pier-1.0.0", {"spec": {"manager": manager}}, world.namespace)
    wait_refused(world, refusal)
    assert world.module("pier")["template"]["metadata"]["generation"] == 1
    world.kill(program)
    refusal.is_on = False
    world.start(kubeconfig_path=refusal.kubeconfig, is_waiting=False)
    wait_until(lambda: world.manifest("pier")["spec"].get("manager") == manager, "the Manifest has the new template")
    wait_until(lambda: world.module("pier")["template"]["metadata"]["generation"] == 2, "the status names it")
    world.wait_state("Ready")
