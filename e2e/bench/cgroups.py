# SPDX-License-Identifier: Apache-2.0
"""A cgroup for the pods of a node, in each cgroup hierarchy of the machine."""

import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")


def _hierarchies():
    if (ROOT / "cgroup.controllers").exists():  # version 2
        return [ROOT]
    return [path for path in ROOT.iterdir() if path.is_dir() and not path.is_symlink() and (path / "cgroup.procs").exists()]


def make(name):
    for hierarchy in _hierarchies():
        (hierarchy / name).mkdir(exist_ok=True)


def remove(name):
    """Removes the group and everything below it. Retries, because processes that were killed may take a moment to exit."""
    for _ in range(100):
        left = [top for hierarchy in _hierarchies() if (top := hierarchy / name).is_dir()]
        for top in left:
            for directory, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(directory)
                except OSError:
                    pass
        if not left:
            return
        time.sleep(0.05)
