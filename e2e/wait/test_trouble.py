# SPDX-License-Identifier: Apache-2.0
"""Temporary faults: API server unreachable or restarted, expired versions, rotated tokens, broken connections, clock changes."""

import datetime
import os
import signal

import pytest

from faults.clock import HOUR, Clock
from faults.proxy import PASS, Action, FaultProxy, status
from wait.harness import Item, ended, log_lines, message, wait_for_log
from wait.reader import newest_generation


@pytest.fixture
def item(apiserver, namespace):
    return Item(apiserver, namespace)


@pytest.fixture
def private_item(private_apiserver):
    private_apiserver.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "host"}})
    item = Item(private_apiserver, "host")
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    return item


@pytest.mark.parametrize("crash", [False, True], ids=["restart", "crash"])
def test_the_api_server_restarts_while_waiting(private_apiserver, private_item, crash):
    process = private_item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    private_apiserver.restart(crash=crash)
    private_item.end_main()
    process.wait()
    ended(process, 0)
    assert private_item.export() == b"a: 1"


def test_main_ends_while_the_resource_version_of_the_watch_expires(private_apiserver, private_item):
    process = private_item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    process.signal(signal.SIGSTOP)
    private_item.end_main()
    private_apiserver.expire_watches()
    process.signal(signal.SIGCONT)
    process.wait()
    ended(process, 0)
    assert private_item.export() == b"a: 1"


def test_the_api_server_is_unreachable_when_main_has_ended(private_apiserver, private_item):
    """Nothing is lost: the requests are retried until it is back."""
    with FaultProxy(private_apiserver) as proxy:
        process = private_item.start(server=(proxy.host, proxy.port))
        wait_for_log(process, "waiting for main to end")
        proxy.plan = lambda request: Action(forward=False, lose=True) if request.method == "POST" else PASS
        private_item.end_main()
        wait_for_log(process, '"attempts":3')
        private_apiserver.restart(crash=True)
        proxy.plan = lambda request: PASS
        process.wait()
    ended(process, 0)
    assert newest_generation(private_item.kube, private_item).files == {"f": b"1"}
    assert private_item.export() == b"a: 1"


def test_a_broken_connection_costs_one_more_watch(apiserver, item):
    item.exports.write_text("a: 1")
    with FaultProxy(apiserver) as proxy:
        process = item.start(server=(proxy.host, proxy.port), flags=["-v", "debug"])
        wait_for_log(process, "the pod was seen")
        for watches in (2, 3, 4):
            proxy.cut()
            process.wait_until(lambda: sum(r.is_watch for r in proxy.requests) >= watches, "another watch")
        item.end_main()
        process.wait()
        ended(process, 0)
        assert item.export() == b"a: 1"
        assert {r.method for r in proxy.requests if not r.is_watch} == {"POST"}


def test_a_watch_answered_with_410_is_restarted(apiserver, item):
    gone = [{"type": "ERROR", "object": status(410, "Expired")[1]}]
    answered = []

    def plan(request):
        if request.is_watch and len(answered) < 3:
            answered.append(request)
            return Action(forward=False, answer=(200, gone[0]) if len(answered) % 2 else status(410, "Expired"))
        return PASS

    item.exports.write_text("a: 1")
    with FaultProxy(apiserver, plan) as proxy:
        process = item.run(server=(proxy.host, proxy.port))
    ended(process, 0)
    assert len(answered) == 3
    assert item.export() == b"a: 1"


def test_the_watch_is_retried_after_errors_and_throttling(apiserver, item):
    answers = [status(500, "InternalError"), status(429, "TooManyRequests"), status(503, "ServiceUnavailable")]

    def plan(request):
        return Action(forward=False, answer=answers.pop()) if request.is_watch and answers else PASS

    item.exports.write_text("a: 1")
    with FaultProxy(apiserver, plan) as proxy:
        process = item.run(server=(proxy.host, proxy.port))
    ended(process, 0)
    assert item.export() == b"a: 1"


def test_a_rotated_token_is_read_again(apiserver, item):
    """The old token is rejected from some point on, as if it had expired."""
    item.exports.write_text("a: 1")
    old = (item.token_directory / "token").read_text()
    is_expired = []

    def plan(request):
        if is_expired and request.headers.get("authorization") == f"Bearer {old}":
            return Action(forward=False, answer=status(401, "Unauthorized"))
        return PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.start(server=(proxy.host, proxy.port), flags=["-v", "debug"])
        wait_for_log(process, "the pod was seen")
        is_expired.append(True)
        proxy.cut()
        process.wait_until(lambda: sum(r.is_watch for r in proxy.requests) >= 3, "refused watches")
        item.give_token()
        assert (item.token_directory / "token").read_text() != old
        item.end_main()
        process.wait()
    ended(process, 0)
    assert item.export() == b"a: 1"


