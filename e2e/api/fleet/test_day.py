# SPDX-License-Identifier: Apache-2.0
"""Hours in which nothing happens in the clusters, in simulated time: what the lifecycle manager does nevertheless."""

import os
import urllib.parse

from bench.fleet_world import FleetWorld
from bench.proc import memory
from bench.simulated_time import HOUR, SimulatedTime
from bench.waiting import wait_until

CLUSTERS, HOURS = 10, 6
LEASES = "leases.coordination.k8s.io"
WRITES = ("create", "update", "patch", "delete")
TIMEOUT = 900
# Of a heap that is used and trimmed again and again.
BYTES_GROWN = 2e6


def size(program):
    return memory(program.pid)["VmRSS"], len(os.listdir(f"/proc/{program.pid}/fd"))


def test_watches_are_renewed_and_nothing_else_happens_for_hours():
    clock = SimulatedTime()
    world = FleetWorld(CLUSTERS, 1, variables=clock.environment)
    try:
        world.prepare()
        program = world.start()
        world.wait_ready(program, timeout=TIMEOUT)
        world.view.close()
        clock.pass_until(HOUR, TIMEOUT)
        bytes_before, descriptors_before = size(program)
        world.fleet.command("reset")
        world.fleet.command("log", CLUSTERS)
        clock.pass_until(HOURS * HOUR, TIMEOUT)
        program.must_run()
        counters, control_plane = world.fleet.get("counters", world.managed), world.fleet.get("counters", 0)
        watches = counters["openWatches"]
        assert watches >= 4 * CLUSTERS
        # Each watch ends after 30 to 60 minutes and continues where it was: nothing is listed, nothing is refused, no connection is made.
        assert {(row["verb"], row["code"]) for row in counters["byRequest"]} == {("watch", 200)}, counters
        assert (HOURS - 1) <= counters["requests"] / watches <= (HOURS - 1) * 2, (watches, counters)
        assert counters["handshakes"] == 0
        # Watches that began together do not end together: each asks for a time of its own.
        times = [int(urllib.parse.parse_qs(row["target"])["timeoutSeconds"][0]) for row in world.fleet.log(CLUSTERS)]
        assert all(HOUR / 2 <= time < HOUR for time in times) and len(set(times)) > watches / CLUSTERS / 2, times
        # The Lease shows that hours passed in the program, too.
        leases = sum(row["count"] for row in control_plane["byRequest"] if row["resource"] == LEASES)
        assert leases > (HOURS - 1) * HOUR / 60, control_plane
        assert {row["resource"] for row in control_plane["byRequest"] if row["verb"] in WRITES} == {LEASES}, control_plane
        wait_until(lambda: size(program)[0] < bytes_before + BYTES_GROWN, "memory is as before", timeout=60)
        assert size(program)[1] == descriptors_before
    finally:
        world.close()
