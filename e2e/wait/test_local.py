# SPDX-License-Identifier: Apache-2.0
"""longshore-wait in a local run: stores into a directory, without API server; main's end is reported on a descriptor."""

import json
import os
import signal

import pytest

from bench import paths
from bench.process import Process
from wait.harness import PROGRAM, ended, message, wait_for_log
from wait.reader import contents


class Local:
    def __init__(self):
        self.directory = paths.fresh_directory("wait-local")
        self.state = self.directory / "shared" / "state"
        self.exports = self.directory / "shared" / "exports" / "values"
        self.sink = self.directory / "sink"
        self.state.mkdir(parents=True)
        self.exports.parent.mkdir()
        self.last = ("", "")

    def start(self, *, flags=(), **env):
        reader, self.writer = os.pipe()
        log = self.directory / "termination-log"
        log.unlink(missing_ok=True)
        environment = {"STATE_PATH": str(self.state), "EXPORTS_PATH": str(self.exports), "LONGSHORE_SINK_DIR": str(self.sink),
                       "LONGSHORE_MAIN_END_FD": "9", "LONGSHORE_STATE_SEQUENCE": str(self.last[0]),
                       "LONGSHORE_STATE_SHA256": self.last[1], "LONGSHORE_TERMINATION_LOG": str(log),
                       "ASAN_OPTIONS": "detect_leaks=0", **env}
        # Process passes on the standard descriptors only; the shell moves one of them.
        process = Process("longshore-wait", ["/bin/sh", "-c", 'exec "$@" 9<&0', "sh", PROGRAM, *flags],
                          env=environment, stdin=reader)
        os.close(reader)
        process.termination_log = log
        return process

    def end_main(self, code=0):
        os.write(self.writer, json.dumps({"exitCode": code, "reason": "Completed" if code == 0 else "Error"}).encode() + b"\n")
        os.close(self.writer)

    def run(self, code=0, **options):
        process = self.start(**options)
        self.end_main(code)
        process.wait()
        return process

    @property
    def result(self):
        return json.loads((self.sink / "result.json").read_text())

    def generations(self):
        """Complete generations: sequence to files."""
        found = {}
        for path in (self.sink / "state").iterdir():
            if path.name.startswith("."):
                continue
            chunks = sorted(path.iterdir(), key=lambda chunk: int(chunk.name))
            found[int(path.name.split("-")[0])] = contents(b"".join((chunk / "config").read_bytes() for chunk in chunks))
        return found


@pytest.fixture
def local():
    return Local()


def test_state_and_exports_are_written_to_files(local):
    (local.state / "f").write_bytes(b"1")
    local.exports.write_text("a: 1\n")
    process = local.run()
    ended(process, 0)
    assert local.generations() == {1: {"f": b"1"}}
    assert (local.sink / "exports").read_text() == "a: 1\n"
    assert local.result["exitCode"] == 0 and local.result["exports"] == "stored"
    assert local.result["state"] == {**local.result["state"], "stored": True, "unchanged": False, "files": 1, "bytes": 1,
                                     "sequence": 1}


def test_a_second_run_keeps_what_is_unchanged_and_drops_old_exports(local):
    (local.state / "f").write_bytes(b"1")
    local.exports.write_text("a: 1\n")
    ended(local.run(), 0)
    local.last = (1, local.result["state"]["sha256"])
    local.exports.unlink()
    ended(local.run(), 0)
    assert local.result["state"]["unchanged"] and local.result["exports"] == "none"
    assert not (local.sink / "exports").exists()
    (local.state / "f").write_bytes(b"2")
    ended(local.run(), 0)
    assert local.generations() == {1: {"f": b"1"}, 2: {"f": b"2"}}


def test_a_failed_main(local):
    (local.state / "f").write_bytes(b"1")
    local.exports.write_text("a: 1\n")
    process = local.run(code=3)
    ended(process, 1)
    assert local.result["exitCode"] == 3 and local.result["exports"] == "skipped"
    assert local.generations() == {1: {"f": b"1"}}
    assert "main ended with code 3" in message(process)


def test_the_runner_dies(local):
    (local.state / "f").write_bytes(b"1")
    process = local.start()
    wait_for_log(process, "waiting for main to end")
    os.close(local.writer)
    process.wait()
    ended(process, 1)
    assert local.result["exitCode"] is None
    assert local.generations() == {1: {"f": b"1"}}


def test_invalid_exports_are_an_error(local):
    local.exports.write_text("- 1\n")
    process = local.run()
    ended(process, 1)
    assert local.result["exports"].startswith("failed: $EXPORTS_PATH: ")
    assert not (local.sink / "exports").exists()


def test_sigterm_saves_within_the_grace_time(local):
    (local.state / "f").write_bytes(b"1")
    process = local.start(flags=["--grace=4"])
    wait_for_log(process, "waiting for main to end")
    process.signal(signal.SIGTERM)
    process.wait()
    ended(process, 1)
    assert local.generations() == {1: {"f": b"1"}}
    os.close(local.writer)


def test_a_kill_while_writing_leaves_no_incomplete_generation(local):
    """Everything is written under a temporary name and renamed."""
    (local.state / "f").write_bytes(b"1")
    ended(local.run(), 0)
    local.last = (1, local.result["state"]["sha256"])
    (local.state / "noise").write_bytes(os.urandom(40_000_000))
    process = local.start()
    local.end_main()
    # In the middle: the first chunk was written under a temporary name.
    process.wait_until(lambda: any(path.name.startswith(".") for path in (local.sink / "state").iterdir()), "a chunk")
    process.kill()
    assert set(local.generations()) <= {1, 2}
    assert local.generations()[1] == {"f": b"1"}
    ended(local.run(), 0)
    assert set(local.generations()[2]) == {"f", "noise"}


def test_sandboxed_in_a_local_run(local):
    process = local.start(flags=["-v", "debug"])
    wait_for_log(process, "sandbox entered")
    status = open(f"/proc/{process.pid}/status").read()
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status
    local.end_main()
    process.wait()
    ended(process, 0)


@pytest.mark.parametrize("missing, says", [("STATE_PATH", "STATE_PATH"), ("EXPORTS_PATH", "EXPORTS_PATH")])
def test_wrong_usage_is_exit_code_2(local, missing, says):
    process = local.start(**{missing: ""})
    process.wait()
    ended(process, 2)
    assert says in process.output()