def test_a_token_that_rotates_while_state_is_stored(apiserver, item):
    item.write_state({"f": b"1"})
    old = (item.token_directory / "token").read_text()

    def plan(request):
        if request.method == "POST" and request.headers.get("authorization") == f"Bearer {old}":
            return Action(forward=False, answer=status(401, "Unauthorized"), after=item.give_token)
        return PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.run(server=(proxy.host, proxy.port))
    ended(process, 0)
    assert newest_generation(item.kube, item).files == {"f": b"1"}


@pytest.mark.parametrize("answer, says", [
    (status(403, "Forbidden", "secrets is forbidden: exceeded quota"), "exceeded quota"),
    (status(422, "Invalid", "Secret is invalid: data: Too long"), "Too long"),
], ids=["403", "422"])
def test_permanent_errors_are_not_retried_and_named(apiserver, item, answer, says):
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")

    def plan(request):
        if request.method == "POST" and "state-" in request.json["metadata"]["name"]:
            return Action(forward=False, answer=answer)
        return PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.run(server=(proxy.host, proxy.port))
        assert sum(r.method == "POST" for r in proxy.requests) == 2
    ended(process, 1)
    assert item.export() == b"a: 1"  # stored even though the state failed
    assert "state: not stored" in message(process) and says in message(process)
    assert "exports: stored" in message(process)


def test_retries_end_before_the_grace_period_after_sigterm(apiserver, item):
    item.write_state({"f": b"1"})
    with FaultProxy(apiserver, lambda r: Action(forward=False, lose=True) if r.method == "POST" else PASS) as proxy:
        process = item.start(server=(proxy.host, proxy.port), flags=["--grace=6"])
        wait_for_log(process, "waiting for main to end")
        item.end_main()
        wait_for_log(process, '"attempts":2')
        assert process.running
        process.signal(signal.SIGTERM)
        process.wait(60)
    ended(process, 1)
    assert "gave up at the end of the grace period" in message(process)


def test_storing_may_take_longer_than_the_grace_period_of_main(apiserver, item):
    """A large state, or an API server in trouble, takes longer than main's grace: all of it is stored."""
    item.write_state({"noise": os.urandom(3_000_000)})
    refused = []

    def plan(request):
        if request.method == "POST" and len(refused) < 12:
            refused.append(request)
            return Action(forward=False, answer=status(503, "ServiceUnavailable"))
        return PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.start(server=(proxy.host, proxy.port), env={"LONGSHORE_MAIN_GRACE_SECONDS": "1"})
        wait_for_log(process, "waiting for main to end")
        process.signal(signal.SIGTERM)
        process.wait(300)
    ended(process, 1)
    assert len(refused) == 12
    assert newest_generation(item.kube, item).files["noise"] == (item.state / "noise").read_bytes()
    assert "main did not end within 1 s of SIGTERM; state: stored" in message(process)


@pytest.mark.parametrize("seconds", [10 * 24 * HOUR, -10 * 24 * HOUR], ids=["forward", "backward"])
def test_the_clock_jumps(apiserver, item, seconds):
    """Nothing depends on the wall clock: not the wait for main, not the retries, not the grace period."""
    item.write_state({"f": b"1"})
    clock, refused = Clock(), []

    def plan(request):
        if request.method == "POST" and len(refused) < 3:
            refused.append(request)
            clock.jump(seconds)
            return Action(forward=False, answer=status(503, "ServiceUnavailable"))
        return PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.start(server=(proxy.host, proxy.port), flags=["-v", "debug"],
                             env={**clock.environment, "LONGSHORE_MAIN_GRACE_SECONDS": "2"})
        wait_for_log(process, "the pod was seen")
        clock.jump(seconds)
        process.signal(signal.SIGTERM)
        wait_for_log(process, "stopping: ")
        clock.jump(seconds)
        process.wait()
    ended(process, 1)
    assert len(refused) == 3
    assert newest_generation(item.kube, item).files == {"f": b"1"}
    assert "main did not end within 2 s of SIGTERM; state: stored" in message(process)
    # The program really saw the jumps: its log has the time stamps of five of them.
    first, *_, last = [datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")) for line in log_lines(process)]
    assert abs((last - first).total_seconds() - 5 * seconds) < 24 * HOUR
