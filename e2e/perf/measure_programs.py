# SPDX-License-Identifier: Apache-2.0
"""Measures the programs: size of files and images, and the number of instructions of the shortest command."""

import os
import pathlib
import re
import subprocess

from ship import release

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
    return found


def images(quick):
    """{image: {architecture: sizes}} of the archives in out/, and of those for another architecture in out/ARCHITECTURE/."""
    found = {}
    for path in sorted([*OUT.glob("longshore*.oci.tar"), *OUT.glob("*/longshore*.oci.tar")]):
        image = release.Archive(path)
        name = path.name.removesuffix(".oci.tar")
        if name in release.SIZE_MAX:
            found.setdefault(name, {})[image.config["architecture"]] = {
                "programBytes": len(image.data[name]), "unpackedBytes": image.size, "compressedBytes": image.manifest["layers"][0]["size"]}
    return found
