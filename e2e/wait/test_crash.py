# SPDX-License-Identifier: Apache-2.0
"""Crash matrix: wait is killed at every point of every request of a save of several chunks, with every kind of answer.

Invariants: an independent reader finds the new or the previous complete generation, never a mixture, and the next save succeeds.
"""

import os
import threading

import pytest

from faults.proxy import PASS, Action, FaultProxy, status
from wait.harness import Item, ended
from wait.reader import newest_generation, whole_generations

CHUNKS = 3
EXPORT = CHUNKS  # the request after the chunks

OLD = {"file": b"the generation before", "noise": os.urandom(100)}
NEW = {"file": b"the generation that is being saved", "noise": os.urandom((CHUNKS - 1) * 1048576 + 1000)}
NEXT = {"file": b"the generation after"}

# The first answer of the server to the request in question.
ANSWERS = {
    "conflict": dict(forward=False, answer=status(409, "Conflict")),
    "500": dict(forward=False, answer=status(500, "InternalError")),
    "refused": dict(forward=False, lose=True),
    "applied, answer lost": dict(forward=True, lose=True),
    "applied, then 500": dict(forward=True, answer=status(500, "InternalError")),
    "timeout": dict(forward=False, hang=True),
    "applied, then timeout": dict(forward=True, hang=True),
}


class Script:
    """Applies an action once, to the POST with the given number; everything else passes."""

    def __init__(self, number, action):
        self.number, self.action = number, action
        self.posts = 0
        self.lock = threading.Lock()

    def __call__(self, request):
        # On a busy machine saving takes so long that wait reports its progress.
        if request.method != "POST" or b"-report" in (request.body or b""):
            return PASS
        with self.lock:
            number, self.posts = self.posts, self.posts + 1
        return self.action if number == self.number else PASS


@pytest.fixture
def item(apiserver, namespace):
    item = Item(apiserver, namespace)
    item.write_state(OLD)
    item.exports.write_text("run: old")
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).files == OLD
    # As the controller does at the end of a run.
    item.kube.delete("secrets", item.export_name, item.namespace)
    item.write_state(NEW)
    item.exports.write_text("run: new")
    return item


def next_save_repairs(item):
    item.write_state(NEXT)
    item.exports.write_text("run: next")
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).files == NEXT
    assert item.export() == b"run: next"


@pytest.mark.parametrize("number", range(CHUNKS + 1), ids=["chunk 1", "chunk 2", "chunk 0", "export"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_every_request_survives_every_fault(apiserver, item, number, answer):
    script = Script(number, Action(**ANSWERS[answer]))
    # A short timeout only where it is needed: on a busy machine other requests would be retried, too.
    flags = ["--request-timeout=2"] if "timeout" in answer else []
    with FaultProxy(apiserver, script) as proxy:
        process = item.run(server=(proxy.host, proxy.port), flags=flags)
    ended(process, 0)
    assert script.posts > number + 1 or number == EXPORT
    generation = newest_generation(item.kube, item)
    assert generation.files == NEW
    # No duplicate Secrets: a lost answer does not cause another upload.
    assert len(item.state_secrets()) == CHUNKS + 1
    assert item.export() == b"run: new"


def killed(apiserver, item, number, **hooks):
    """Runs a save and kills the program (SIGKILL) at a point of the POST with this number."""
    process = None

    def kill():
        # The pod's status may change before start() returns.
        ready.wait(30)
        process.kill()

    ready = threading.Event()
    at = {name: kill for name, value in hooks.items() if value is True}
    rest = {name: value for name, value in hooks.items() if value is not True}
    with FaultProxy(apiserver, Script(number, Action(**rest, **at))) as proxy:
        process = item.start(server=(proxy.host, proxy.port))
        ready.set()
        item.end_main()
        process.wait(120)
    assert process.exit_code == -9, process.output()


def check_after_kill(item, stored):
    """stored: the numbers of requests that the server may have applied."""
    whole = whole_generations(item.state_secrets())
    assert (whole[0].files, item.export()) in [
        (NEW if number >= CHUNKS else OLD, b"run: new" if number > EXPORT else None) for number in stored]
    assert whole[-1].files == OLD  # the previous generation is not deleted by wait
    next_save_repairs(item)


# The action for the request with this number, and the numbers of applied requests. After an answer the next request may start before
# the signal arrives.
POINTS = {
    "before it reaches the server": (dict(forward=False, lose=True, before=True), lambda number: [number]),
    "when it was applied, before the answer": (dict(forward=True, lose=True, applied=True), lambda number: [number + 1]),
    "when it was answered": (dict(forward=True, after=True), lambda number: [number + 1, number + 2]),
}


# After the answer to its last request the program may end before it can be killed.
@pytest.mark.parametrize("point, number", [(point, number) for point in POINTS for number in range(CHUNKS + 1)
                                           if (point, number) != ("when it was answered", EXPORT)])
def test_killed_at_every_request(apiserver, item, number, point):
    hooks, stored = POINTS[point]
    killed(apiserver, item, number, **hooks)
    check_after_kill(item, stored(number))


@pytest.mark.parametrize("number", range(CHUNKS + 1), ids=["chunk 1", "chunk 2", "chunk 0", "export"])
@pytest.mark.parametrize("answer", [name for name in ANSWERS if "timeout" not in name])
def test_killed_after_every_bad_answer(apiserver, item, number, answer):
    killed(apiserver, item, number, **ANSWERS[answer], after=True)
    check_after_kill(item, [number + (1 if ANSWERS[answer]["forward"] else 0)])
