# SPDX-License-Identifier: Apache-2.0
"""After SIGTERM the state is stored before main's grace period is over, and again only if main changes it after that."""

import os
import signal
import threading
import time

import pytest

from faults.proxy import PASS, Action, FaultProxy
from wait.harness import Item, ended, message, wait_for_log
from wait.reader import go_restores, groups, newest_generation, whole_generations


@pytest.fixture
def item(apiserver, namespace):
    return Item(apiserver, namespace)


def stop(process):
    wait_for_log(process, "waiting for main to end")
    process.signal(signal.SIGTERM)
    wait_for_log(process, "stopping: ")


@pytest.mark.parametrize("change", [False, True], ids=["unchanged", "changed"])
def test_the_state_is_stored_while_main_runs_and_again_only_if_it_changes(apiserver, item, change):
    item.write_state({"f": b"before", "noise": os.urandom(1_500_000)})
    mark = apiserver.audit.mark()
    process = item.start(env={"LONGSHORE_MAIN_GRACE_SECONDS": "18"})
    stop(process)
    process.signal(signal.SIGTERM)  # changes nothing
    wait_for_log(process, "snapshot of the state")
    assert process.running
    snapshot = newest_generation(item.kube, item)
    assert snapshot.files["f"] == b"before" and snapshot.sequence == item.sequence - 1
    if change:
        item.write_state({"f": b"after"})
    item.end_main(143)
    process.wait()
    ended(process, 1)
    newest = newest_generation(item.kube, item)
    assert newest.files["f"] == (b"after" if change else b"before")
    assert newest.sequence == item.sequence - (0 if change else 1)
    assert f"state: stored as generation {newest.sequence} (" in message(process)
    assert apiserver.audit.count(mark, verb="create", resource="secrets", user=item.user) == (3 if change else 2)
    assert go_restores(item.state_secrets())["f"] == newest.files["f"], "the Go deployer restores another generation"
    # The next run compares its state with the newest generation, whichever that is.
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).sequence == newest.sequence


def test_the_upload_of_a_snapshot_ends_with_main_s_time_if_main_has_changed_the_state(apiserver, item):
    """The time that is left is needed for the state that main has left."""
    item.write_state({"a": b"before", "noise": os.urandom(2_500_000)})
    is_uploading, may_go_on = threading.Event(), threading.Event()

    def hold():
        is_uploading.set()
        may_go_on.wait(60)

    def plan(request):
        return Action(before=hold) if request.method == "POST" and not is_uploading.is_set() else PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.start(server=(proxy.host, proxy.port), env={"LONGSHORE_MAIN_GRACE_SECONDS": "6"})
        stop(process)
        assert is_uploading.wait(60), "no snapshot is taken"
        (item.state / "a").write_bytes(b"after")  # already packed: the snapshot could be completed
        time.sleep(6)  # until main's time is over: nothing shows that from outside
        may_go_on.set()
        process.wait()
    ended(process, 1)
    [final] = whole_generations(item.state_secrets())
    assert final.files["a"] == b"after" and final.sequence == item.sequence
    assert sorted(len(chunks) for chunks in groups(item.state_secrets()).values()) == [1, 3], "the snapshot has more chunks than one"


def test_no_snapshot_under_the_go_controller(apiserver, namespace):
    """It gives wait minutes to save, and neither a number for the snapshot nor the last state to compare it with."""
    item = Item(apiserver, namespace, is_go=True)
    item.write_state({"f": b"1"})
    process = item.start(env={"LONGSHORE_MAIN_GRACE_SECONDS": "3"})
    stop(process)
    process.wait()
    ended(process, 1)
    assert "snapshot of the state" not in process.output()
    assert newest_generation(item.kube, item).files == {"f": b"1"}
