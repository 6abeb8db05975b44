# SPDX-License-Identifier: Apache-2.0
"""The namespace of the modules is being terminated in one cluster for half a day, in simulated time. All objects in it are gone, and none can be created."""

from bench.fleet_modules import SYSTEM
from bench.fleet_world import FleetWorld, kyma_name
from bench.simulated_time import HOUR, SimulatedTime

HOURS = 12
# The interval between two attempts grows to between five and ten minutes.
ATTEMPTS_MAX, LINES_MAX = HOURS * 12 + 20, 20
TIMEOUT = 600


def test_a_terminating_namespace_costs_little_for_half_a_day():
    """C1: the original sent 687,000 requests in that time."""
    clock = SimulatedTime()
    world = FleetWorld(2, 1, variables=clock.environment)
    try:
        world.prepare()
        program = world.start()
        world.wait_ready(program, timeout=TIMEOUT)
        clock.pass_until(60, TIMEOUT)
        lines = len(program.output().splitlines())
        world.fleet.command("terminate", 1, namespace=SYSTEM)
        world.fleet.command("reset")
        world.view.wait(lambda: world.view.states["Error"] == 1, "a Kyma in Error", program, TIMEOUT)
        clock.pass_until(HOURS * HOUR, TIMEOUT)
        program.must_run()
        counters = world.fleet.get("counters", 1)
        requests = [row for row in counters["byRequest"] if row["verb"] != "watch"]
        assert HOURS < sum(row["count"] for row in requests) <= ATTEMPTS_MAX, requests
        assert counters["handshakes"] == 0
        assert len(program.output().splitlines()) - lines <= LINES_MAX, program.output()[-4000:]
        # The other cluster is fine.
        assert world.kcp.get("operator.kyma-project.io/v1beta2/kymas", kyma_name(2), "kcp-system")["status"]["state"] == "Ready"
        assert {row["verb"] for row in world.fleet.get("counters", 2)["byRequest"]} <= {"watch"}
    finally:
        world.close()
