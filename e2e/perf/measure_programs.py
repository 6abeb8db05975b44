# SPDX-License-Identifier: Apache-2.0
"""Measures the programs: size of files and images, and the number of instructions of the shortest command."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or ROOT / "build/dev")
RELEASE = pathlib.Path(os.environ.get("LONGSHORE_RELEASE_BUILD") or ROOT / "build/release")
OUT = pathlib.Path(os.environ.get("LONGSHORE_OUT") or ROOT / "out")
PROGRAMS = {"longshore": "deployer/longshore", "longshore-init": "init/longshore-init", "longshore-wait": "wait/longshore-wait"}


def instructions(program):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "--version"],
                          capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def programs(quick):
    found = {}
    for name, path in PROGRAMS.items():
        static = RELEASE / "bin" / name
        found[name] = {"dynamicBytes": (BUILD / path).stat().st_size, "startInstructions": instructions(str(BUILD / path))}
        if static.exists():
            found[name]["staticBytes"] = static.stat().st_size
            found[name]["staticStartInstructions"] = instructions(str(static))
        # Of another architecture: images/build writes it to a directory with that suffix.
        for other in RELEASE.parent.glob(f"{RELEASE.name}-*/bin/{name}"):
            found[name].setdefault("otherStaticBytes", {})[other.parents[1].name.removeprefix(f"{RELEASE.name}-")] = other.stat().st_size
        archive = OUT / f"{name}.oci.tar"
        if archive.exists():
            found[name]["imageBytes"] = archive.stat().st_size
    return found
