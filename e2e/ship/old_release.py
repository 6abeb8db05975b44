# SPDX-License-Identifier: Apache-2.0
"""Version 0.1.0 for tests of the upgrade: its programs, built from its sources, and its chart.

testdata/longshore-0.1.0.tar.xz contains the sources without tests. They are compiled once, without optimization, which takes a minute, and
linked with the libraries of the current release."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

from bench import paths
from ship import release

VERSION = "0.1.0"
SOURCES = pathlib.Path(__file__).parent / "testdata" / f"longshore-{VERSION}.tar.xz"


def chart(directory):
    """Unpacks the chart, and returns its path."""
    with tarfile.open(SOURCES) as archive:
        archive.extractall(directory, [entry for entry in archive if entry.name.startswith("charts/")])
    return directory / "charts" / "container-deployer"


def archives(directory):
    """{name: path of its OCI archive}, written to directory."""
    programs = _programs()
    made = {}
    for name, entry in release.ENTRY.items():
        tree, made[name] = directory / name, directory / f"{name}.oci.tar"
        tree.mkdir()
        shutil.copy(programs / name, tree)
        (tree / entry).symlink_to(name)
        subprocess.run(["/usr/bin/python3", paths.CHECKOUT / "images" / "oci_archive.py", "--output", made[name], "--name", f"localhost/{name}:v{VERSION}",
                        "--tree", f"{release.NATIVE}={tree}", "--entrypoint", f"/{entry}", "--user", "65532:65532"], check=True, capture_output=True)
    return made


def _programs():
    """The directory with the static programs in the cache; they are built there if necessary."""
    libraries = release.libraries()
    cache = libraries.parent
    key = hashlib.sha256(SOURCES.read_bytes() + libraries.name.encode()).hexdigest()[:12]
    directory = cache / f"longshore-{VERSION}-{key}"
    with open(cache / ".longshore-old.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.is_dir():
            _build(libraries, directory)
    return directory


def _build(libraries, directory):
    print(f"building {VERSION} from its sources for the test of the upgrade: one minute, only the first time", file=sys.__stderr__)
    work = directory.with_name(directory.name + ".partial")
    shutil.rmtree(work, ignore_errors=True)
    with tarfile.open(SOURCES) as archive:
        archive.extractall(work / "sources")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(libraries / "lib" / "pkgconfig")}
    for command in (["cmake", "-S", work / "sources", "-B", work / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=",
                     "-DLONGSHORE_STATIC=ON", "-DLONGSHORE_WERROR=OFF", "-DBUILD_TESTING=OFF", f"-DLONGSHORE_VERSION=v{VERSION}"],
                    ["cmake", "--build", work / "build", "--target", *release.NAMES]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        assert done.returncode == 0, done.stdout[-4000:]
    (work / "bin").mkdir()
    for name in release.NAMES:
        built, = (path for path in (work / "build").rglob(name) if path.is_file())
        subprocess.run(["strip", "-o", work / "bin" / name, built], check=True)
    (work / "bin").rename(directory)
    shutil.rmtree(work)
