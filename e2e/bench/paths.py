# SPDX-License-Identifier: Apache-2.0
"""Paths: the checkout, the tools, and the directory in which a run of the bench keeps its files."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from bench.proc import start_time

BENCH = pathlib.Path(__file__).resolve().parent
CHECKOUT = BENCH.parent.parent
CRDS = CHECKOUT / "charts" / "container-deployer" / "files" / "crds"

# Contains the directories of all runs, so that a later run can clean up after a killed one.
STATE_ROOT = pathlib.Path(os.environ.get("LONGSHORE_STATE") or
                          pathlib.Path(tempfile.gettempdir()) / f"longshore-bench-{os.getuid()}")


def state_root():
    """STATE_ROOT, created if necessary. Its path is predictable, so make sure that it belongs to this user."""
    STATE_ROOT.mkdir(parents=True, exist_ok=True, mode=0o700)
    if STATE_ROOT.is_symlink() or STATE_ROOT.stat().st_uid != os.getuid():
        raise PermissionError(f"{STATE_ROOT} belongs to another user; set LONGSHORE_STATE to a directory of your own")
    return STATE_ROOT


class ToolMissing(Exception):
    """A program that the bench needs is not installed on this machine."""


@functools.cache
def tool_directory(name):
    """The directory with the programs of a tool that the bench builds from source; builds it first if necessary."""
    tools = str(BENCH / "tools")
    # Use the real stderr: pytest captures sys.stderr, and the first build takes minutes.
    if subprocess.run([tools, name], stdout=sys.__stderr__, stderr=sys.__stderr__).returncode:
        raise ToolMissing(f"'{tools} {name}' failed, see above")
    return pathlib.Path(subprocess.run([tools, "path", name], check=True, capture_output=True, text=True).stdout.strip())


def kubernetes(program):
    """The path of kube-apiserver, kubelet, kubectl, ..."""
    return str(tool_directory("kubernetes") / program)


def installed(program):
    """The path of a program that a Debian package provides."""
    # Daemons are in sbin, which is often not in the PATH of a user.
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin")
    if path is None:
        raise ToolMissing(f"{program} is not installed; run '{BENCH / 'tools'} packages' as root")
    return path


@functools.cache
def run_directory():
    """The directory of this run. It is named after this process and removed at its end."""
    directory = state_root() / f"run-{os.getpid()}-{start_time(os.getpid())}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    atexit.register(_remove_own, directory, os.getpid())
    return directory


def _remove_own(directory, owner):
    # A forked child runs the same exit handlers and must not remove what its parent still uses.
    if os.getpid() == owner and not os.environ.get("LONGSHORE_KEEP"):
        shutil.rmtree(directory, ignore_errors=True)


def fresh_directory(label):
    """Creates a new directory in the directory of this run."""
    return pathlib.Path(tempfile.mkdtemp(prefix=f"{label}-", dir=run_directory()))
