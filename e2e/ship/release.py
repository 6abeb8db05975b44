# SPDX-License-Identifier: Apache-2.0
"""The release build: OCI archives and SPDX documents of the checkout, built once per test run."""

import fcntl
import functools
import json
import os
import pathlib
import subprocess
import sys
import tarfile

from bench import paths

NAMES = ("longshore", "longshore-init", "longshore-wait")
BUILD = pathlib.Path(os.environ.get("LONGSHORE_RELEASE_BUILD") or paths.CHECKOUT / "build" / "release")
OUT = pathlib.Path(os.environ.get("LONGSHORE_OUT") or paths.CHECKOUT / "out")


def build(checkout, step="all", **environment):
    """Runs images/build of a checkout. Raises an error with its output if it fails."""
    done = subprocess.run([str(pathlib.Path(checkout) / "images" / "build"), step], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f"images/build failed:\n{done.stdout[-4000:]}")
    return done.stdout


@functools.cache
def archives():
    """{name: path of its OCI archive} of the current checkout."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / ".tests.lock", "w") as lock:  # two test runs may use the same checkout
        fcntl.flock(lock, fcntl.LOCK_EX)
        print("building the images", file=sys.__stderr__)
        build(paths.CHECKOUT, LONGSHORE_RELEASE_BUILD=str(BUILD), LONGSHORE_OUT=str(OUT))
    return {name: OUT / f"{name}.oci.tar" for name in NAMES}


def libraries():
    """The directory of the static libraries that are linked into the programs."""
    archives()
    return pathlib.Path((BUILD / "libraries.txt").read_text().strip())


class Archive:
    """The content of an OCI archive with one image that has one layer."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            def blob(digest):
                return archive.extractfile("blobs/sha256/" + digest.partition(":")[2])
            self.described = json.load(archive.extractfile("index.json"))["manifests"][0]
            self.digest = self.described["digest"]
            self.name = self.described["annotations"]["io.containerd.image.name"]
            self.manifest = json.load(blob(self.digest))
            self.config = json.load(blob(self.manifest["config"]["digest"]))
            layer, = self.manifest["layers"]
            with tarfile.open(fileobj=blob(layer["digest"]), mode="r:gz") as files:
                self.entries = {entry.name: entry for entry in files}
                self.data = {name: files.extractfile(entry).read() for name, entry in self.entries.items() if entry.isfile()}

    @property
    def size(self):
        return sum(len(data) for data in self.data.values())


def load(node):
    """Loads the images on the node, under the default names of the chart."""
    for path in archives().values():
        node.load_archive(path)
