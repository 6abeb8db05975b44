# SPDX-License-Identifier: Apache-2.0
"""Maintenance windows, and descriptors in templates."""

import datetime
import json

from bench.waiting import wait_until
from lifecycle_harness import GROUP, KYMAS, MANIFESTS, SYSTEM, config_map


def module_state(world, module, state, text=""):
    def is_there():
        entry = world.module(module)
        return entry and entry["state"] == state and text in entry.get("message", "")
    try:
        wait_until(is_there, f"{module} {state}: {text}")
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {json.dumps(world.status())}") from None


def policy(world, name, begin, end):
    """A policy with one window that recurs never, for the clusters of one region only."""
    text = [(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ") for s in (begin, end)]
    path = world.control_plane.directory / f"{name}-{world.namespace}.json"
    path.write_text(json.dumps({"rules": [{"match": {"region": "^north$"}, "windows": [{"begin": text[0], "end": text[1]}]}],
                                "default": {"begin": "2090-01-01T00:00:00Z", "end": "2090-01-02T00:00:00Z"}}))
    return f"--maintenance-policy={path}"


def test_an_update_with_downtime_waits_for_its_window(world):
    """Nothing but the clock tells that the window begins."""
    downtime = {"template": {"requiresDowntime": True}}
    world.publish("dock", [config_map("dock", level="low")], **downtime)  # an installation needs no window
    world.access("fleet-0001")
    world.kyma(modules=["dock"], labels={"kyma-project.io/region": "north"})
    program = world.start()
    world.wait_state("Ready")
    world.publish("dock", [config_map("dock", level="high")], version="1.1.0", **downtime)
    module_state(world, "dock", "Error", "no policy is configured")
    program.stop()
    program = world.start(policy(world, "far", 86400, 2 * 86400))
    entry = wait_until(lambda: (m := world.module("dock")).get("maintenance") and m, "waiting")
    assert entry["message"] == "waiting for next maintenance window to update module version"
    assert entry["version"] == "1.0.0" and entry["state"] == "Ready"
    assert world.skr.get("configmaps", "dock", SYSTEM)["data"] == {"level": "low"}
    program.stop()
    # A window that begins while the program runs.
    program = world.start(policy(world, "soon", 5, 86400))
    wait_until(lambda: (m := world.module("dock"))["version"] == "1.1.0" and m["state"] == "Ready" and not m["maintenance"], "updated")
    assert world.skr.get("configmaps", "dock", SYSTEM)["data"] == {"level": "high"}
    program.stop()
    # Without regard to windows.
    world.start(policy(world, "far", 86400, 2 * 86400))
    world.publish("dock", [config_map("dock", level="top")], version="1.2.0", **downtime)
    wait_until(lambda: world.module("dock").get("maintenance"), "waiting")
    world.skr.patch(KYMAS, "default", {"spec": {"skipMaintenanceWindows": True}}, SYSTEM)
    wait_until(lambda: world.module("dock")["version"] == "1.2.0" and world.module("dock")["state"] == "Ready", "updated")
    assert len(world.kcp.items(MANIFESTS, world.namespace, labelSelector=f"{GROUP}/module-name=dock")) == 1


def test_a_descriptor_in_the_template_is_not_read_from_the_registry(world):
    """As templates were written before descriptors moved to the registry: only the layer with the objects is read."""
    world.catalog()
    world.apply("modules/harbour/moduletemplate-1.0.0-inline-descriptor.yaml")
    world.access("fleet-0001")
    world.kyma()
    mark = world.registry.mark()
    world.start()
    world.roll_out()
    world.wait_state("Ready")
    reads = [path for method, path, status in world.registry.requests(mark) if method == "GET" and "harbour" in path]
    assert [path.rpartition("/")[2] for path in reads] == [world.manifest()["spec"]["install"]["source"]["ref"]], reads
    assert len(world.objects()) == 7
