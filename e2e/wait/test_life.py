# SPDX-License-Identifier: Apache-2.0
"""longshore-wait in a pod, with a real API server and the Role that our controller creates."""

import base64
import os
import signal
import socket
import time

import pytest

from wait.harness import GROUP, OURS, Item, ended, log_lines, message, wait_for_log
from wait.reader import go_restores, newest_generation


@pytest.fixture
def item(apiserver, namespace):
    return Item(apiserver, namespace)


# --- success ---------------------------------------------------------------------------------------------------------

def test_state_and_exports_are_stored_when_main_ends(item):
    item.write_state({"count": b"1", "deep/er/file": b"x" * 1000})
    (item.state / "empty").mkdir()
    (item.state / "link").symlink_to("count")
    item.exports.write_text("my-val: true\n")
    process = item.start(job="job-7")
    wait_for_log(process, "waiting for main to end")
    assert process.running and item.state_secrets() == []
    item.end_main()
    process.wait()
    ended(process, 0)
    assert item.export() == b"my-val: true\n"
    generation = newest_generation(item.kube, item)
    assert generation.files == {"count": b"1", "deep": None, "deep/er": None, "deep/er/file": b"x" * 1000, "empty": None,
                                "link": "-> count"}
    assert message(process) == ""


def test_secrets_have_the_metadata_of_go_and_name_the_run(item):
    item.write_state({"f": b"1"})
    item.exports.write_text("{}")
    ended(item.run(job="job-7", sequence=1234), 0)
    chunk, = item.state_secrets()
    labels, annotations = chunk["metadata"]["labels"], chunk["metadata"]["annotations"]
    assert labels[f"deployitem.{GROUP}/name"] == item.name
    assert labels[f"deployitem.{GROUP}/namespace"] == "team"
    assert labels[f"{GROUP}/type"] == "state"
    assert annotations[f"{GROUP}/num"] == "0"
    assert len(annotations[f"{GROUP}/uuid"]) == 36
    assert annotations[f"{OURS}/chunks"] == "1"
    assert annotations[f"{OURS}/sequence"] == "1234"
    assert annotations[f"{OURS}/job"] == "job-7"
    assert annotations[f"{OURS}/pod-uid"] == item.pod_uid
    assert chunk["metadata"]["name"].startswith(f"state-team-{item.name}-")
    assert chunk["type"] == "Opaque"
    export = item.kube.get("secrets", item.export_name, item.namespace)
    assert export["metadata"]["labels"][f"{GROUP}/name"] == item.name
    assert export["metadata"]["labels"][f"{OURS}/role"] == "run"
    assert export["metadata"]["annotations"][f"{OURS}/job"] == "job-7"
    assert export["metadata"]["annotations"][f"{OURS}/pod-uid"] == item.pod_uid


def test_one_watch_while_waiting_and_one_request_per_secret(apiserver, item):
    item.write_state({"noise": os.urandom(2_500_000)})
    item.exports.write_text("a: 1")
    mark = apiserver.audit.mark()
    process = item.start()
    wait_for_log(process, "waiting for main to end")
    time.sleep(5)  # long enough for several polls, if there were any
    item.end_main()
    process.wait()
    ended(process, 0)
    assert apiserver.audit.summary(mark, user=item.user) == ["watch pods 200"] + ["create secrets 201"] * 4


def test_stored_bytes_are_exact(item):
    item.write_state({"noise": os.urandom(1_500_000)})
    ended(item.run(), 0)
    sizes = sorted(len(base64.b64decode(secret["data"]["config"])) for secret in item.state_secrets())
    generation = newest_generation(item.kube, item)
    assert len(sizes) == 2 and sizes[1] == 1048576
    assert sum(sizes) == len(generation.data) < 1_500_000 * 1.01 + 2048
    # Nothing follows the gzip member: Python's reader would fail.
    assert generation.files["noise"] == (item.state / "noise").read_bytes()


