# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of `longshore run`: a home directory of root and of an unprivileged user, and images."""

import functools
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import jsonschema
import pytest
import yaml

from bench import images, oci

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or ROOT / "build/dev")
PLAIN_USER = "longshore-test"


def item(name="test", **config):
    """A DeployItem of the container type."""
    return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "namespace": "example"},
            "spec": {"type": "landscaper.gardener.cloud/container",
                     "config": {"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1",
                                "kind": "ProviderConfiguration", **config}}}


def shell(script, name="test", **config):
    return item(name, command=["/bin/sh", "-c", script], **config)


@functools.cache
def busybox_archive():
    return oci.archive(images.busybox(), "localhost/busybox:1")


SCHEMA = json.loads((ROOT / "docs/schemas/run-result.schema.json").read_text())


class Result:
    """What a command printed. The result of `run -o json` is checked against the published schema."""

    def __init__(self, code, out, err, arguments=()):
        self.code, self.out, self.err = code, out, err
        is_result = "run" in arguments and "json" in arguments
        self.data = json.loads(out) if is_result or out.startswith("{") else {}
        if is_result:
            jsonschema.validate(self.data, SCHEMA)

    def __repr__(self):
        return f"code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Local:
    """A home directory of one user, with the programs and an image, to run longshore in."""

    def __init__(self, user, home):
        self.user, self.home = user, home
        self.programs = home / "programs"
        self.programs.mkdir()
        for source in ("deployer/longshore", "init/longshore-init", "wait/longshore-wait"):
            shutil.copy(BUILD / source, self.programs)
        self.image = self.write("busybox.oci.tar", busybox_archive())
        self.own()

    def own(self):
        if self.user != "root":
            entry = pwd.getpwnam(self.user)
            subprocess.run(["chown", "-R", f"{entry.pw_uid}:{entry.pw_gid}", str(self.home)], check=True)

    def write(self, name, data):
        path = self.home / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        self.own()
        return path

    def documents(self, *objects, name="item.yaml"):
        return self.write(name, "---\n".join(yaml.safe_dump(o) for o in objects))

    def command(self, *arguments):
        argv = [str(self.programs / "longshore"), *map(str, arguments)]
        if self.user != "root":
            argv = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", *argv]
        return argv

    def environment(self, **more):
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **more}

    def start(self, *arguments, **environment):
        return subprocess.Popen(self.command("run", *arguments), cwd=self.home, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(**environment),
                                start_new_session=True)

    def run(self, *arguments, stdin=None, **environment):
        done = subprocess.run(self.command("run", *arguments), cwd=self.home, text=True, errors="replace", input=stdin, timeout=120,
                              capture_output=True, env=self.environment(**environment))
        return Result(done.returncode, done.stdout, done.stderr, ("run", *arguments))

    def run_item(self, document, *arguments, **more):
        """Runs an item with -o json; the image is busybox unless the item names one."""
        config = document["spec"].get("config", {})
        config.setdefault("image", f"oci-archive:{self.image}")
        return self.run(self.documents(document), "-o", "json", *arguments, **more)

    def state_of(self, name="test"):
        found = list((self.home / ".local/state/longshore").glob(f"{name}-*"))
        assert len(found) == 1, found
        return found[0]

    def leftovers(self):
        """Processes and mounts of this home directory that still exist."""
        left = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(self.home) in line]
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_text()
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(self.home) in command and state != "Z":
                left.append(command)
        return left


def plain_user():
    try:
        pwd.getpwnam(PLAIN_USER)
    except KeyError:
        subprocess.run(["useradd", "--no-create-home", "--user-group", PLAIN_USER], check=True)
    for file in ("/etc/subuid", "/etc/subgid"):
        if PLAIN_USER not in pathlib.Path(file).read_text():
            option = "--add-subuids" if file.endswith("uid") else "--add-subgids"
            subprocess.run(["usermod", option, "2000000-2065535", PLAIN_USER], check=True)
    return PLAIN_USER


@pytest.fixture(params=["root", "plain"])
def local(request):
    """A home directory; every test runs as root and as an unprivileged user."""
    if os.geteuid() != 0:
        pytest.fail("tests of the local run need root: they create a user, and run as root and as that user")
    user = "root" if request.param == "root" else plain_user()
    home = pathlib.Path(tempfile.mkdtemp(prefix="longshore-local-"))
    home.chmod(0o755)
    machine = Local(user, home)
    yield machine
    left = machine.leftovers()
    subprocess.run(["rm", "-rf", str(home)], check=True)
    assert not left, left


def wait_for_line(process, text):
    """Reads stderr up to the first line with this text; returns what was read."""
    seen = []
    for line in process.stderr:
        seen.append(line)
        if text in line:
            return "".join(seen)
    raise AssertionError(f"no line with {text!r}:\n" + "".join(seen))


def end(process, signal_number=None):
    """Sends a signal, if one is given, and waits for the process to end."""
    if signal_number is not None:
        process.send_signal(signal_number)
    out, err = process.communicate(timeout=60)
    return Result(process.returncode, out, err, process.args)


def wait_gone(machine, seconds=20):
    """Waits until nothing of a killed run is left: the kernel ends its processes asynchronously. Returns what is left."""
    deadline = time.monotonic() + seconds
    while machine.leftovers() and time.monotonic() < deadline:
        time.sleep(0.05)
    return machine.leftovers()


SIGNALS = signal
