# SPDX-License-Identifier: Apache-2.0
"""After SIGTERM the state is stored before main's grace period is over, and again only if main changes it after that. If the
controller requests the end of the pod, that happens before SIGTERM, without a time limit."""

import os
import signal
import threading
import time

import pytest

from bench.waiting import wait_until
from faults.proxy import PASS, Action, FaultProxy
from wait.harness import OURS, Item, ended, message, wait_for_log
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


def is_upload(request):
    return request.method == "POST" and request.path.endswith("/secrets")


@pytest.mark.parametrize("change", [False, True], ids=["unchanged", "changed"])
def test_a_snapshot_before_the_end_takes_as_long_as_it_needs_and_is_reported(apiserver, item, change):
    """The requests of wait are slow, so that it reports its progress several times. Main runs on until SIGTERM."""
    item.write_state({"f": b"before", "noise": os.urandom(3_500_000)})
    seen, is_fast = [], threading.Event()

    def plan(request):
        return Action(delay=3) if is_upload(request) and not is_fast.is_set() else PASS

    with FaultProxy(apiserver, plan) as proxy:
        process = item.start(server=(proxy.host, proxy.port), env={"LONGSHORE_MAIN_GRACE_SECONDS": "18"})
        wait_for_log(process, "waiting for main to end")
        item.request_end()

        def is_saved():
            report = item.report()
            if report and (not seen or report != seen[-1]):
                seen.append(report)
            return report.get("snapshot") == "saved"

        process.wait_until(is_saved, "the report", 120)
        assert process.running and "stopping: " not in process.output()
        assert [report["snapshot"] for report in seen[:-1]] == ["saving"] * (len(seen) - 1) and len(seen) >= 3
        assert (seen[-1]["chunks"], seen[-1]["chunks-stored"], seen[-1]["pod-uid"]) == ("4", "4", item.pod_uid)
        assert int(seen[-1]["milliseconds"]) >= 12_000
        assert newest_generation(item.kube, item).sequence == item.sequence - 1
        is_fast.set()
        stop_after_request(item, process, change)


def stop_after_request(item, process, change):
    if change:
        (item.state / "f").write_bytes(b"after")
    process.signal(signal.SIGTERM)
    wait_for_log(process, "stopping: ")
    item.end_main(143)
    process.wait()
    ended(process, 1)
    newest = newest_generation(item.kube, item)
    assert newest.files["f"] == (b"after" if change else b"before")
    assert newest.sequence == item.sequence - (0 if change else 1)


def test_a_state_that_is_unchanged_or_always_changing_is_reported_with_its_size(item):
    """The controller would wait for minutes otherwise."""
    item.write_state({"f": b"1"})
    ended(item.run(), 0)
    process = item.start()
    wait_for_log(process, "waiting for main to end")
    item.request_end()
    report = wait_until(lambda: (found := item.report()).get("snapshot") == "saved" and found, "the report")
    assert (report["chunks"], report["chunks-stored"]) == ("1", "0")
    item.end_main()
    process.wait()
    ended(process, 0)

    is_over = threading.Event()

    def change():
        while not is_over.is_set():
            (item.state / "f").write_bytes(os.urandom(100))

    item.write_state({"noise": os.urandom(2_500_000)})
    changing = threading.Thread(target=change, daemon=True)
    process = item.start()
    wait_for_log(process, "waiting for main to end")
    changing.start()
    try:
        item.request_end()
        report = wait_until(lambda: (found := item.report()).get("snapshot") == "saved" and found.get("pod-uid") == item.pod_uid and found,
                            "the report", 120)
    finally:
        is_over.set()
    changing.join(10)
    assert report["chunks"] == "3"
    item.end_main()
    process.wait()
    ended(process, 0)


def test_a_snapshot_is_reported_while_it_is_packed(item):
    """Packing takes minutes if wait gets little CPU time, and a large state can compress to a single chunk. The test takes the CPU
    away for longer than the time between two reports. Packing goes on for seconds after that."""
    with open(item.state / "zeros", "wb") as file:
        file.truncate(1 << 30)
    process = item.start()
    wait_for_log(process, "waiting for main to end")
    item.request_end()
    first = wait_until(item.report_secret, "the first report")
    process.signal(signal.SIGSTOP)
    time.sleep(6)
    process.signal(signal.SIGCONT)
    second = wait_until(lambda: (found := item.report_secret())["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"] and found,
                        "another report", 120)
    assert (second["metadata"]["annotations"][f"{OURS}/snapshot"], second["metadata"]["annotations"][f"{OURS}/chunks"]) == ("saving", "0")
    process.kill()
    process.wait()


def test_a_report_that_is_refused_does_not_stop_the_snapshot(item):
    """The chart may be of an older release. The controller then deletes the pod after a few seconds."""
    item.write_state({"f": b"before"})
    item.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other-report", "namespace": item.namespace}})
    process = item.start(env={"LONGSHORE_REPORT_NAME": "other-report"})
    wait_for_log(process, "waiting for main to end")
    item.request_end()
    wait_for_log(process, "reporting the progress of the snapshot failed")
    wait_for_log(process, '"msg":"snapshot of the state"')
    assert newest_generation(item.kube, item).files == {"f": b"before"}
    stop_after_request(item, process, change=False)
