# SPDX-License-Identifier: Apache-2.0
"""No function of ours has the name of one in a library that the release is linked with: the linker of a static program takes whichever
it finds first. jansson's utf8_encode() once took the place of ours, and overwrote memory in the release build alone."""

import os
import pathlib
import subprocess

import pytest

from bench import paths

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
SYSTEM = pathlib.Path("/usr/lib") / (os.uname().machine + "-linux-gnu")


def symbols(*libraries):
    out = subprocess.run(["nm", "--defined-only", "--extern-only", "-P", *map(str, libraries)], capture_output=True, text=True).stdout
    return {line.split()[0] for line in out.splitlines() if len(line.split()) > 2 and line.split()[1] in "TDBRVW"}


@pytest.mark.parametrize("name", ["jansson", "yaml", "nghttp2", "z", "zstd", "lzma", "cap", "seccomp", "archive", "curl"])
def test_no_symbol_of_ours_is_one_of_a_static_library(name):
    library = SYSTEM / f"lib{name}.a"
    if not library.exists():
        library = next(pathlib.Path.home().glob(f".cache/longshore/static-*/lib/lib{name}.a"))
    ours, theirs = symbols(*BUILD.rglob("liblongshore*.a")), symbols(library)
    assert len(ours) > 500 and len(theirs) > 5
    assert not ours & theirs
