# SPDX-License-Identifier: Apache-2.0
"""Killed before and after every request of a run and of a deletion, and started again: the job runs exactly once and nothing
is left over."""

import threading

import pytest

from bench.waiting import wait_until
from controller_harness import with_export_and_state, succeed
from faults.proxy import Action, PASS

# More than any run or deletion takes; requests beyond the last one never come, and the test ends there.
REQUESTS_MAX = 40


class Killer:
    """Kills the controller at its n-th request after being armed."""

    def __init__(self, moment):
        self.moment = moment        # "before": the server never sees the request; "after": it does, the answer is lost
        self.left = None
        self.controller = None
        self.struck = threading.Event()
        self.seen = []
        self._lock = threading.Lock()

    def arm(self, number):
        self.seen, self.left = [], number
        self.struck.clear()

    def plan(self, request):
        if request.is_watch or "/events" in request.path:
            return PASS
        with self._lock:
            if self.left is None:
                return PASS
            self.seen.append(f"{request.method} {request.path.rpartition('/')[2]}")
            self.left -= 1
            if self.left != 0:
                return PASS
            self.left = None
        if self.moment == "before":
            return Action(forward=False, lose=True, before=self._strike)
        return Action(lose=True, applied=self._strike)

    def _strike(self):
        self.controller.kill()
        self.struck.set()


@pytest.fixture(params=["before", "after"])
def killer(request, world):
    made = Killer(request.param)
    with world.behind(made.plan) as proxy:
        made.proxy = proxy
        yield made


def start(world, killer):
    """Through the proxy, armed or not: who goes on after a crash is the next to be killed."""
    controller = world.start(proxy=killer.proxy, config={"garbageCollection": {"disable": True}})
    controller.expected = False
    killer.controller = controller
    return controller


def listed(controller):
    controller.wait_until(lambda: "items listed" in controller.output(), "items listed")


def test_a_run_survives_a_crash_at_every_request(world, killer):
    world.kubelet.behaviour = with_export_and_state
    controller = start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        listed(controller)
        killer.arm(number)
        world.item(name)
        wait_until(lambda: killer.struck.is_set() or (world.status(name).get("jobIDFinished") == "job-1" and
                                                      not world.pods()), f"{name} crashed or finished")
        if not killer.struck.is_set():
            assert number > 10, killer.seen
            break
        controller = start(world, killer)
        status = world.finished(name)
        assert status["phase"] == "Succeeded", (number, killer.seen, status)
        assert status["exportRef"]["name"] == f"{name}-export"
        world.quiet()
        assert world.kubelet.ran(name) == [(name, "job-1", "RECONCILE")], (number, killer.seen)
    else:
        pytest.fail("the run never came to its end")


def test_a_deletion_survives_a_crash_at_every_request(world, killer):
    controller = start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        world.kubelet.behaviour = with_export_and_state
        world.item(name)
        world.finished(name)
        world.quiet()
        world.kubelet.behaviour = succeed
        listed(controller)
        killer.arm(number)
        world.delete(name)
        wait_until(lambda: killer.struck.is_set() or not world.host_objects(), f"{name} crashed or gone")
        if not killer.struck.is_set():
            assert number > 10, killer.seen
            break
        controller = start(world, killer)
        world.gone(name)
        wait_until(lambda: not world.host_objects(), f"everything gone after {killer.seen}: {world.host_objects()}", 30)
        assert [begun[2] for begun in world.kubelet.ran(name)] == ["RECONCILE", "DELETE"], (number, killer.seen)
    else:
        pytest.fail("the deletion never came to its end")
