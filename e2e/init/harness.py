# SPDX-License-Identifier: Apache-2.0
"""Starts longshore-init as the kubelet does: mounts, environment, user and the shared volume."""

import dataclasses
import functools
import json
import os
import pathlib
import select
import shutil
import stat
import subprocess
import sys

from bench import paths

UID, GID, FSGROUP = 1000, 3000, 2000
DATA = pathlib.Path(__file__).resolve().parent / "data"
BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
PROGRAM = BUILD / "init" / "longshore-init"
TARGET = {"target": {"metadata": {"name": "t"}, "spec": {"type": "x"}}, "content": "{\"a\":1}"}


@dataclasses.dataclass
class Result:
    code: int
    error: str
    shared: pathlib.Path
    message: str

    @property
    def log(self):
        """The lines of the log, parsed."""
        return [json.loads(line) for line in self.error.splitlines() if line.startswith("{")]

    @property
    def failure(self):
        """The last log line, with the reason of the failure."""
        last = self.log[-1]
        assert last["msg"] == "init failed", self.error
        return last

    def line(self, message):
        """The one log line with this message."""
        found = [line for line in self.log if line["msg"] == message]
        assert len(found) == 1, self.error
        return found[0]

    def read(self, name):
        return (self.shared / name).read_text()

    def descriptors(self):
        return json.loads(self.read("component_descriptor.json"))

    def components(self):
        return [(entry["component"]["name"], entry["component"]["version"]) for entry in self.descriptors()["components"]]

    def content(self):
        """{path: bytes} of all that is below the content directory."""
        return tree(self.shared / "content")

    def must_succeed(self):
        assert self.code == 0, self.error
        return self

    def must_fail(self, *words, code=1):
        """Asserts that init failed with a message that contains all these texts, and left no temporary files."""
        assert self.code == code, self.error
        for word in words:
            assert word in self.failure["error"], self.failure["error"]
        left = [str(path) for path in self.shared.rglob("*") if path.name.startswith(".longshore")]
        assert not left, left
        return self


def tree(directory):
    """{path: bytes} of the regular files below a directory. Fails for other kinds of files."""
    files = {}
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        assert stat.S_ISREG(mode), f"{path} is no regular file"
        files[str(path.relative_to(directory))] = path.read_bytes()
    return files


def _open_way(directory):
    """Makes a directory accessible for the user of the pod: those of pytest are private."""
    directory.chmod(0o755)
    for parent in list(directory.parents)[:-2]:
        if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)


@functools.cache
def _reachable(program):
    """A copy of the program for the user of the pod, which has no access to a checkout in the home of root."""
    directory = paths.fresh_directory("program")
    _open_way(directory)
    return shutil.copy(program, directory)


class Pod:
    """The directories of one pod. run() runs init in it, and can be called again."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        _open_way(self.directory)
        self.shared = self.directory / "shared"
        self.inputs = self.directory / "inputs"
        self.inputs.mkdir()
        self.shared.mkdir()
        self.message = self.directory / "termination-log"
        self.message.touch()
        self.message.chmod(0o666)
        self.as_pod = os.geteuid() == 0
        if self.as_pod:
            os.chown(self.shared, 0, FSGROUP)
        # As the kubelet does for an emptyDir with an fsGroup.
        self.shared.chmod(0o2777)
        self.env = {
            "CONFIGURATION_PATH": str(self.inputs / "configuration.json"),
            "IMPORTS_PATH": str(self.shared / "imports" / "import.json"),
            "EXPORTS_PATH": str(self.shared / "exports" / "values"),
            "COMPONENT_DESCRIPTOR_PATH": str(self.shared / "component_descriptor.json"),
            "TARGET_PATH": str(self.shared / "targets" / "target.json"),
            "CONTENT_PATH": str(self.shared / "content"),
            "STATE_PATH": str(self.shared / "state"),
            "DEPLOY_ITEM_NAME": "item", "DEPLOY_ITEM_NAMESPACE": "ns",
            "REGISTRY_SECRETS_DIR": str(self.inputs / "registry_secrets"),
            "OCM_CONFIGURATION_PATH": str(self.inputs / "ocm" / ".ocmconfig"),
            "LONGSHORE_TARGET_SOURCE": str(self.inputs / "target.json"),
            "LONGSHORE_TERMINATION_LOG": str(self.message),
            "LONGSHORE_INIT_DEADLINE": "20s",
        }
        self.write("target.json", TARGET)

    def write(self, name, content):
        """Writes a file below inputs: JSON unless it is text or bytes."""
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def pull_secret(self, host, credentials, name="cd-pull-secret", **more):
        """Writes a pull secret as the controllers do: with user and password, without "auth"."""
        entry = {"username": credentials[0], "password": credentials[1], **more}
        self.write(f"registry_secrets/{name}/.dockerconfigjson", {"auths": {host: entry}})

    def ocm(self, *configurations):
        """Writes the OCM configuration."""
        self.write("ocm/.ocmconfig", {"type": "generic.config.ocm.software/v1", "configurations": list(configurations)})

    def command(self, arguments=(), wrapper=()):
        return [*map(str, wrapper), str(_reachable(PROGRAM)), *arguments]

    def measuring(self):
        """A wrapper for run() that measures memory for peak()."""
        file = self.write("peak", "")
        file.chmod(0o666)
        return [sys.executable, "-I", "-S", _reachable(pathlib.Path(__file__).with_name("peak.py")), file]

    def peak(self):
        """The maximum resident memory in bytes, including the pages of shared libraries."""
        return int((self.inputs / "peak").read_text()) * 1024

    def identity(self):
        if not self.as_pod:
            return {}
        return {"user": UID, "group": GID, "extra_groups": [FSGROUP]}

    def run(self, configuration=None, *, env=None, arguments=(), wrapper=(), service_account=None, timeout=120):
        """Runs init and waits for its end. env adds to the environment; a value of None removes a variable.

        service_account is a directory with token and ca.crt, mounted where a pod has it (needs root).
        """
        if configuration is not None:
            self.write("configuration.json", configuration)
        # Sanitizer builds need ASAN_OPTIONS=detect_leaks=0: the leak check reads /proc, which the sandbox forbids.
        passed = {key: os.environ[key] for key in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
        environment = {**passed, **self.env, **(env or {})}
        environment = {key: value for key, value in environment.items() if value is not None}
        log = self.directory / "log"
        command, identity = self.command(arguments, wrapper), self.identity()
        if service_account:
            command, identity = [*mounting(service_account), *command], {}
        with open(log, "wb") as error:
            process = subprocess.Popen(command, env=environment, cwd="/", umask=0o022, stdin=subprocess.DEVNULL,
                                       stdout=error, stderr=error, **identity)
            try:
                _wait(process, timeout)
            except BaseException:
                process.kill()
                raise
        return Result(process.returncode, log.read_text(errors="replace"), self.shared, self.message.read_text())


def mounting(directory):
    """A command prefix that mounts the token in a mount namespace and switches to the user of the pod."""
    script = ("mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && "
              f"mount --bind -o ro '{directory}' /run/secrets/kubernetes.io/serviceaccount && "
              f"exec setpriv --reuid {UID} --regid {GID} --groups {FSGROUP} --inh-caps=-all \"$@\"")
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]


def _wait(process, timeout):
    """Like Popen.wait() with a timeout, but without its polling, which would slow down these many short runs."""
    ended = os.pidfd_open(process.pid)
    try:
        if not select.select([ended], [], [], timeout)[0]:
            raise TimeoutError(f"init still runs after {timeout} s")
    finally:
        os.close(ended)
    process.wait()
