# SPDX-License-Identifier: Apache-2.0
"""Processes that the bench starts do not outlive it, and their logs are shown when a test fails."""

import os
import signal
import subprocess
import sys

from bench import leftovers, paths, process
from bench.proc import start_time
from bench.waiting import wait_until

STARTER = """
import pathlib, sys, time
from bench.process import Process
started = Process("sleep", ["sleep", "1000"])
# Before that, the wrapper that makes it end with its parent may not have done so yet.
while pathlib.Path(f"/proc/{started.pid}/comm").read_text().strip() != "sleep":
    time.sleep(0.01)
print(started.pid, flush=True)
sys.stdin.read()
"""


def test_children_and_files_of_a_killed_run_are_removed():
    environment = {**os.environ, "PYTHONPATH": str(paths.BENCH.parent)}
    with subprocess.Popen([sys.executable, "-c", STARTER], env=environment, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        child = int(starter.stdout.readline())
        directory, = paths.STATE_ROOT.glob(f"run-{starter.pid}-*")
        starter.send_signal(signal.SIGKILL)
    wait_until(lambda: start_time(child) is None, "the child has ended")
    leftovers.clean()
    assert not directory.exists()


def test_log_tail_contains_only_output_since_the_test_began():
    with process.Process("talker", ["sh", "-c", "echo early; read line; echo late"], stdin=subprocess.PIPE) as talker:
        talker.wait_until(lambda: "early" in talker.output(), "the first line of output")
        process.mark_test_begin()
        talker.stdin.close()
        talker.wait()
        text, = [text for title, text in process.log_tails() if "talker" in title]
        assert text == "late"
