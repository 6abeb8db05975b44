# SPDX-License-Identifier: Apache-2.0
"""A sandbox: a process tree in its own mount, network, PID, UTS and IPC namespaces, in which a whole node runs.

Killing its first process ends every daemon and container in it. A veth pair connects it to this machine:
10.250.N.1 is this machine, 10.250.N.2 is the sandbox.
"""

import json
import os
import pathlib
import shutil
import subprocess

from bench import cgroups, link, paths
from bench.process import Process
from bench.proc import start_time
from bench.waiting import wait_until

RECORD = "sandbox.json"
NODE_NAME = "longshore-node"


class Sandbox:
    """A location (see location.py) for the components of a node."""

    def __init__(self, directory, *, outlive=False):
        self.state = pathlib.Path(directory)
        self.state.mkdir(parents=True, exist_ok=True)
        self._outlive = outlive
        self._ports = {}
        self._compile_pause()
        with link.unused() as self.link:
            self.test_address, self.address = self.link.test_address, self.link.address
            self.cgroup = f"longshore-{self.link.number}-{os.getpid()}"
            self._open()

    def _compile_pause(self):
        subprocess.run([paths.installed("gcc"), "-static", "-Os", "-s", "-o", str(self.state / "pause"),
                        str(paths.BENCH / "pause.c")], check=True)

    def _open(self):
        cgroups.make(self.cgroup)
        self.process = Process("sandbox", [
            paths.installed("unshare"), "--mount", "--propagation", "private", "--net", "--pid", "--uts", "--ipc", "--fork",
            "--kill-child", "--mount-proc", paths.BENCH / "sandbox.sh", self.state, f"{self.address}/30", NODE_NAME],
            log=self.state / "sandbox.log", outlive=self._outlive)
        self._remember()
        own = os.readlink("/proc/self/ns/net")
        self.process.wait_until(lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") != own, "its own network namespace")
        self.link.connect(self.process.pid)
        self.process.wait_until((self.state / "sandbox-ready").exists, "setup complete")
        self.pid = self._first_process()

    def _first_process(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def _remember(self):
        """Records what destroy() needs to clean up if this run is killed."""
        record = {"pid": self.process.pid, "started": start_time(self.process.pid), "link": self.link.name, "cgroup": self.cgroup}
        (self.state / RECORD).write_text(json.dumps(record))

    # --- the interface of a location ---

    def directory(self, label):
        directory = self.state / label
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def port(self, usual):
        """The usual port, because the network is private; the next higher one for each further call."""
        self._ports[usual] = self._ports.get(usual, usual - 1) + 1
        return self._ports[usual]

    def inside(self, command):
        """The command line that runs a command in the sandbox."""
        return [paths.installed("nsenter"), f"--target={self.pid}", "--mount", "--net", "--pid", "--uts", "--ipc", "--", *command]

    def start(self, name, command):
        return Process(name, self.inside(command), log=self.state / f"{name}.log", outlive=self._outlive,
                       wrapped=True)

    def run(self, *command):
        """Runs a command in the sandbox, waits for its end and returns its output."""
        result = subprocess.run(self.inside([str(part) for part in command]), capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed in the sandbox: {result.stderr}")
        return result.stdout

    def close(self):
        self.process.kill()
        destroy(self.state, keep_files=bool(os.environ.get("LONGSHORE_KEEP")))


def _is_ours(record):
    """Whether the process still is the recorded sandbox. PIDs are reused, so the start time is compared too."""
    if record["started"] is None or start_time(record["pid"]) != record["started"]:
        return False
    try:
        return os.readlink(f"/proc/{record['pid']}/ns/net") != os.readlink("/proc/self/ns/net")
    except FileNotFoundError:
        return False


def alive(state):
    try:
        return _is_ours(json.loads((pathlib.Path(state) / RECORD).read_text()))
    except (FileNotFoundError, ValueError):
        return False


def destroy(state, keep_files=False):
    """Kills the sandbox of this state directory if it still runs, and removes its cgroups, network link and directory."""
    state = pathlib.Path(state)
    try:
        record = json.loads((state / RECORD).read_text())
    except (FileNotFoundError, ValueError):
        record = None
    if record:
        if _is_ours(record):
            os.kill(record["pid"], 9)
            wait_until(lambda: start_time(record["pid"]) is None, "the sandbox has ended")
        cgroups.remove(record["cgroup"])
        # The kernel removes it together with the namespace of the other end, but asynchronously.
        subprocess.run([paths.installed("ip"), "link", "delete", record["link"]], capture_output=True)
    if not keep_files:
        shutil.rmtree(state, ignore_errors=True)
