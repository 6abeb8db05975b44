# SPDX-License-Identifier: Apache-2.0
"""Killed before and after every request for registering, renewing and leaving: nothing is lost, left behind or done twice."""

import pytest

from agent_harness import value
from bench.waiting import wait_until
from controller_killer import PASS, Killer
from faults.clock import Clock
from registrations_harness import ENVIRONMENTS

LIMIT = 40  # requests; the tests end when a round completes without a crash


@pytest.fixture(params=["before", "after"])
def killer(request, world):
    made = Killer(request.param)
    with world.proxies(lambda r: PASS if "/leases" in r.path or "kube-system" in r.path else made.plan(r)) as world.behind:
        yield made


def start(world, killer, *arguments, **options):
    killer.controller = world.start(*arguments, proxies=world.behind, waits=False, **options)
    killer.controller.expected = False


def reached(world, killer, condition, what, *arguments, **options):
    """Waits; starts the agent again once if it was killed. Returns whether it was."""
    wait_until(lambda: killer.has_killed.is_set() or condition(), what)
    if not killer.has_killed.is_set():
        return False
    killer.has_killed.clear()
    world.killed(killer.controller)
    start(world, killer, *arguments, **options)
    wait_until(condition, f"{what} after {killer.seen}")
    return True


def test_a_crash_at_every_request_of_registering_and_leaving(world, killer):
    is_crashed = True
    for number in range(1, LIMIT):
        killer.arm(number)
        start(world, killer, "--register")
        is_crashed = reached(world, killer, lambda: '"msg":"registered"' in killer.controller.output(), "registered", "--register")
        assert len(world.host_objects()) == 5, world.host_objects()
        world.manage()
        world.ls.delete(ENVIRONMENTS, world.name)
        world.unmanage()
        is_crashed |= reached(world, killer, lambda: "this agent has left" in killer.controller.output(), "left")
        assert not world.left_there() and not world.host_objects(), (killer.seen, world.left_there(), world.host_objects())
        killer.left = None
        killer.controller.stop()
        if not is_crashed:
            break
    writes = [s for s in killer.seen if not s.startswith("GET")]
    assert not is_crashed and len(writes) >= 18, killer.seen


def test_a_crash_at_every_request_of_renewing(world, killer):
    """A restart with a clock that is set ahead renews both tokens."""
    clock = Clock()
    start(world, killer, env=clock.environment)
    killer.controller.wait_until(lambda: '"msg":"registered"' in killer.controller.output(), "registered")
    uid, is_crashed = world.environment()["metadata"]["uid"], True
    for number in range(1, LIMIT):
        killer.controller.stop()
        before = value(world.own_secret(), "token"), world.host_token()
        clock.jump(86400)
        killer.arm(number)
        start(world, killer, env=clock.environment)
        is_crashed = reached(world, killer, lambda: value(world.own_secret(), "token") != before[0] and world.host_token() != before[1]
                             and '"msg":"registered"' in killer.controller.output(), "both tokens", env=clock.environment)
        killer.left = None
        if not is_crashed:
            break
    assert not is_crashed and world.environment()["metadata"]["uid"] == uid
    assert [s for s in killer.seen if not s.startswith("GET")] == ["POST serviceaccounts/token", "PATCH secrets"] * 2, killer.seen
