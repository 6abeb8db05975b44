# SPDX-License-Identifier: Apache-2.0
"""Measures the lifecycle manager with a simulated fleet (e2e/fleet): 5 modules of 12 objects in each cluster. Cluster 0 of the fleet is the control plane."""

import os
import statistics
import time

from bench.fleet_modules import OBJECTS, SYSTEM
from bench.fleet_world import KYMAS, NAMESPACE, FleetWorld, kyma_name
from bench.proc import cpu_seconds, memory
from bench.waiting import wait_until
from report_fleet import SIZES

MODULES = 5
TIMEOUT = 3600
LEASES = "leases.coordination.k8s.io"


def _rss(program):
    return memory(program.pid)["VmRSS"]


def _settled(world):
    """Waits until only the Lease is renewed."""
    def others():
        return sum(row["count"] for row in world.fleet.get("counters")["byRequest"] if row["resource"] != LEASES)

    def is_quiet():
        before = others()
        time.sleep(5)
        return others() == before
    wait_until(is_quiet, "no more requests", timeout=TIMEOUT, interval=1)


class Phase:
    """Seconds, CPU time of the lifecycle manager and requests to the managed clusters from its begin to its end."""

    def __init__(self, world, program):
        self.world, self.program = world, program
        world.fleet.command("reset")
        self.cpu, self.begin, self.mark = cpu_seconds(program.pid), time.monotonic(), world.registry.mark()

    def end(self):
        counters = self.world.fleet.get("counters", self.world.managed)
        return {"seconds": time.monotonic() - self.begin, "cpuSeconds": cpu_seconds(self.program.pid) - self.cpu,
                "requests": counters["requests"], "writes": counters["writes"], "handshakes": counters["handshakes"],
                "bytesReceived": counters["bytesReceived"], "bytesSent": counters["bytesSent"],
                "controlPlaneWrites": sum(row["count"] for row in self.world.fleet.get("counters", 0)["byRequest"]
                                          if row["verb"] in ("create", "update", "patch", "delete") and row["resource"] != LEASES),
                "registryReads": sum(1 for method, _, _ in self.world.registry.requests(self.mark) if method == "GET")}


def _install(world):
    program = world.start()
    phase = Phase(world, program)
    world.wait_ready(program, timeout=TIMEOUT)
    found = phase.end()
    _settled(world)
    return program, found


def _idle(world, program, seconds):
    phase = Phase(world, program)
    time.sleep(seconds)
    return {**phase.end(), "rssBytes": _rss(program), "descriptors": len(os.listdir(f"/proc/{program.pid}/fd")),
            "watches": world.fleet.get("counters", world.managed)["openWatches"]}


def _rollout(world, program):
    phase = Phase(world, program)
    world.publish(world.modules[0], "2.0.0")
    world.wait_version(program, world.modules[0], "2.0.0", timeout=TIMEOUT)
    found = phase.end()
    _settled(world)
    return found


def _latency(world, samples):
    """From the moment at which the Deployment of a module is no longer available to the status in the control plane, in ms, one cluster after the other."""
    samples = min(samples, world.count // 2)  # the others may be faulty
    healthy = [world.count - number for number in range(samples)]
    times = []
    for cluster in healthy:
        kube = world.fleet.client(cluster)
        deployment = world.modules[1]

        def state():
            modules = world.kcp.get(KYMAS, kyma_name(cluster), NAMESPACE).get("status", {}).get("modules", [])
            return next((module["state"] for module in modules if module["name"] == deployment), "")

        kube.patch("apps/v1/deployments", deployment, {"status": {"readyReplicas": 0, "availableReplicas": 0, "conditions": [
            {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"},
            {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]}}, SYSTEM, "status")
        begin = time.monotonic()
        wait_until(lambda: state() != "Ready", f"the state of {kyma_name(cluster)}", timeout=TIMEOUT, interval=0.002)
        times.append((time.monotonic() - begin) * 1000)
        kube.patch("apps/v1/deployments", deployment, {"status": {"readyReplicas": 1, "availableReplicas": 1, "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}}, SYSTEM, "status")
    return {"samples": samples, "p50Ms": statistics.median(times), "p99Ms": sorted(times)[max(0, int(samples * 0.99) - 1)]}


def _latency_with_faults(world, samples):
    """1 % of the clusters are down, 1 % slow, 10 % hang."""
    percent = max(1, world.count // 100)
    down, slow = (1, percent), (percent + 1, 2 * percent)
    hang = (2 * percent + 1, 2 * percent + max(1, world.count // 10))
    world.fleet.command("fault", down, type="down")
    world.fleet.command("fault", slow, type="slow", delay=2000)
    world.fleet.command("fault", hang, type="hang")
    found = _latency(world, samples)
    world.fleet.command("heal")
    _settled(world)
    return found


def _rotation(world, program):
    """New kubeconfigs of all clusters; the old tokens are refused."""
    phase = Phase(world, program)
    rss = _rss(program)
    world.fleet.command("token", world.managed)
    for cluster, text in world.kubeconfigs().items():
        world.kcp.apply(world.secret(cluster, text))
    _settled(world)
    world.wait_ready(program, timeout=TIMEOUT)
    return {**phase.end(), "grownBytes": _rss(program) - rss}


def _restart(world, program):
    program.stop(grace=120)
    program = world.start()
    phase = Phase(world, program)
    wait_until(lambda: world.fleet.get("counters", world.managed)["openWatches"] >= world.count * 4, "all clusters are watched", timeout=TIMEOUT,
               interval=0.5)
    found = phase.end()
    _settled(world)
    return {**found, "rssBytes": _rss(program)}


def _measure(clusters, idle_seconds, samples):
    world = FleetWorld(clusters, MODULES)
    try:
        world.prepare()
        program, installed = _install(world)
        found = {"clusters": clusters, "modules": MODULES, "objects": MODULES * OBJECTS, "install": installed,
                 "idle": _idle(world, program, idle_seconds), "rollout": _rollout(world, program), "latency": _latency(world, samples),
                 "latencyWithFaults": _latency_with_faults(world, samples), "rotation": _rotation(world, program),
                 "restart": _restart(world, program)}
        kept = world.fleet.get("memory")
        return {**found, "fleet": {"rssBytes": memory(world.fleet.process.pid)["VmRSS"], "objects": kept["objects"]}}
    finally:
        world.close()


def fleet(quick):
    """LONGSHORE_FLEET_SIZES=100,1000 selects other numbers of clusters."""
    sizes = os.environ.get("LONGSHORE_FLEET_SIZES") or ("10" if quick else ",".join(map(str, SIZES)))
    return [_measure(int(size), 5 if quick else 60, 5 if quick else 100) for size in sizes.split(",")]