# --- main's end ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("code, reason", [(1, "Error"), (137, "OOMKilled")])
def test_the_state_of_a_failed_main_is_stored_but_not_its_exports(item, code, reason):
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    process = item.start()
    item.end_main(code, reason)
    process.wait()
    ended(process, 1)
    assert newest_generation(item.kube, item).files == {"f": b"1"}
    assert item.export() is None
    assert f"main ended with code {code} ({reason})" in message(process)
    assert "state: stored" in message(process) and "exports: skipped" in message(process)


def test_a_main_that_ended_before_wait_started(item):
    item.exports.write_text("a: 1")
    item.delete_pod()
    item.pod_uid = item.create_pod()["metadata"]["uid"]
    item.end_main()
    process = item.start(pod=False)
    process.wait()
    ended(process, 0)
    assert item.export() == b"a: 1"


def test_after_sigterm_the_state_is_stored_when_main_has_ended(item):
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    process = item.start()
    wait_for_log(process, "waiting for main to end")
    process.signal(signal.SIGTERM)
    wait_for_log(process, "stopping: ")
    item.write_state({"f": b"saved by main at the last moment"})
    item.end_main(143)
    process.wait()
    ended(process, 1)
    assert newest_generation(item.kube, item).files == {"f": b"saved by main at the last moment"}
    assert item.export() is None


@pytest.mark.parametrize("options, seconds", [
    ({"env": {"LONGSHORE_MAIN_GRACE_SECONDS": "2"}}, 2),
    ({"grace": 4}, 2),                # half of the pod's grace period is kept for storing
    ({"flags": ["--grace=4"]}, 2),
], ids=["main's grace", "pod's grace", "option"])
def test_a_main_that_ignores_sigterm_loses_no_state_and_exports_nothing(item, options, seconds):
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    process = item.start(**{**options, "flags": ["-v", "debug", *options.get("flags", ())]})
    wait_for_log(process, "the pod was seen")
    process.signal(signal.SIGTERM)
    process.wait()
    ended(process, 1)
    assert newest_generation(item.kube, item).files == {"f": b"1"}
    assert item.export() is None
    assert message(process).startswith(
        f"the pod was stopped and main did not end within {seconds} s of SIGTERM; state: stored as generation ")


# A wait that waited for main's grace period would not end before the test times out.
A_DAY = {"env": {"LONGSHORE_MAIN_GRACE_SECONDS": "80000"}, "grace": 86000}


@pytest.mark.parametrize("how", ["SIGTERM", "deletion"])
def test_a_main_that_was_never_started_is_not_waited_for(item, how):
    item.write_state({"f": b"1"})
    ended(item.run(), 0)
    process = item.start(**A_DAY, flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    item.fail_to_start_main()
    wait_for_log(process, "ImagePullBackOff")
    assert process.running  # its image may still be pulled
    if how == "SIGTERM":
        process.signal(signal.SIGTERM)
        process.wait()
    else:
        delete_but_keep_object(item)
        process.wait()
        release_object(item)
    ended(process, 1)
    assert message(process) == ("the pod was stopped before main was started (ImagePullBackOff); state: unchanged; "
                                "exports: skipped")


def test_a_main_that_started_late_is_waited_for(item):
    process = item.start(**A_DAY, flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    item.fail_to_start_main("ErrImagePull")
    wait_for_log(process, "ErrImagePull")
    item.set_main({"running": {"startedAt": "2024-01-01T00:00:00Z"}})
    wait_for_log(process, "main is running")
    process.signal(signal.SIGTERM)
    wait_for_log(process, "stopping: ")
    item.write_state({"f": b"saved by main at the last moment"})
    item.end_main(143)
    process.wait()
    ended(process, 1)
    assert newest_generation(item.kube, item).files == {"f": b"saved by main at the last moment"}


def test_a_main_that_succeeds_after_sigterm_exports(item):
    item.exports.write_text("a: 1")
    process = item.start()
    wait_for_log(process, "waiting for main to end")
    process.signal(signal.SIGTERM)
    item.end_main(0)
    process.wait()
    ended(process, 0)
    assert item.export() == b"a: 1"


def delete_but_keep_object(item):
    """A finalizer keeps the object, as a kubelet does until the containers have ended."""
    item.kube.patch("pods", item.pod, {"metadata": {"finalizers": ["example.com/kept"]}}, item.namespace)
    item.kube.delete("pods", item.pod, item.namespace)


def release_object(item):
    item.kube.patch("pods", item.pod, {"metadata": {"finalizers": None}}, item.namespace)


def test_a_deleted_pod_object_ends_the_wait(item):
    item.write_state({"f": b"1"})
    process = item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    item.delete_pod()
    process.wait()
    ended(process, 1)
    assert "the pod no longer exists; state: stored" in message(process)


def test_a_deletion_without_sigterm_is_noticed(item):
    item.write_state({"f": b"1"})
    process = item.start(flags=["--grace=4", "-v", "debug"])
    wait_for_log(process, "the pod was seen")
    delete_but_keep_object(item)
    process.wait()
    release_object(item)
    ended(process, 1)
    assert newest_generation(item.kube, item).files == {"f": b"1"}


# --- state over several runs -----------------------------------------------------------------------------------------

def test_an_unchanged_state_is_not_written(apiserver, item):
    item.write_state({"f": b"1"})
    ended(item.run(), 0)
    mark = apiserver.audit.mark()
    process = item.run()
    ended(process, 0)
    assert apiserver.audit.count(mark, verb="create", resource="secrets", user=item.user) == 0
    assert len(item.state_secrets()) == 1


def test_deleted_files_and_an_empty_state_are_saved(item):
    item.write_state({"a": b"1", "b": b"2"})
    ended(item.run(), 0)
    item.write_state({"b": b"2"})
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).files == {"b": b"2"}
    item.write_state({})
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).files == {}
    # The Go deployer can read the empty archive, too.
    assert go_restores(newest_generation(item.kube, item).secrets) == {}


