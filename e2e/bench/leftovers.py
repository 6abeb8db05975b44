# SPDX-License-Identifier: Apache-2.0
"""Removes what a killed run left behind: its directory, and the traces of its node in the kernel."""

import os
import shutil

from bench import nest, paths
from bench.proc import start_time


def clean():
    """Every run's directory is named after its process; those of processes that are gone are removed."""
    if not paths.STATE_ROOT.is_dir():
        return
    for directory in paths.STATE_ROOT.glob("run-*"):
        _, pid, started = directory.name.split("-")
        if start_time(int(pid)) == int(started) or int(pid) == os.getpid():
            continue
        for record in directory.glob(f"*/{nest.RECORD}"):
            nest.destroy(record.parent)
        shutil.rmtree(directory, ignore_errors=True)
