# SPDX-License-Identifier: Apache-2.0
"""The start of the lifecycle manager with many clusters."""

import pytest

from bench.fleet_world import NAMESPACE, WATCHES, FleetWorld, kyma_name
from bench.kyma_view import KYMAS
from bench.waiting import wait_until

COPIED = 40
# More clusters than are connected at a time (slots.h).
HANGING, HEALTHY = 420, 20
LEASES = "leases.coordination.k8s.io"
WRITES = ("create", "update", "patch", "delete")
TIMEOUT = 300


@pytest.fixture
def make_world():
    worlds = []

    def make(*arguments):
        worlds.append(FleetWorld(*arguments))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def test_a_start_reads_every_cluster_once_and_writes_nothing(make_world):
    """The clusters are copies of one that was installed, which is also what the benchmark measures."""
    world = make_world(COPIED, 5)
    world.prepare_installed()
    kymas = {kyma["metadata"]["name"]: kyma for kyma in world.kcp.list(KYMAS, NAMESPACE)["items"]}
    assert set(kymas) == {kyma_name(cluster) for cluster in world.kubeconfigs()}
    assert len({kyma["metadata"]["uid"] for kyma in kymas.values()}) == COPIED
    world.fleet.command("reset")
    world.start()
    wait_until(lambda: world.fleet.get("counters", world.managed)["openWatches"] >= WATCHES * COPIED, "all watches", timeout=TIMEOUT)
    counters = world.fleet.get("counters", world.managed)
    lists = {row["resource"]: row["count"] for row in counters["byRequest"] if row["verb"] == "list"}
    assert len(lists) == WATCHES and set(lists.values()) == {COPIED}, lists
    assert counters["handshakes"] == COPIED
    assert counters["writes"] == 0
    assert [row for row in world.fleet.get("counters", 0)["byRequest"] if row["verb"] in WRITES and row["resource"] != LEASES] == []
    for name, kyma in {kyma["metadata"]["name"]: kyma for kyma in world.kcp.list(KYMAS, NAMESPACE)["items"]}.items():
        assert kyma == kymas[name], "written by nobody"

    # When the clusters restart, their TLS sessions are resumed.
    world.fleet.command("reset")
    world.fleet.command("restart", world.managed)
    wait_until(lambda: world.fleet.get("counters", world.managed)["handshakes"] >= COPIED, "all clusters are connected again", timeout=TIMEOUT)
    counters = world.fleet.get("counters", world.managed)
    assert counters["resumedHandshakes"] >= COPIED * 0.9, counters


def test_clusters_that_hang_do_not_keep_others_from_being_connected(make_world):
    world = make_world(HANGING + HEALTHY, 1)
    world.fleet.command("fault", (1, HANGING), type="hang")
    world.prepare()
    program = world.start()
    world.wait_ready(program, HEALTHY, timeout=TIMEOUT)
    healthy = {kyma_name(cluster) for cluster in range(HANGING + 1, HANGING + HEALTHY + 1)}
    ready = {kyma["metadata"]["name"] for kyma in world.kcp.list(KYMAS, NAMESPACE)["items"] if kyma.get("status", {}).get("state") == "Ready"}
    assert ready == healthy
    wait_until(lambda: world.fleet.get("counters", (1, HANGING))["handshakes"] >= HANGING, "an attempt for each of the others", timeout=TIMEOUT)