def test_an_old_pod_never_replaces_the_results_of_a_newer_one(item):
    """A pod that was cut off from the API server stores after its successor: its results are ignored."""
    item.write_state({"f": b"old"})
    item.exports.write_text("run: old")
    stale_pod_sequence, new_sequence = 100, 101
    ended(item.run(sequence=new_sequence, job="new", last=("", "")), 0)
    item.write_state({"f": b"stale"})
    item.exports.write_text("run: stale")
    process = item.run(sequence=stale_pod_sequence, job="stale", last=("", ""))
    ended(process, 1)
    assert newest_generation(item.kube, item).files == {"f": b"old"}
    assert item.export() == b"run: old"
    assert "it was written by a newer run of this item" in message(process)


def test_a_later_pod_of_the_same_name_is_not_ours(item):
    """All pods of an item have the same name: a wait that was cut off must not read the status of a later pod."""
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    process = item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    process.signal(signal.SIGSTOP)
    item.delete_pod()
    item.create_pod()
    item.end_main(0)
    process.signal(signal.SIGCONT)
    process.wait()
    ended(process, 1)
    assert item.export() is None


# --- exports ---------------------------------------------------------------------------------------------------------

def test_an_export_of_an_earlier_job_is_overwritten(item):
    item.exports.write_text("run: 1")
    ended(item.run(job="one"), 0)
    item.exports.write_text('{"run": 2}')
    ended(item.run(job="two"), 0)
    assert item.export() == b'{"run": 2}'
    export = item.kube.get("secrets", item.export_name, item.namespace)
    assert export["metadata"]["annotations"][f"{OURS}/job"] == "two"


def test_an_export_of_an_earlier_job_is_cleared_if_there_is_none(item):
    item.exports.write_text("run: 1")
    ended(item.run(job="one"), 0)
    item.exports.unlink()
    ended(item.run(job="two"), 0)
    assert item.export() == b""
    export = item.kube.get("secrets", item.export_name, item.namespace)
    assert export["metadata"]["annotations"][f"{OURS}/job"] == "two"


def test_without_exports_no_secret_is_written(item):
    ended(item.run(), 0)
    assert item.export() is None


