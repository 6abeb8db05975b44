# SPDX-License-Identifier: Apache-2.0
"""What the kernel says about processes."""

import os
import pathlib


def start_time(pid):
    """When a process started, in ticks since boot: with the pid it names a process for good. None if it is gone."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may contain anything, spaces too.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def cpu_seconds(pid):
    """What a process has used so far, for itself and in the kernel."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Bytes by name: VmRSS, VmHWM, RssAnon, RssFile. Empty for one that is ending."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.strip().endswith("kB"):
            found[name] = int(value.split()[0]) * 1024
    return found
