# SPDX-License-Identifier: Apache-2.0
"""Measures a day of the lifecycle manager in which nothing happens in its clusters, in simulated time: watches end and are renewed, bookmarks come,
the Lease is renewed, what is checked now and then is checked. Nothing may grow, and nothing is written."""

import sys
import time

from bench.fleet_world import FleetWorld
from bench.simulated_time import HOUR, SimulatedTime
from measure_fleet import LEASES, MODULES, TIMEOUT, WRITES, descriptors, rss, settle

SIZE, SIZE_MAX = 100, 1000
# A watch gets a bookmark every minute, as from an API server. With more clusters they would be most of the work of the day, so there are fewer of them; but a
# watch without any for 150 seconds would be taken for dead.
BOOKMARK_SECONDS, BOOKMARK_SECONDS_MANY = 60, 120
FEW = 100
HOURS = 24


def _day(clusters, hours):
    clock = SimulatedTime()
    bookmarks = BOOKMARK_SECONDS if clusters <= FEW else BOOKMARK_SECONDS_MANY
    world = FleetWorld(clusters, MODULES, "--bookmarks", bookmarks, variables=clock.environment)
    try:
        world.prepare()
        program = world.start()
        world.wait_ready(program, timeout=TIMEOUT)
        settle(world)
        world.view.close()  # its watch would be renewed, too
        begin = time.monotonic()
        clock.pass_until(HOUR, TIMEOUT)
        first = {"rssBytes": rss(program), "descriptors": descriptors(program)}
        world.fleet.command("reset")
        clock.pass_until(hours * HOUR, TIMEOUT)
        program.must_run()
        counters, control_plane = world.fleet.get("counters", world.managed), world.fleet.get("counters", 0)
        return {"clusters": clusters, "hours": hours, "bookmarkSeconds": bookmarks, "seconds": time.monotonic() - begin,
                "first": first, "last": {"rssBytes": rss(program), "descriptors": descriptors(program)},
                "watches": counters["openWatches"], "requests": counters["requests"], "writes": counters["writes"],
                "renewals": sum(row["count"] for row in counters["byRequest"] if row["verb"] == "watch"),
                "lists": sum(row["count"] for row in counters["byRequest"] if row["verb"] == "list"),
                "handshakes": counters["handshakes"], "refused": sum(row["count"] for row in counters["byRequest"] if row["code"] >= 400),
                "leaseRenewals": sum(row["count"] for row in control_plane["byRequest"] if row["resource"] == LEASES),
                "controlPlaneWrites": sum(row["count"] for row in control_plane["byRequest"] if row["verb"] in WRITES and row["resource"] != LEASES)}
    finally:
        world.close()


def days(quick, sizes, before):
    """As measure_fleet.fleet()."""
    results = {} if quick else {result["clusters"]: result for result in before}
    for size in [size for size in sizes if size <= SIZE_MAX] or [10 if quick else SIZE]:
        results[size] = _day(size, 3 if quick else HOURS)
        print(f"  {results[size]}", file=sys.stderr, flush=True)
        yield [results[key] for key in sorted(results)]