@pytest.mark.parametrize("content, says", [
    (b"[1, 2]", "line 1, column 1: expected an object (key: value), got a list"),
    (b"total 4\n", "got a string"),
    (b"a: 1\nb:\n  c: d\n e: f\n", "line 4, column"),
    (b'{"a": 1,\n "b" 2}', "line 2, column"),
    (b'{"a": "' + b"x" * 1048576 + b'"}', "bytes are more than the maximum of 1048576"),
], ids=["list", "text", "yaml", "json", "large"])
def test_an_invalid_export_is_an_error_with_line_and_column_and_the_state_is_stored(item, content, says):
    item.write_state({"f": b"1"})
    item.exports.write_bytes(content)
    process = item.run()
    ended(process, 1)
    assert item.export() is None
    assert says in message(process) and "exports: not stored: $EXPORTS_PATH: " in message(process)
    assert newest_generation(item.kube, item).files == {"f": b"1"}


# --- hostile main -----------------------------------------------------------------------------------------------------

def test_a_symlink_to_the_token_is_not_exported(apiserver, item):
    item.exports.symlink_to(item.token_directory / "token")
    process = item.run()
    ended(process, 1)
    assert item.export() is None
    assert "$EXPORTS_PATH" in message(process)
    token = (item.token_directory / "token").read_text()
    assert token not in message(process) and token not in process.output()


def test_exports_directory_replaced_by_a_symlink(item):
    other = item.directory / "elsewhere"
    other.mkdir()
    (other / "values").write_text("stolen: true")
    (item.shared / "exports").rmdir()
    (item.shared / "exports").symlink_to(other)
    process = item.run()
    ended(process, 1)
    assert item.export() is None


def test_state_directory_replaced_by_a_symlink_to_the_token(item):
    item.write_state({})
    item.state.rmdir()
    item.state.symlink_to(item.token_directory)
    item.exports.write_text("a: 1")
    process = item.run()
    ended(process, 1)
    assert item.state_secrets() == []
    assert item.export() == b"a: 1"  # stored even though the state failed
    assert "state: not stored" in message(process) and "exports: stored" in message(process)


def test_fifos_and_sockets_in_the_state_are_not_stored(item):
    item.write_state({"f": b"1"})
    os.mkfifo(item.state / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(item.state / "socket"))
    item.exports.write_text("a: 1")
    process = item.run()
    server.close()
    ended(process, 0)
    assert newest_generation(item.kube, item).files == {"f": b"1"}
    named = [line["path"] for line in log_lines(process) if line["msg"].startswith("not stored: ")]
    assert sorted(named) == ["fifo", "socket"]


def test_a_fifo_as_export_does_not_block(item):
    os.mkfifo(item.exports)
    process = item.run()
    ended(process, 1)
    assert item.export() is None


def test_a_huge_sparse_file_as_export_is_refused(item):
    with open(item.exports, "wb") as file:
        file.truncate(1 << 40)
    process = item.run()
    ended(process, 1)
    assert item.export() is None


def test_symlinks_in_the_state_are_stored_as_symlinks(item):
    (item.state / "token").symlink_to(item.token_directory / "token")
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).files == {"token": f"-> {item.token_directory / 'token'}"}


# --- names -----------------------------------------------------------------------------------------------------------

def test_names_of_253_characters(apiserver, namespace):
    name = ".".join(["a23456789-" * 5 + "b"] * 4)[:240] + "x" * 13
    item = Item(apiserver, namespace, name=name)
    item.write_state({"f": b"1"})
    process = item.start(last=("", ""), sequence=1)
    item.end_main()
    process.wait()
    ended(process, 0)
    chunks = item.kube.items("secrets", namespace, labelSelector=f"{GROUP}/type=state")
    assert len(chunks) == 1
    assert chunks[0]["metadata"]["annotations"][f"{OURS}/item-name"] == name


# --- the sandbox -----------------------------------------------------------------------------------------------------

def test_sandboxed_while_waiting(item):
    process = item.start(flags=["-v", "debug"])
    wait_for_log(process, "waiting for main to end")
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{process.pid}/status").read().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    locked, = [line for line in log_lines(process) if line["msg"] == "sandbox entered"]
    assert locked["landlock"] == 1
    item.end_main()
    process.wait()
    ended(process, 0)
