# SPDX-License-Identifier: Apache-2.0
"""Several controllers at once that serve manifest items, with a Lease."""

import signal
import threading

from controller_harness import LEASE, leads, resume_without_lease, writes
from faults.proxy import Action, PASS, status as unavailable
from manifest_harness import managed

COUNT = 20


def test_an_instance_that_is_suspended_while_it_applies_objects_sends_nothing_afterwards(world):
    """Creates that were waiting for their connections when it was suspended must not be sent when it continues: another
    instance works on the item and may have removed these objects."""
    stopped, gate = threading.Event(), threading.Event()

    def stop():
        first.signal(signal.SIGSTOP)
        stopped.set()
        gate.set()

    def plan(request):
        if request.method == "POST" and request.path.endswith("/configmaps") and b'"cm-' in request.body and not stopped.is_set():
            return Action(applied=stop)
        if stopped.is_set() and "/leases" in request.path:
            return Action(forward=False, answer=unavailable(503, "ServiceUnavailable"))      # it does not lead again
        return PASS

    with world.behind_proxies(plan) as target:
        first = world.start(config=LEASE, proxy=world.proxy)
        first.wait_until(lambda: leads(first), "the first instance to lead")
        second = world.start(config=LEASE)
        world.deploy("first", [managed(world.config("theirs"))])        # makes a connection, which the next item reuses
        world.succeeded("first")
        target.admit = lambda: gate.wait(60)
        world.deploy("item", [managed(world.config(f"cm-{number}")) for number in range(COUNT)])
        assert stopped.wait(60)
        world.reach(world.cluster)      # the second instance does not use the proxy
        marks = len(world.proxy.requests), len(target.requests)
        resume_without_lease(first)
        first.wait_until(lambda: "not leading" in first.output(), "the first instance to notice")
        second.wait_until(lambda: leads(second), "the second instance to lead", timeout=60)
        world.succeeded("item")
        world.update("item", [managed(world.config("other"))], job="job-2")
        world.succeeded("item", "job-2")
        written = writes(world.proxy, marks[0]) + writes(target, marks[1])
        assert written == [] and world.names() == ["other", "theirs"] and world.recorded("item") == ["other"]
