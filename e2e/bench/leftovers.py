# SPDX-License-Identifier: Apache-2.0
"""Removes what a killed run left behind: its directory, and the network link and cgroups of its node."""

import os
import shutil

from bench import paths, sandbox
from bench.proc import start_time


def clean():
    """Removes the directories of runs whose process has ended. A directory is named after the process of its run."""
    if not paths.STATE_ROOT.is_dir():
        return
    for directory in paths.STATE_ROOT.glob("run-*"):
        _, pid, started = directory.name.split("-")
        if start_time(int(pid)) == int(started) or int(pid) == os.getpid():
            continue
        for record in directory.glob(f"*/{sandbox.RECORD}"):
            sandbox.destroy(record.parent)
        shutil.rmtree(directory, ignore_errors=True)
