# SPDX-License-Identifier: Apache-2.0
"""Clocks for a program under test that the test can set while the program runs, with a preloaded library (clock.c)."""

import functools
import pathlib
import struct
import subprocess

from bench import paths

HOUR = 3600


@functools.cache
def _library():
    library = paths.fresh_directory("clock") / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("clock.c")], check=True)
    return library


class Clock:
    """self.environment contains the variables for the programs that use this clock."""

    def __init__(self):
        self._file = paths.fresh_directory("clock") / "off-seconds"
        self.off_seconds = self.passed_seconds = 0
        self._write()
        self.environment = {"LD_PRELOAD": str(_library()), "LONGSHORE_TEST_CLOCK": str(self._file)}

    def jump(self, seconds):
        """The wall clock is set to another time."""
        self.off_seconds += seconds
        self._write()

    def advance(self, seconds):
        """Time passes, as if the machine had been suspended: wall clock and timers go on."""
        self.passed_seconds += seconds
        self.jump(seconds)

    def _write(self):
        # Write in place: the programs have mapped this file.
        with open(self._file, "r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("=qq", self.off_seconds, self.passed_seconds))
