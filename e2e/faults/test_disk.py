# SPDX-License-Identifier: Apache-2.0
"""Volumes that are full or read-only: init and wait report the file and the remedy, and no state is lost. The volumes
are mounted in a separate mount namespace, which needs root."""

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
FULL = "mount -t tmpfs -o size={size},mode=2777 tmpfs '{directory}'"
READ_ONLY = "mount --bind '{directory}' '{directory}' && mount -o remount,bind,ro '{directory}'"


def run(mount, command, env, *, stdin=subprocess.DEVNULL, keep=None, directory=None):
    """Runs a program as the user of a pod after a mount command. The files in directory are copied to keep afterwards."""
    copy = f"; code=$?; cp -a '{directory}/.' '{keep}'; exit $code" if keep else ""
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


def test_init_on_a_full_volume_reports_the_file_and_the_setting_and_does_not_restore_older_state(pod):
    result = run(FULL.format(size="128k", directory=pod.shared), [INIT], pod.env)
    report = failure(result)
    assert '"big"' in report["error"] and "No space left on device" in report["error"]
    assert "sharedVolumeSizeLimit" in report["advice"]
    assert report["advice"] in pod.message.read_text()
    assert "restored state" not in result.stderr


def test_init_on_a_volume_that_is_full_from_the_start(pod):
    result = run(FULL.format(size="4k,nr_inodes=2", directory=pod.shared), [INIT], pod.env)
    report = failure(result)
    assert str(pod.shared) in report["error"] and "No space left on device" in report["error"], report
    assert "sharedVolumeSizeLimit" in report["advice"]


def test_init_on_a_read_only_volume_reports_its_path(pod):
    result = run(READ_ONLY.format(directory=pod.shared), [INIT], pod.env)
    report = failure(result)
    assert "Read-only file system" in report["error"] and str(pod.shared) in report["error"]
    assert "read-only" in report["advice"]


# --- wait, with a directory as sink ----------------------------------------------------------------------------------

class Local:
    def __init__(self):
        self.directory = paths.fresh_directory("wait-disk")
        for parent in (self.directory, *list(self.directory.parents)[:-2]):
            parent.chmod(parent.stat().st_mode | 0o055)
        self.state, self.exports, self.sink, self.kept = (self.directory / name for name in ("state", "exports", "sink", "kept"))
        for directory in (self.state, self.exports, self.sink, self.kept):
            directory.mkdir()
            directory.chmod(0o2777)
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
            return run(mount, [WAIT], env, stdin=end, keep=self.kept, directory=self.sink)

    def generations(self):
        return {int(path.name.split("-")[0]): contents(b"".join((chunk / "config").read_bytes() for chunk in sorted(path.iterdir())))
                for path in (self.kept / "state").glob("[0-9]*")}


@pytest.fixture
def local():
    return Local()


def test_wait_with_a_full_disk_keeps_the_previous_generation_and_reports_the_path(local):
    (local.state / "small").write_bytes(b"first")
    assert local.run("true", 1).returncode == 0
    (local.state / "big").write_bytes(STATE["big"])
    full = f"cp -a '{local.sink}' '{local.sink}.copy' && {FULL.format(size='128k', directory=local.sink)} && cp -a '{local.sink}.copy/.' '{local.sink}'"
    result = local.run(full, 2)
    assert result.returncode == 1, result.stderr
    report = local.message.read_text()
    assert "No space left on device" in report and str(local.sink) in report, report
    assert list(local.generations()) == [1] and local.generations()[1]["small"] == b"first"


def test_wait_with_a_read_only_disk_reports_its_path(local):
    (local.state / "small").write_bytes(b"first")
    assert local.run("true", 1).returncode == 0
    (local.state / "small").write_bytes(b"second")
    result = local.run(READ_ONLY.format(directory=local.sink), 2)
    assert result.returncode == 1
    report = local.message.read_text() or result.stderr
    assert "Read-only file system" in report and str(local.sink) in report, report
    assert local.generations()[1]["small"] == b"first"
