# SPDX-License-Identifier: Apache-2.0
"""Processes of the bench: each logs to a file, is signalled by its PID, and never outlives the process that started it."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import subprocess

from bench import paths
from bench.proc import start_time
from bench.waiting import wait_until

# Kills the process when the bench dies for any reason. A wrapper program does this because code between fork and exec in Python
# can deadlock on a lock that another thread held at the fork.
_DYING_WITH_PARENT = [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL", "--"]

# All processes started in this run, for the log tails in the reports of failed tests.
_started = []
# Numbers of the log files: unique even if several threads start processes at the same time.
_numbers = itertools.count()


class Process:
    """A running program. Its stdout and stderr go to the log file."""

    def __init__(self, name, command, *, env=None, cwd=None, log=None, stdin=subprocess.DEVNULL, outlive=False,
                 wrapped=False, pass_fds=()):
        """With outlive the process keeps running when the bench ends (for `cluster up`).

        With wrapped the actual program is the child of the started one (nsenter) and receives the signals.
        """
        self.name = name
        self.command = [str(part) for part in command]
        self.log = pathlib.Path(log) if log else paths.run_directory() / f"{name}-{next(_numbers)}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as output:
            self._popen = subprocess.Popen(
                self.command if outlive else [*_DYING_WITH_PARENT, *self.command], stdin=stdin, stdout=output, stderr=subprocess.STDOUT, cwd=cwd, env=env,
                # Its own process group: Ctrl-C in the terminal reaches only pytest, which then stops everything in order.
                start_new_session=True, pass_fds=pass_fds)
        self._wrapped = wrapped
        self._test_began_at = 0
        _started.append(self)

    @property
    def pid(self):
        return self._popen.pid

    @property
    def stdin(self):
        return self._popen.stdin

    @property
    def exit_code(self):
        """None while it runs; then the exit code, or the negative number of the signal that killed it."""
        return self._popen.poll()

    @property
    def running(self):
        return self.exit_code is None

    def signal(self, number):
        if not self.running:
            return
        for pid in self._wrapped_pids() or [self.pid]:
            with contextlib.suppress(ProcessLookupError):  # it has exited in the meantime
                os.kill(pid, number)

    def _wrapped_pids(self):
        if not self._wrapped:
            return []
        return [int(pid) for pid in pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def wait(self, timeout=60):
        return self._popen.wait(timeout)

    def stop(self, grace=10):
        """Sends SIGTERM, and SIGKILL after the grace period. Returns the exit code."""
        if self.running:
            self.signal(signal.SIGTERM)
            try:
                self._popen.wait(grace)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.exit_code

    def kill(self):
        if self.running:
            proper = [(pid, start_time(pid)) for pid in self._wrapped_pids()]
            # Kill the whole group: a wrapper may have started the actual program.
            os.killpg(self.pid, signal.SIGKILL)
            self._popen.wait()
            # The wrapper ends first, but a restart needs the ports and locks of the actual program.
            wait_until(lambda: all(start is None or start_time(pid) != start for pid, start in proper),
                       f"{self.name} has ended")

    def output(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def must_run(self):
        """Raises an error with the end of its log if it has ended."""
        if not self.running:
            raise RuntimeError(f"{self.name} ended with {self.exit_code}:\n{_last_lines(self.output(), 30)}")

    def wait_until(self, condition, what, timeout=120):
        """Waits for a condition that depends on this process; fails at once if the process ends."""
        def check():
            self.must_run()
            return condition()
        return wait_until(check, f"{self.name}: {what}", timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def _last_lines(text, count):
    return "\n".join(text.splitlines()[-count:])


def mark_test_begin():
    """Marks the logs: later output belongs to the test that starts now."""
    for process in _started:
        process._test_began_at = process.log.stat().st_size if process.log.exists() else 0


def log_tails(lines=40):
    """(title, text) for each process that logged something since the last mark."""
    tails = []
    for process in _started:
        if not process.log.exists():
            continue
        with open(process.log, "rb") as log:
            log.seek(process._test_began_at)
            text = log.read().decode(errors="replace")
        state = "running" if process.running else f"ended with {process.exit_code}"
        if text.strip() or not process.running:
            tails.append((f"log of {process.name} (pid {process.pid}, {state}, {process.log})", _last_lines(text, lines)))
    return tails


def forget(process):
    """Removes a process that has ended and its log, for tests that start thousands of processes."""
    process.kill()
    _started.remove(process)
    process.log.unlink(missing_ok=True)


def stop_all():
    """Kills what is left at the end of a run; normally the fixtures have stopped everything before."""
    for process in reversed(_started):
        process.kill()
