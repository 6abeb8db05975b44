# SPDX-License-Identifier: Apache-2.0
"""Volumes that are full or read-only: init and wait say which file it was and what to do, and no state is lost. The volumes
are mounted in a namespace of the program's own, which needs root."""

import json
import os
import random
import subprocess

import pytest

from bench import paths
from init import samples
from init.harness import FSGROUP, GID, PROGRAM as INIT, UID, Pod
from wait.harness import PROGRAM as WAIT
from wait.reader import contents

STATE = {"big": random.Random(1).randbytes(300_000), "small": b"x"}
FULL = "mount -t tmpfs -o size={size},mode=2777 tmpfs '{place}'"
READ_ONLY = "mount --bind '{place}' '{place}' && mount -o remount,bind,ro '{place}'"


def run(mount, command, env, *, stdin=subprocess.DEVNULL, keep=None, place=None):
    """Runs a program as a pod's user where a mount command was done first. keep is where the place's files are copied to."""
    copy = f"; code=$?; cp -a '{place}/.' '{keep}'; exit $code" if keep else ""
    script = f"{mount} && setpriv --reuid {UID} --regid {GID} --groups {FSGROUP} --inh-caps=-all \"$@\"{copy}"
    passed = {key: os.environ[key] for key in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *map(str, command)],
                          env={**passed, **env}, cwd="/", stdin=stdin, capture_output=True, text=True, timeout=120)


# --- init ------------------------------------------------------------------------------------------------------------

@pytest.fixture
def pod():
    pod = Pod(paths.fresh_directory("pod"))
    pod.write("configuration.json", {})
    pod.env["LONGSHORE_STATE_SOURCE_DIR"] = str(samples.mount(pod.inputs / "state", samples.own(STATE, 2), samples.own({"old": b"1"}, 1)))
    return pod


def failure(result):
    assert result.returncode == 1, result.stderr
    return json.loads(result.stderr.splitlines()[-1])


def test_init_on_a_full_volume_names_the_file_and_the_setting_and_takes_no_older_state(pod):
    result = run(FULL.format(size="128k", place=pod.shared), [INIT], pod.env)
    said = failure(result)
    assert "'big'" in said["error"] and "No space left on device" in said["error"]
    assert "sharedVolumeSizeLimit" in said["advice"]
    assert said["advice"] in pod.message.read_text()
    assert "state restored" not in result.stderr


def test_init_on_a_volume_that_is_full_from_the_start(pod):
    result = run(FULL.format(size="4k,nr_inodes=2", place=pod.shared), [INIT], pod.env)
    said = failure(result)
    assert str(pod.shared) in said["error"] and "No space left on device" in said["error"], said
    assert "sharedVolumeSizeLimit" in said["advice"]


def test_init_on_a_read_only_volume_names_it(pod):
    result = run(READ_ONLY.format(place=pod.shared), [INIT], pod.env)
    said = failure(result)
    assert "Read-only file system" in said["error"] and str(pod.shared) in said["error"]
    assert "read-only" in said["advice"]


# --- wait, with a directory to deliver to ------------------------------------------------------------------------------

class Local:
    def __init__(self):
        self.directory = paths.fresh_directory("wait-disk")
        for parent in (self.directory, *list(self.directory.parents)[:-2]):
            parent.chmod(parent.stat().st_mode | 0o055)
        self.state, self.exports, self.sink, self.kept = (self.directory / name for name in ("state", "exports", "sink", "kept"))
        for place in (self.state, self.exports, self.sink, self.kept):
            place.mkdir()
            place.chmod(0o2777)
        self.message = self.directory / "message"
        self.message.touch()
        self.message.chmod(0o666)

    def run(self, mount, sequence):
        reader, writer = os.pipe()
        os.write(writer, b'{"exitCode": 0, "reason": "Completed"}\n')
        os.close(writer)
        env = {"STATE_PATH": str(self.state), "EXPORTS_PATH": str(self.exports / "values"), "LONGSHORE_SINK_DIR": str(self.sink),
               "LONGSHORE_MAIN_END_FD": "0", "LONGSHORE_STATE_SEQUENCE": str(sequence - 1), "LONGSHORE_STATE_SHA256": "",
               "LONGSHORE_TERMINATION_LOG": str(self.message), "ASAN_OPTIONS": "detect_leaks=0"}
        with os.fdopen(reader) as end:
            return run(mount, [WAIT], env, stdin=end, keep=self.kept, place=self.sink)

    def generations(self):
        return {int(path.name.split("-")[0]): contents(b"".join((chunk / "config").read_bytes() for chunk in sorted(path.iterdir())))
                for path in (self.kept / "state").glob("[0-9]*")}


@pytest.fixture
def local():
    return Local()


def test_wait_with_a_full_disk_keeps_the_generation_before_and_says_where_there_is_no_room(local):
    (local.state / "small").write_bytes(b"first")
    assert local.run("true", 1).returncode == 0
    (local.state / "big").write_bytes(STATE["big"])
    full = f"cp -a '{local.sink}' '{local.sink}.copy' && {FULL.format(size='128k', place=local.sink)} && cp -a '{local.sink}.copy/.' '{local.sink}'"
    result = local.run(full, 2)
    assert result.returncode == 1, result.stderr
    said = local.message.read_text()
    assert "No space left on device" in said and str(local.sink) in said, said
    assert list(local.generations()) == [1] and local.generations()[1]["small"] == b"first"


def test_wait_with_a_read_only_disk_names_it(local):
    (local.state / "small").write_bytes(b"first")
    assert local.run("true", 1).returncode == 0
    (local.state / "small").write_bytes(b"second")
    result = local.run(READ_ONLY.format(place=local.sink), 2)
    assert result.returncode == 1
    said = local.message.read_text() or result.stderr
    assert "Read-only file system" in said and str(local.sink) in said, said
    assert local.generations()[1]["small"] == b"first"
