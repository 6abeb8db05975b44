# SPDX-License-Identifier: Apache-2.0
"""The crash matrix: a save of several chunks, killed at every point of every request, with every answer a server can give.

Whatever happens, a reader that knows nothing of our code finds the last or the previous whole generation, never a mixture;
and the next save puts everything right.
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

# How the server answers the request in question, the first time.
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
    """Does something once, to the POST of a given number; everything else passes."""

    def __init__(self, number, action):
        self.number, self.action = number, action
        self.posts = 0
        self.lock = threading.Lock()

    def __call__(self, request):
        if request.method != "POST":
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
    # The controller removes the export of a run at its end.
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
def test_every_answer_to_every_request_is_outlived(apiserver, item, number, answer):
    script = Script(number, Action(**ANSWERS[answer]))
    with FaultProxy(apiserver, script) as proxy:
        process = item.run(server=(proxy.host, proxy.port), flags=["--request-timeout=1"])
    ended(process, 0)
    assert script.posts > number + 1 or number == EXPORT
    generation = newest_generation(item.kube, item)
    assert generation.files == NEW
    # Not one Secret too many: a lost answer is found out, not made up for with another upload.
    assert len(item.state_secrets()) == CHUNKS + 1
    assert item.export() == b"run: new"


def killed(apiserver, item, number, **hooks):
    """Runs a save and kills the program (-9) at a point of the POST of this number."""
    process = None

    def kill():
        # The pod's status may change before start() has returned.
        ready.wait(30)
        process.kill()

    ready = threading.Event()
    at = {name: kill for name, value in hooks.items() if value is True}
    rest = {name: value for name, value in hooks.items() if value is not True}
    with FaultProxy(apiserver, Script(number, Action(**rest, **at))) as proxy:
        process = item.start(server=(proxy.host, proxy.port), flags=["--request-timeout=1"])
        ready.set()
        item.end_main()
        process.wait(120)
    assert process.exit_code == -9, process.output()


def check_after_kill(item, stored):
    """stored: how many requests the server may have applied."""
    whole = whole_generations(item.state_secrets())
    assert (whole[0].files, item.export()) in [
        (NEW if number >= CHUNKS else OLD, b"run: new" if number > EXPORT else None) for number in stored]
    assert whole[-1].files == OLD  # the generation before is there until somebody removes it
    next_save_repairs(item)


# What is done to the request of a number, and how many are applied then. After an answer the next request may be under way before the
# signal comes.
POINTS = {
    "before it reaches the server": (dict(forward=False, lose=True, before=True), lambda number: [number]),
    "when it was applied, before the answer": (dict(forward=True, lose=True, applied=True), lambda number: [number + 1]),
    "when it was answered": (dict(forward=True, after=True), lambda number: [number + 1, number + 2]),
}


# After the answer to its last request the program is done, and may be gone before it can be killed.
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
