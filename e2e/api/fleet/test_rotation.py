# SPDX-License-Identifier: Apache-2.0
"""New kubeconfigs again and again, as an infrastructure that rotates them every hour makes them."""

import os

from bench.fleet_modules import SYSTEM
from bench.fleet_world import FleetWorld
from bench.proc import memory
from bench.waiting import wait_until

MODULE = "anchor"
# Of the allocator; a connection with its TLS state takes more than 40 kB, and 90 of them are made between the two measurements.
GROWTH = 2e6


def rotate(world, number):
    """A new token. The object that is deleted can only be created again with it."""
    world.fleet.command("token", (1, 1))
    world.kcp.apply(world.secret(1, world.kubeconfigs((1, 1))[1]))
    world.fleet.client(1).delete("configmaps", f"{MODULE}-settings-0", SYSTEM)
    wait_until(lambda: world.fleet.client(1).find("configmaps", f"{MODULE}-settings-0", SYSTEM), f"the object is back after rotation {number}")


def sizes(program):
    return memory(program.pid)["VmRSS"], len(os.listdir(f"/proc/{program.pid}/fd"))


def test_a_hundred_rotations_leave_nothing_behind():
    """C3: memory and descriptors stay as they are."""
    world = FleetWorld(1, 1)
    try:
        world.prepare()
        program = world.start()
        world.wait_ready(program)
        for number in range(10):
            rotate(world, number)
        bytes_before, descriptors = sizes(program)
        for number in range(10, 100):
            rotate(world, number)
        wait_until(lambda: sizes(program)[1] <= descriptors, "old connections are closed")
        wait_until(lambda: sizes(program)[0] < bytes_before + GROWTH, "memory as before")
        world.wait_ready(program)
    finally:
        world.close()
