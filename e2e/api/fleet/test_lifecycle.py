# SPDX-License-Identifier: Apache-2.0
"""The lifecycle manager with 300 clusters: what it costs in requests, bytes and descriptors, never in seconds."""

import os
import time

import pytest

from bench.fleet_modules import OBJECTS, SYSTEM
from bench.fleet_world import FleetWorld, kyma_name
from bench.proc import memory
from bench.waiting import wait_until

CLUSTERS = int(os.environ.get("LONGSHORE_FLEET_CLUSTERS", "300"))
HANGING = CLUSTERS // 10
ROTATED = 10
MODULE = "anchor"
# Objects of a module that differ between two versions (fleet_modules.objects).
CHANGED = 2
LEASES = "leases.coordination.k8s.io"
WRITES = ("create", "update", "patch", "delete")
OF_MODULES = ("configmaps", "deployments.apps", "services", "serviceaccounts", "priorityclasses.scheduling.k8s.io",
              *(f"{kind}.rbac.authorization.k8s.io" for kind in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")))
# Upper limits, per cluster.
BYTES_EACH, DESCRIPTORS_EACH = 58e3, 1.1
# Of the program without any cluster.
BYTES_FIRST, DESCRIPTORS_FIRST = 15e6, 60
# Above that at the peak: code, documents of the clusters that are worked on, handshakes and plans under way. They do not grow with the number of clusters.
BYTES_WORKING = 40e6
# On a machine that is busy with other things a request may time out and be repeated, and a connection may be given up and made again.
REPEATED = 1.1
TIMEOUT = 900


@pytest.fixture(scope="module")
def world():
    made = FleetWorld(CLUSTERS, 1)
    yield made
    made.close()


def wait_quiet(world):
    """Waits until no request has been made for two seconds, but those for the Lease."""
    def requests():
        counters = world.fleet.get("counters")
        return counters["requests"] - sum(row["count"] for row in counters["byRequest"] if row["resource"] == LEASES or row["code"] == 0)

    def is_quiet():
        before = requests()
        time.sleep(2)
        return requests() == before
    wait_until(is_quiet, "no more requests", timeout=TIMEOUT)


def of_modules(world, **wanted):
    """Writes to objects of modules in the managed clusters."""
    return sum(world.fleet.requests(world.managed, verb="patch", resource=resource, **wanted) for resource in OF_MODULES)


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def check_registry_reads(world, mark):
    """One descriptor (its manifest, configuration and layer) and one layer with the objects, for all clusters together."""
    reads = [path for method, path, status in world.registry.requests(mark) if method == "GET" and status == 200]
    assert sorted(path.split("/")[-2] for path in reads) == ["blobs", "blobs", "blobs", "manifests"], reads


def about(count, wanted):
    return wanted <= count <= wanted * REPEATED


def check_size(program):
    """Memory that has become free is returned after some seconds."""
    most = BYTES_FIRST + CLUSTERS * BYTES_EACH
    wait_until(lambda: memory(program.pid)["VmRSS"] < most, f"memory below {most:.0f} bytes", timeout=120)
    assert descriptors(program) < DESCRIPTORS_FIRST + CLUSTERS * DESCRIPTORS_EACH, descriptors(program)
    peak = memory(program.pid)["VmHWM"]
    assert peak < most + BYTES_WORKING, peak


def test_300_clusters(world):
    """C4, C6: of the complaints in ../lifecycle/README.md."""
    world.prepare()
    world.fleet.command("reset")
    mark = world.registry.mark()
    program = world.start()
    world.wait_ready(program, timeout=TIMEOUT)

    # Installation: each object is applied once, over one connection per cluster, and the registry is read once for all clusters.
    assert of_modules(world, code=201) == CLUSTERS * OBJECTS
    counters = world.fleet.get("counters", world.managed)
    assert about(counters["connections"], CLUSTERS) and about(counters["handshakes"], CLUSTERS), counters
    # A new cluster is not asked what it has: nothing is refused.
    refused = [row for row in counters["byRequest"] if row["code"] >= 400]
    assert sum(row["count"] for row in refused) <= CLUSTERS // 10, refused
    check_registry_reads(world, mark)
    wait_quiet(world)
    check_size(program)

    # Idle: nothing is written but the Lease.
    world.fleet.command("reset")
    time.sleep(5)
    writes = [row for row in world.fleet.get("counters")["byRequest"] if row["verb"] in WRITES]
    assert {row["resource"] for row in writes} <= {LEASES}, writes

    # A new version, while every tenth cluster does not respond: all others get it. Only what differs is applied.
    world.fleet.command("reset")
    world.fleet.command("fault", (1, HANGING), type="hang")
    mark = world.registry.mark()
    world.publish(MODULE, "2.0.0")
    world.wait_version(program, MODULE, "2.0.0", CLUSTERS - HANGING, timeout=TIMEOUT)
    check_registry_reads(world, mark)
    healthy = (HANGING + 1, CLUSTERS)
    assert about(sum(world.fleet.requests(healthy, verb="patch", resource=resource) for resource in OF_MODULES), (CLUSTERS - HANGING) * CHANGED)
    assert world.fleet.get("counters", healthy)["connections"] <= CLUSTERS * (REPEATED - 1)
    world.fleet.command("heal")
    world.wait_version(program, MODULE, "2.0.0", timeout=TIMEOUT)
    # The catalog of a cluster that did not respond is retried later than its modules. A Kyma is Ready when both are there.
    world.wait_ready(program, timeout=TIMEOUT)
    assert all(world.fleet.client(n).get("configmaps", f"{MODULE}-version", SYSTEM)["data"]["version"] == "2.0.0" for n in (1, 7, CLUSTERS))
    wait_quiet(world)
    check_size(program)

    # New kubeconfigs of some clusters: the new token is used, nothing is written, the others are left alone.
    world.fleet.command("reset")
    before = descriptors(program)
    world.fleet.command("token", (1, ROTATED))
    for cluster, text in world.kubeconfigs((1, ROTATED)).items():
        world.kcp.apply(world.secret(cluster, text))
    world.fleet.client(3).delete("configmaps", f"{MODULE}-settings-0", SYSTEM)
    wait_until(lambda: world.fleet.client(3).find("configmaps", f"{MODULE}-settings-0", SYSTEM), "the object is back", timeout=TIMEOUT)
    assert world.fleet.get("counters", (ROTATED + 1, CLUSTERS))["connections"] <= CLUSTERS * (REPEATED - 1)
    wait_quiet(world)
    # The connections with the old tokens are closed: a rotation of all does not take the memory twice.
    assert descriptors(program) < before + ROTATED // 2, (before, descriptors(program))

    # A restart: everything is read again, nothing is written to a managed cluster.
    assert program.stop(grace=60) in (0, None) or program.exit_code == 0
    world.fleet.command("reset")
    program = world.start()
    # The state of a Kyma is the one that the first process reported, so it does not tell whether this one has connected.
    wait_until(lambda: world.fleet.get("counters", world.managed)["handshakes"] >= CLUSTERS, "all clusters are connected", timeout=TIMEOUT)
    wait_quiet(world)
    world.wait_ready(program, timeout=TIMEOUT)
    counters = world.fleet.get("counters", world.managed)
    assert about(counters["handshakes"], CLUSTERS)
    # A cluster that does not respond in time, because the machine is busy, is reported in the meantime.
    written = [row for row in counters["byRequest"] if row["verb"] in WRITES]
    assert {row["resource"] for row in written} <= {"kymas.operator.kyma-project.io/status"}, written
    assert sum(row["count"] for row in written) <= CLUSTERS * (REPEATED - 1), written
    check_size(program)
    assert world.kcp.find("operator.kyma-project.io/v1beta2/kymas", kyma_name(CLUSTERS), "kcp-system")["status"]["state"] == "Ready"
