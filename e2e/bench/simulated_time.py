# SPDX-License-Identifier: Apache-2.0
"""Time that passes as fast as programs can do the work of it, with a preloaded library (simulated_time.c)."""

import functools
import mmap
import pathlib
import struct
import subprocess

from bench import paths
from bench.waiting import wait_until

HOUR = 3600
_SIZE = 4096
_PASSED, _UNTIL, _STOPPED = 0, 8, 16  # where these numbers are in the file


@functools.cache
def _library():
    library = paths.fresh_directory("simulated-time") / "simulated_time.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, pathlib.Path(__file__).with_name("simulated_time.c")], check=True)
    return library


class SimulatedTime:
    """self.environment contains the variables for the programs that share this time. They must talk only to each other while it passes."""

    def __init__(self):
        path = paths.fresh_directory("simulated-time") / "shared"
        path.write_bytes(bytes(_SIZE))
        with open(path, "r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _SIZE)
        self.environment = {"LD_PRELOAD": str(_library()), "LONGSHORE_SIMULATED_TIME": str(path)}

    @property
    def passed_seconds(self):
        return struct.unpack_from("=q", self._shared, _PASSED)[0] / 1000

    def stop(self):
        """From now on no time passes, so that no timer of the programs is due. The clocks never go on."""
        struct.pack_into("=q", self._shared, _STOPPED, 1)

    def pass_until(self, seconds, timeout):
        """Waits until so much time has been skipped since the programs were started."""
        struct.pack_into("=q", self._shared, _UNTIL, int(seconds * 1000))
        wait_until(lambda: self.passed_seconds >= seconds, f"{seconds} simulated seconds", timeout=timeout, interval=0.05)
