# SPDX-License-Identifier: Apache-2.0
"""Replicas of the lifecycle manager that share clusters: whatever happens to a replica, a cluster has one writer at a time, and never stays without one."""

import contextlib
import ipaddress
import json
import os
import pathlib
import re
import signal
import urllib.parse

import pytest
import yaml

from bench.fleet_world import NAMESPACE, FleetWorld, kyma_name
from bench.waiting import wait_until

SHARES = 32
MODULE = "anchor"
LEASES = "coordination.k8s.io/v1/leases"
LEADER, SHARE, TOGETHER = "893110f7.kyma-project.io", "longshore-lifecycle-", "longshore-lifecycle-replicas"
WRITES = ("create", "update", "patch", "delete")
TIMEOUT = 600


def share_of(name):
    """FNV-1a, as in common/base/hash.h."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value % SHARES


class Replicas:
    """Processes, and which connections were theirs."""

    def __init__(self, world):
        self.world, self.processes, self.owners, self.addresses = world, {}, {}, {}

    def start(self, name, *flags):
        self.processes[name] = self.world.start(*flags, variables={"MY_POD_NAME": name})
        return self.processes[name]

    def note_connections(self):
        """Notes (address of the server in hexadecimal digits, port) of all processes that run: the log of the fleet has ports."""
        for name, process in self.processes.items():
            if not process.running:
                continue
            inodes = set()
            for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed in the meantime
                    inodes.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
            rows = [line.split() for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
            self.owners.update({(row[2].split(":")[0], int(row[1].split(":")[1], 16)): name for row in rows if row[9] in inodes})

    def owner(self, cluster, port):
        if cluster not in self.addresses:
            host = urllib.parse.urlsplit(yaml.safe_load(self.world.fleet.kubeconfig(cluster))["clusters"][0]["cluster"]["server"]).hostname
            self.addresses[cluster] = f"{int.from_bytes(ipaddress.ip_address(host).packed, 'little'):08X}"
        return self.owners.get((self.addresses[cluster], port))

    def signal(self, name, number):
        """Notes the connections while the process stands still, so that none is missed."""
        self.processes[name].signal(signal.SIGSTOP)
        self.note_connections()
        if number != signal.SIGSTOP:
            self.processes[name].signal(number)

    def wait(self, condition, what):
        def is_met():
            self.note_connections()
            return condition()
        wait_until(is_met, what, timeout=TIMEOUT, interval=0.2)

    def held(self):
        """How many shares each replica has, by the Leases."""
        counts = {}
        for lease in self.world.kcp.items(LEASES, NAMESPACE):
            name = lease["metadata"]["name"]
            if name.startswith(SHARE) and name[len(SHARE):].isdigit() and lease["spec"].get("holderIdentity"):
                holder = lease["spec"]["holderIdentity"].split("_")[0]
                counts[holder] = counts.get(holder, 0) + 1
        return counts

    def wait_held(self, **wanted):
        self.wait(lambda: self.held() == wanted, f"shares {wanted}")

    def wait_version(self, version):
        def has_version(cluster):
            thing = self.world.fleet.client(cluster).find("configmaps", f"{MODULE}-version", "kyma-system")
            return thing and thing["data"]["version"] == version
        self.wait(lambda: all(map(has_version, range(1, self.world.count + 1))), f"version {version} everywhere")


def holders(world):
    """Who held each Lease, as (number of the request, holder), by all writes that the control plane accepted, in order."""
    found = {}
    for row in world.fleet.log(0):
        if row["resource"] != "leases.coordination.k8s.io" or row["verb"] not in ("create", "update") or row["code"] >= 300:
            continue
        body = json.loads(row["body"])
        found.setdefault(body["metadata"]["name"], []).append((row["number"], (body["spec"].get("holderIdentity") or "").split("_")[0]))
    return found


def holder_at(history, number):
    return next((holder for at, holder in reversed(history) if at < number), "")


def check_writers(world, replicas):
    """Every write to a cluster came from the replica that was responsible for it at that moment. Returns who wrote to each cluster, in order."""
    replicas.note_connections()  # some may have been made since the last wait()
    leases = holders(world)
    in_control_plane = world.fleet.log(0)
    writers = {}
    for cluster in range(1, world.count + 1):
        share = leases.get(f"{SHARE}{share_of(kyma_name(cluster))}", [])
        # The objects of the cluster in the control plane count, too.
        own = re.compile(f"/(kymas/{kyma_name(cluster)}|manifests/{kyma_name(cluster)}-.*)([/?]|$)")
        rows = [(cluster, row) for row in world.fleet.log(cluster)] + [(0, row) for row in in_control_plane if own.search(row["target"])]
        for server, row in sorted(rows, key=lambda found: found[1]["number"]):
            if row["verb"] not in WRITES or not row["agent"].startswith("longshore"):
                continue
            leader = holder_at(leases[LEADER], row["number"])
            wanted = holder_at(share, row["number"]) if leader == TOGETHER else leader
            assert wanted == replicas.owner(server, row["port"]), (cluster, row, leases[LEADER], share)
            if writers.setdefault(cluster, [])[-1:] != [wanted]:
                writers[cluster].append(wanted)
    return writers


@pytest.fixture
def make_world():
    """make_world(clusters): a world with one module, of which every request is logged."""
    made = []

    def make(clusters):
        made.append(FleetWorld(clusters, 1))
        made[-1].prepare()
        made[-1].fleet.command("log", bodies="true")
        return made[-1]

    yield make
    for world in made:
        world.close()


def test_replicas_share_clusters_and_take_over_from_each_other(make_world):
    world = make_world(30)
    replicas = Replicas(world)
    first = replicas.start("first", "--share-clusters")
    second = replicas.start("second", "--share-clusters")
    replicas.wait_held(first=SHARES // 2, second=SHARES // 2)
    replicas.wait_version("1.0.0")
    replicas.start("third", "--share-clusters")
    replicas.wait(lambda: sorted(replicas.held().values()) == [10, 11, 11] and len(replicas.held()) == 3, "three replicas have shares")
    # A replica that dies is noticed after this time, and one read of the Leases before and after it: within a minute.
    assert all(lease["spec"]["leaseDurationSeconds"] == 30 for lease in world.kcp.items(LEASES, NAMESPACE)
               if lease["metadata"]["name"].startswith(SHARE) and lease["spec"].get("holderIdentity"))

    # Two of three fail during a rollout: one dies, one stands still. The last one does their work.
    world.publish(MODULE, "2.0.0")
    replicas.wait(lambda: world.fleet.requests(world.managed, verb="patch", resource="deployments.apps", code=200) > 0, "the rollout has begun")
    replicas.signal("third", signal.SIGKILL)
    replicas.signal("second", signal.SIGSTOP)
    replicas.wait_version("2.0.0")
    replicas.wait_held(first=SHARES)

    # The one that stood still awakes during the next rollout, and gets shares again.
    world.publish(MODULE, "3.0.0")
    second.signal(signal.SIGCONT)
    replicas.wait_version("3.0.0")
    replicas.wait_held(first=SHARES // 2, second=SHARES // 2)

    # One ends as it should, in the middle of a rollout: it hands over what it has.
    world.publish(MODULE, "4.0.0")
    replicas.note_connections()
    assert first.stop(grace=60) == 0
    replicas.wait_version("4.0.0")
    replicas.wait_held(second=SHARES)
    world.wait_ready(second, timeout=TIMEOUT)

    writers = check_writers(world, replicas)
    assert len(writers) == world.count
    assert {"first", "second"} <= {name for names in writers.values() for name in names} <= {"first", "second", "third"}
    assert all(names[-1] == "second" for names in writers.values()), writers


def test_replicas_that_share_never_work_beside_one_that_has_all_clusters(make_world):
    world = make_world(3)
    replicas = Replicas(world)
    alone = replicas.start("alone")
    replicas.wait_version("1.0.0")
    shared = replicas.start("shared", "--share-clusters")
    replicas.wait_held(shared=SHARES)
    world.publish(MODULE, "2.0.0")
    replicas.wait_version("2.0.0")
    alone.stop(grace=60)
    world.publish(MODULE, "3.0.0")
    replicas.wait_version("3.0.0")
    world.wait_ready(shared, timeout=TIMEOUT)
    writers = check_writers(world, replicas)
    assert all(names[0] == "alone" and names[-1] == "shared" for names in writers.values()), writers
    assert world.kcp.get(LEASES, LEADER, NAMESPACE)["spec"]["holderIdentity"] == TOGETHER
