# SPDX-License-Identifier: Apache-2.0
"""Reads information about processes from /proc."""

import os
import pathlib


def start_time(pid):
    """The start time of a process in ticks since boot, which identifies it together with the PID. None if it has ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may contain any character, including spaces.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def cpu_seconds(pid):
    """The CPU time that a process has used so far, in user mode and in the kernel."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Bytes by name: VmRSS, VmHWM, RssAnon, RssFile. Empty for a process that is exiting."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.strip().endswith("kB"):
            found[name] = int(value.split()[0]) * 1024
    return found
