# SPDX-License-Identifier: Apache-2.0
"""Trouble that passes: an API server that is away, restarts or forgets, tokens that rotate, connections that break."""

import signal
import time

import pytest

from faults.proxy import PASS, Action, FaultProxy, status
from wait.harness import Item, ended, message, wait_for_log
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
def test_the_api_server_goes_away_and_comes_back_while_we_wait(private_apiserver, private_item, crash):
    process = private_item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    private_apiserver.restart(crash=crash)
    private_item.end_main()
    process.wait()
    ended(process, 0)
    assert private_item.export() == b"a: 1"


def test_main_ends_while_the_api_server_is_away_and_its_versions_expire(private_apiserver, private_item):
    process = private_item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    process.signal(signal.SIGSTOP)
    private_item.end_main()
    private_apiserver.expire_watches()
    process.signal(signal.SIGCONT)
    process.wait()
    ended(process, 0)
    assert private_item.export() == b"a: 1"


def test_the_api_server_is_away_when_main_has_ended(private_apiserver, private_item):
    """Nothing is lost: the requests are tried until it is back."""
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


def test_a_watch_answered_with_410_begins_anew(apiserver, item):
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


def test_errors_and_throttling_of_the_watch_are_outlived(apiserver, item):
    answers = [status(500, "InternalError"), status(429, "TooManyRequests"), status(503, "ServiceUnavailable")]

    def plan(request):
        return Action(forward=False, answer=answers.pop()) if request.is_watch and answers else PASS

    item.exports.write_text("a: 1")
    with FaultProxy(apiserver, plan) as proxy:
        process = item.run(server=(proxy.host, proxy.port))
    ended(process, 0)
    assert item.export() == b"a: 1"


def test_a_rotated_token_is_read_again(apiserver, item):
    """The old one is refused from some moment on, as an expired one is."""
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
def test_what_can_not_pass_is_not_tried_again_and_named(apiserver, item, answer, says):
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
    assert item.export() == b"a: 1"  # exports survive a state that could not be stored
    assert "state: not stored" in message(process) and says in message(process)
    assert "exports: stored" in message(process)


def test_sigterm_ends_the_trying_in_time(apiserver, item):
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
    assert "given up at the end of the grace time" in message(process)


def test_the_clock_jumps(apiserver, item):
    """Nothing hangs on the time of day: there is no deadline, and pauses go by the monotonic clock. A stopped process is the
    hardest jump that a test can make without changing the machine's clock."""
    item.exports.write_text("a: 1")
    process = item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    process.signal(signal.SIGSTOP)
    time.sleep(3)
    item.end_main()
    process.signal(signal.SIGCONT)
    process.wait()
    ended(process, 0)
    assert item.export() == b"a: 1"
