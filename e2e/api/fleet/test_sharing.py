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

CLUSTERS, SHARES = 30, 32
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
        self.wait(lambda: all(map(has_version, range(1, CLUSTERS + 1))), f"version {version} everywhere")


def holders(world):
    """(number of the request, share, holder) of all writes to Leases of shares that the control plane accepted, in order."""
    found = []
    for row in world.fleet.log(0):
        name = row["target"].split("?")[0].rsplit("/", 1)[1]
        if row["resource"] != "leases.coordination.k8s.io" or row["verb"] not in WRITES or row["code"] >= 300 or "body" not in row:
            continue
        body = json.loads(row["body"])
        name = body.get("metadata", {}).get("name", name)
        if name.startswith(SHARE) and name[len(SHARE):].isdigit():
            found.append((row["number"], int(name[len(SHARE):]), (body["spec"].get("holderIdentity") or "").split("_")[0]))
    return found


def check_writers(world, replicas):
    """Every write to a cluster came from the replica that held its share at that moment. Returns who wrote to each cluster, in order."""
    history = {share: [] for share in range(SHARES)}
    for number, share, holder in holders(world):
        history[share].append((number, holder))
    in_control_plane = world.fleet.log(0)
    writers = {}
    for cluster in range(1, CLUSTERS + 1):
        share = share_of(kyma_name(cluster))
        # The objects of the cluster in the control plane count, too.
        own = re.compile(f"/(kymas/{kyma_name(cluster)}|manifests/{kyma_name(cluster)}-.*)([/?]|$)")
        rows = [(cluster, row) for row in world.fleet.log(cluster)] + [(0, row) for row in in_control_plane if own.search(row["target"])]
        for server, row in sorted(rows, key=lambda found: found[1]["number"]):
            if row["verb"] not in WRITES or not row["agent"].startswith("longshore"):
                continue
            holder = [holder for number, holder in history[share] if number < row["number"]][-1:]
            assert holder == [replicas.owner(server, row["port"])], (cluster, share, row, history[share])
            if writers.setdefault(cluster, [])[-1:] != holder:
                writers[cluster] += holder
    return writers


@pytest.fixture
def world():
    made = FleetWorld(CLUSTERS, 1)
    yield made
    made.close()


def test_replicas_share_clusters_and_take_over_from_each_other(world):
    world.prepare()
    world.fleet.command("log", bodies="true")
    replicas = Replicas(world)
    first = replicas.start("first", "--share-clusters")
    second = replicas.start("second", "--share-clusters")
    replicas.wait_held(first=SHARES // 2, second=SHARES // 2)
    # One that wants all clusters for itself waits as long as there are others.
    alone = replicas.start("alone")
    replicas.wait_version("1.0.0")
    replicas.start("third", "--share-clusters")
    replicas.wait(lambda: sorted(replicas.held().values()) == [10, 11, 11] and len(replicas.held()) == 3, "three replicas have shares")
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
    assert "first" not in replicas.held()
    replicas.wait_version("4.0.0")
    replicas.wait_held(second=SHARES)
    world.wait_ready(second, timeout=TIMEOUT)

    writers = check_writers(world, replicas)
    assert len(writers) == CLUSTERS
    assert {name for names in writers.values() for name in names} == {"first", "second", "third"}
    assert all(names[-1] == "second" for names in writers.values()), writers
    assert alone.running and world.kcp.get(LEASES, LEADER, NAMESPACE)["spec"]["holderIdentity"] == TOGETHER
