# SPDX-License-Identifier: Apache-2.0
"""How many requests the lifecycle manager has in flight, counted by slow clusters. How many modules are applied at a time in all clusters together is shown by
deployer/lifecycle/tests/slots_test.c."""

import time

import pytest

from bench.fleet_modules import API, SYSTEM, small_objects
from bench.fleet_world import FleetWorld, NAMESPACE
from bench.waiting import wait_until

# KUBE_IN_FLIGHT_MAX, of one API server. The Lease does not wait for others.
REQUESTS, LEASE = 16, 1
# CLUSTER_WATCHES_MAX. Watches, and the lists with which they begin, do not count as such requests.
WATCHES = 256
# LIFECYCLE_CONNECTING_MAX
CONNECTING = 200
# CONNECT_SLOT_MS. Later a cluster leaves its place to the next one, while its request stays in flight.
PLACE_SECONDS = 3
NAMESPACES = 70
TIMEOUT = 600


def many_namespaces(module, version):
    """Objects of which none has to wait for another but for its namespace, in as many places as possible."""
    names = [f"{module}-{number}" for number in range(NAMESPACES)]
    return [*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names),
            *({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "version", "namespace": name}, "data": {"version": version}} for name in names)]


@pytest.fixture
def make_world():
    worlds = []

    def make(*arguments, **options):
        worlds.append(FleetWorld(*arguments, **options))
        worlds[-1].prepare()
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def most(world, clusters):
    """The most requests that one of the clusters had in flight since the last call."""
    count = world.fleet.get("counters", clusters)["mostInFlight"]
    world.fleet.command("reset")
    return count


def test_requests_to_a_managed_cluster_are_limited(make_world):
    """Installation, update and removal of four modules with 140 objects each in 280 namespaces."""
    world = make_world(1, 4, content=many_namespaces)
    world.fleet.command("fault", 1, type="slow", delay=200)
    program = world.start()
    world.wait_ready(program, timeout=TIMEOUT)
    watches = len(("kymas", "moduletemplates", "modulereleasemetas", "namespaces", "configmaps"))
    assert REQUESTS <= most(world, 1) <= REQUESTS + watches
    for module in world.modules:
        world.publish(module, "2.0.0")
    for module in world.modules:
        world.wait_version(program, module, "2.0.0", timeout=TIMEOUT)
    assert REQUESTS <= most(world, 1) <= REQUESTS + watches
    # Removal watches every namespace until its objects are gone.
    world.fleet.client(1).patch(f"{API}/kymas", "default", {"spec": {"modules": []}}, SYSTEM)
    wait_until(lambda: not world.kcp.items(f"{API}/manifests", NAMESPACE), "the modules are gone", timeout=TIMEOUT)
    assert REQUESTS <= most(world, 1) <= REQUESTS + WATCHES


def test_requests_to_the_control_plane_are_limited(make_world):
    """Forty clusters get a new version while the control plane is slow."""
    world = make_world(40, 1, content=small_objects)
    program = world.start()
    world.wait_ready(program, timeout=TIMEOUT)
    most(world, 0)
    world.fleet.command("fault", 0, type="slow", delay=300, verb="patch")
    module, = world.modules
    world.publish(module, "2.0.0")
    world.wait_version(program, module, "2.0.0", timeout=TIMEOUT)
    assert REQUESTS <= most(world, 0) <= REQUESTS + LEASE


def test_few_clusters_are_connected_at_a_time(make_world):
    """More clusters than that do not respond. When they do again, every cluster gets its turn."""
    world = make_world(CONNECTING + 30, 1, content=small_objects)
    world.fleet.command("fault", world.managed, type="hang")
    begin = time.monotonic()
    program = world.start()
    samples = []  # (seconds since the begin, requests)

    def in_flight():
        program.must_run()
        count = world.fleet.get("counters", world.managed)["inFlight"]
        samples.append((time.monotonic() - begin, count))
        return len(samples) > 20 and any(count >= CONNECTING for _, count in samples)
    wait_until(in_flight, f"{CONNECTING} clusters are being connected", timeout=TIMEOUT)
    assert all(count <= CONNECTING for seconds, count in samples if seconds < PLACE_SECONDS), samples
    world.fleet.command("heal")
    world.wait_ready(program, timeout=TIMEOUT)
