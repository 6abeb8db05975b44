# SPDX-License-Identifier: Apache-2.0
"""What a registry has to serve when a version reaches a thousand clusters."""

import pytest

from bench.fleet_modules import SYSTEM, component, small_objects
from bench.fleet_world import FleetWorld
from bench.waiting import wait_until

CLUSTERS = 1000
MODULE = "anchor"
TIMEOUT = 600


@pytest.fixture
def world():
    made = FleetWorld(CLUSTERS, 1, content=small_objects)
    yield made
    made.close()


def served(world, mark):
    """What was read, without the digests: the manifest, its configuration, the descriptor and the layer with the objects."""
    reads = [path for method, path, status in world.registry.requests(mark) if method == "GET" and status == 200 and component(MODULE) in path]
    return sorted(path.split("/")[-2] for path in reads), len(set(reads))


def test_a_version_is_read_once_for_a_thousand_clusters(world):
    """C6: one descriptor and one layer, for the installation and for a new version."""
    world.prepare()
    mark = world.registry.mark()
    program = world.start()
    world.wait_ready(program, timeout=TIMEOUT)
    assert served(world, mark) == (["blobs", "blobs", "blobs", "manifests"], 4)

    mark = world.registry.mark()
    world.publish(MODULE, "2.0.0")
    world.wait_version(program, MODULE, "2.0.0", timeout=TIMEOUT)
    # The log of the registry is written a moment after its response.
    wait_until(lambda: len(served(world, mark)[0]) >= 4, "the reads of the new version")
    assert served(world, mark) == (["blobs", "blobs", "blobs", "manifests"], 4)
    # A request that times out on a busy machine is repeated.
    assert 2 * CLUSTERS <= world.fleet.requests(world.managed, verb="patch", resource="configmaps") <= 2.2 * CLUSTERS
    assert all(world.fleet.client(n).get("configmaps", f"{MODULE}-version", SYSTEM)["data"]["version"] == "2.0.0" for n in (1, 500, CLUSTERS))
