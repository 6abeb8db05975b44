# SPDX-License-Identifier: Apache-2.0
"""Metrics of more clusters than have series of their own (METRICS_CLUSTERS_MAX in deployer/lifecycle/metrics.c)."""

import re
import urllib.request

from bench import ports
from bench.fleet_modules import small_objects
from bench.fleet_world import FleetWorld, kyma_name
from bench.waiting import wait_until

CLUSTERS, BROKEN = 205, 7
TIMEOUT = 600


def test_many_clusters_have_sums_and_only_errors_name_their_cluster():
    """What dashboards of the original show stays correct: sums by state, modules by name, and a list of modules in Error."""
    world = FleetWorld(CLUSTERS, 2, content=small_objects)
    port = ports.free_port()

    def states(metric, *labels):
        """The values that are not 0, by labels and state."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            rows = re.findall(rf"^{metric}{{(.*)}} (\d+)$", answer.read().decode(), re.M)
        found = [(dict(re.findall(r'(\w+)="(.*?)"', row)), int(value)) for row, value in rows]
        return {tuple(row.get(label) for label in (*labels, "state")): value for row, value in found if value}

    try:
        world.prepare()
        program = world.start(f"--metrics-address=127.0.0.1:{port}")
        world.wait_ready(program, timeout=TIMEOUT)
        first, second = world.modules
        wait_until(lambda: states("lifecycle_mgr_kyma_state", "kyma_name") == {(None, "Ready"): CLUSTERS}, "all are Ready", timeout=TIMEOUT)
        assert states("lifecycle_mgr_module_state", "module_name", "kyma_name") == {(first, None, "Ready"): CLUSTERS, (second, None, "Ready"): CLUSTERS}
        # One cluster refuses a new version of a module.
        world.fleet.command("fault", BROKEN, type="status", code=403, verb="patch", resource="configmaps")
        world.publish(first, "2.0.0")
        world.wait_version(program, first, "2.0.0", CLUSTERS - 1, timeout=TIMEOUT)
        expected = {(first, None, "Ready"): CLUSTERS - 1, (first, kyma_name(BROKEN), "Error"): 1, (second, None, "Ready"): CLUSTERS}
        wait_until(lambda: states("lifecycle_mgr_module_state", "module_name", "kyma_name") == expected, f"{expected}", timeout=TIMEOUT)
        wait_until(lambda: states("lifecycle_mgr_kyma_state", "kyma_name") == {(None, "Ready"): CLUSTERS - 1, (kyma_name(BROKEN), "Error"): 1},
                   "the cluster in Error", timeout=TIMEOUT)
    finally:
        world.close()
