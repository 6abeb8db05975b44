# SPDX-License-Identifier: Apache-2.0
"""What the kernel says about processes."""

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
