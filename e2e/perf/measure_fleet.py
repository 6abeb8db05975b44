# SPDX-License-Identifier: Apache-2.0
"""Measures the lifecycle manager with a simulated fleet (e2e/fleet): 5 modules of 12 objects in each cluster. Cluster 0 of the fleet is the control plane."""

import os
import pathlib
import statistics
import sys
import time
import traceback

from bench.fleet_modules import OBJECTS, SYSTEM
from bench.fleet_world import WATCHES, FleetWorld, kyma_name
from bench.proc import cpu_seconds, memory
from bench.waiting import wait_until
from report_fleet import COPIED, SIZES

MODULES = 5
TIMEOUT = 3600
QUIET_SECONDS = 5
# It gives memory back within TRIM_MS after the last event.
TRIM_SECONDS = 25
SLOW_MS = 2000
LEASES = "leases.coordination.k8s.io"
WRITES = ("create", "update", "patch", "delete")
# Why its Deployment makes a module wait, or not.
STARTING = {"readyReplicas": 0, "availableReplicas": 0, "conditions": [
    {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"},
    {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]}
AVAILABLE = {"readyReplicas": 1, "availableReplicas": 1, "conditions": [
    {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}


def rss(program):
    return memory(program.pid)["VmRSS"]


def descriptors(program):
    return len(os.listdir(f"/proc/{program.pid}/fd"))


def settle(world):
    """Waits until only the Lease is renewed. Returns how long there has been nothing else."""
    seen, since = None, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        counters = world.fleet.get("counters")
        now = counters["requests"] - sum(row["count"] for row in counters["byRequest"] if row["resource"] == LEASES)
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.5)
    return time.monotonic() - since


class Phase:
    """Seconds, CPU time and memory of the lifecycle manager and requests to the managed clusters from its begin to its end."""

    def __init__(self, world, program):
        self.world, self.program = world, program
        world.fleet.command("reset")
        # From now on VmHWM is the peak since now (proc(5)).
        pathlib.Path(f"/proc/{program.pid}/clear_refs").write_text("5")
        self.cpu, self.fleet_cpu = cpu_seconds(program.pid), cpu_seconds(world.fleet.process.pid)
        self.begin, self.mark = time.monotonic(), world.registry.mark()

    def end(self):
        """What is measured until now, until nothing more happens, and after memory was given back."""
        seconds = time.monotonic() - self.begin
        found = {"seconds": seconds, "cpuSeconds": cpu_seconds(self.program.pid) - self.cpu,
                 "fleetCpuSeconds": cpu_seconds(self.world.fleet.process.pid) - self.fleet_cpu}
        quiet = settle(self.world)
        found |= {"quietSeconds": time.monotonic() - self.begin - quiet, "allCpuSeconds": cpu_seconds(self.program.pid) - self.cpu,
                  "rssBytes": rss(self.program), **self.counts()}
        time.sleep(TRIM_SECONDS)
        # The kernel's peak may lag behind by some pages.
        return {**found, "trimmedBytes": rss(self.program), "peakBytes": max(memory(self.program.pid)["VmHWM"], found["rssBytes"])}

    def counts(self):
        counters = self.world.fleet.get("counters", self.world.managed)
        reads = [path for method, path, status in self.world.registry.requests(self.mark) if method == "GET" and status == 200]
        return {"requests": counters["requests"], "writes": counters["writes"], "handshakes": counters["handshakes"],
                "bytesReceived": counters["bytesReceived"], "bytesSent": counters["bytesSent"],
                "controlPlaneWrites": sum(row["count"] for row in self.world.fleet.get("counters", 0)["byRequest"]
                                          if row["verb"] in WRITES and row["resource"] != LEASES),
                "registryManifests": sum("/manifests/" in path for path in reads), "registryBlobs": sum("/blobs/" in path for path in reads)}


def _install(world, program):
    phase = Phase(world, program)
    world.wait_ready(program, timeout=TIMEOUT)
    return phase.end()


def _idle(world, program, seconds):
    time.sleep(TRIM_SECONDS)
    phase = Phase(world, program)
    time.sleep(seconds)
    return {"seconds": time.monotonic() - phase.begin, "cpuSeconds": cpu_seconds(program.pid) - phase.cpu, **phase.counts(),
            "rssBytes": rss(program), "descriptors": descriptors(program),
            "watches": world.fleet.get("counters", world.managed)["openWatches"]}


def _rollout(world, program):
    phase = Phase(world, program)
    world.publish(world.modules[0], "2.0.0")
    world.wait_version(program, world.modules[0], "2.0.0", timeout=TIMEOUT)
    return phase.end()


def _latency(world, program, samples, seconds=0):
    """From the moment at which the Deployment of a module is no longer available to the status in the control plane, in ms, one cluster after the other.
    seconds: the samples are spread over so long."""
    samples = min(samples, world.count // 2)  # the others may be faulty
    step = world.count // 2 // samples
    module, times = world.modules[1], []
    for cluster in range(world.count, world.count - samples * step, -step):
        kube = world.fleet.client(cluster)

        def is_ready():
            return world.view.module_state(kyma_name(cluster), module) == "Ready"

        kube.get("apps/v1/deployments", module, SYSTEM)  # connects
        begin = time.monotonic()
        kube.patch("apps/v1/deployments", module, {"status": STARTING}, SYSTEM, "status")
        world.view.wait(lambda: not is_ready(), f"the state of {kyma_name(cluster)}", program, TIMEOUT)
        times.append((time.monotonic() - begin) * 1000)
        kube.patch("apps/v1/deployments", module, {"status": AVAILABLE}, SYSTEM, "status")
        world.view.wait(is_ready, f"the state of {kyma_name(cluster)}", program, TIMEOUT)
        time.sleep(seconds / samples)
    return {"samples": samples, "p50Ms": statistics.median(times), "p99Ms": sorted(times)[max(0, -(-samples * 99 // 100) - 1)], "maxMs": max(times)}


def _latency_with_faults(world, program, samples, seconds):
    """1 % of the clusters are down, 1 % slow, 10 % hang, and all of these have to be connected again, so that somebody waits for them. seconds is longer than the
    timeout of a request, so that retries are included."""
    percent = max(1, world.count // 100)
    slow = (percent + 1, 2 * percent)
    hang = (2 * percent + 1, 2 * percent + max(1, world.count // 10))
    world.fleet.command("fault", (1, percent), type="down")
    world.fleet.command("fault", slow, type="slow", delay=SLOW_MS)
    world.fleet.command("fault", hang, type="hang")
    world.fleet.command("restart", (1, hang[1]))
    cpu, begin = cpu_seconds(program.pid), time.monotonic()
    found = _latency(world, program, samples, seconds)
    found["cpuPercent"] = (cpu_seconds(program.pid) - cpu) / (time.monotonic() - begin) * 100
    world.fleet.command("heal")
    world.wait_ready(program, timeout=TIMEOUT)
    settle(world)
    return found


def _rotation(world, program):
    """New kubeconfigs of all clusters; the old tokens are refused."""
    phase = Phase(world, program)
    before = rss(program)
    world.fleet.command("token", world.managed)
    world.kcp.apply_many(world.secret(cluster, text) for cluster, text in world.kubeconfigs().items())
    wait_until(lambda: world.fleet.get("counters", world.managed)["handshakes"] >= world.count, "all clusters are connected", timeout=TIMEOUT,
               interval=0.5)
    found = phase.end()
    world.wait_ready(program, timeout=TIMEOUT)
    return {**found, "grownBytes": rss(program) - before}


def _restart(world, watches):
    """Until the state of each cluster is known: its Kyma and the Deployments of its modules have been read. watches: as many are open in the end. Returns the
    program, too."""
    program = world.start()
    phase = Phase(world, program)

    def is_known():
        rows = world.fleet.get("counters", world.managed)["byRequest"]
        lists = {row["resource"]: row["count"] for row in rows if row["verb"] == "list" and row["code"] == 200}
        return all(lists.get(resource, 0) >= world.count for resource in ("kymas.operator.kyma-project.io", "deployments.apps"))

    wait_until(is_known, "the state of all clusters is known", timeout=TIMEOUT, interval=max(0.2, world.count / 10000))
    found = phase.end()
    wait_until(lambda: world.fleet.get("counters", world.managed)["openWatches"] >= watches, f"{watches} watches", timeout=TIMEOUT, interval=1)
    return program, found


def measure(clusters, idle_seconds, samples):
    """Yields what has been measured so far, after each step. Thousands of clusters are not installed but copied, and begin with a cold start."""
    world = FleetWorld(clusters, MODULES)
    is_copied = clusters >= COPIED
    found = {"clusters": clusters, "modules": MODULES, "objects": MODULES * OBJECTS, "isCopied": is_copied}

    def note(name, value):
        print(f"  {clusters} clusters, {name}: " + ", ".join(f"{key} {number:.1f}" for key, number in value.items()), file=sys.stderr, flush=True)
        found[name] = value
        return found

    try:
        begin = time.monotonic()
        world.prepare_installed() if is_copied else world.prepare()
        yield note("prepare", {"seconds": time.monotonic() - begin})
        if is_copied:
            program, restart = _restart(world, WATCHES * clusters)
            yield note("restart", restart)
        else:
            program = world.start()
            yield note("install", _install(world, program))
        yield note("idle", _idle(world, program, idle_seconds))
        yield note("rollout", _rollout(world, program))
        yield note("latency", _latency(world, program, samples))
        yield note("latencyWithFaults", _latency_with_faults(world, program, samples, idle_seconds))
        yield note("rotation", _rotation(world, program))
        if not is_copied:
            program.stop(grace=120)
            yield note("restart", _restart(world, found["idle"]["watches"])[1])
        yield note("fleet", {"rssBytes": memory(world.fleet.process.pid)["VmRSS"], "objects": world.fleet.get("memory")["objects"]})
    finally:
        world.close()


def fleet(quick, sizes, before):
    """Yields the results of all sizes whenever there is something new. before: those of an earlier run, of which other sizes are kept."""
    results = {} if quick else {result["clusters"]: result for result in before}
    failed = []
    for size in sizes or ((10,) if quick else SIZES):
        try:
            for results[size] in measure(size, 5 if quick else 60, 5 if quick else 200):
                yield [results[key] for key in sorted(results)]
        except Exception:  # the other sizes are measured nevertheless
            traceback.print_exc()
            failed.append(str(size))
    if failed:
        raise RuntimeError(f"the measurement with {' and '.join(failed)} clusters is not complete")
