# SPDX-License-Identifier: Apache-2.0
"""The release build: OCI archives and SPDX documents of the checkout, built once per test run."""

import contextlib
import fcntl
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

from bench import paths

# The link to each program in its image, which is its entrypoint.
ENTRY = {"longshore": "container-deployer-controller", "longshore-init": "container-deployer-init", "longshore-wait": "container-deployer-wait"}
NAMES = tuple(ENTRY)
RELEASED = (*NAMES, "longshore-helm")
# Of the files of an image, unpacked, in bytes.
SIZE_MAX = {"longshore": 7_000_000, "longshore-init": 6_000_000, "longshore-wait": 6_000_000}
# Of the releases that tests build. LONGSHORE_ARCHITECTURES="amd64 arm64" tests both: cross-compiling takes several minutes more.
NATIVE = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
# The one that this machine does not have; its programs are run with EMULATOR.
OTHER = {"amd64": "arm64", "arm64": "amd64"}[NATIVE]
EMULATOR = {"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}[OTHER]
ARCHITECTURES = tuple(os.environ.get("LONGSHORE_ARCHITECTURES", NATIVE).split())
BUILD = pathlib.Path(os.environ.get("LONGSHORE_RELEASE_BUILD") or paths.CHECKOUT / "build" / "release")
OUT = pathlib.Path(os.environ.get("LONGSHORE_OUT") or paths.CHECKOUT / "out")


def build(checkout, step="all", **environment):
    """Runs images/build of a checkout. Raises an error with its output if it fails."""
    done = subprocess.run([str(pathlib.Path(checkout) / "images" / "build"), step], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f"images/build failed:\n{done.stdout[-4000:]}")
    return done.stdout


@contextlib.contextmanager
def locked():
    """Lanes, and two test runs, may use the same checkout at the same time."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / ".tests.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_directory(architecture):
    """As in images/release."""
    return BUILD if architecture == NATIVE else BUILD.with_name(f"{BUILD.name}-{architecture}")


@functools.cache
def archives(architecture=NATIVE):
    """{name: path of its OCI archive} of the current checkout."""
    out = OUT if architecture == NATIVE else OUT / architecture
    with locked():
        print(f"building the images for {architecture}", file=sys.__stderr__)
        build(paths.CHECKOUT, LONGSHORE_ARCHITECTURE=architecture, LONGSHORE_RELEASE_BUILD=str(build_directory(architecture)), LONGSHORE_OUT=str(out))
    return {name: out / f"{name}.oci.tar" for name in NAMES}


def libraries():
    """The directory of the static libraries that are linked into the programs."""
    archives()
    return pathlib.Path((BUILD / "libraries.txt").read_text().strip())


@functools.cache
def files():
    """All files of `make release` for the current checkout, signed with a new key, written once per process."""
    archives()
    out = paths.run_directory() / "release"
    out.mkdir()
    with locked():
        print("building the release", file=sys.__stderr__)
        return Release(out, paths.CHECKOUT, step="build")


class Release:
    """The files of a release below out. step is build, or files to use the programs that were built before."""

    def __init__(self, out, checkout, step="files", is_signed=True, **environment):
        self.version = (paths.CHECKOUT / "images" / "version").read_text().strip()
        self.key = pathlib.Path(out) / "key.pem"
        self.directory = pathlib.Path(out) / f"longshore-{self.version}"
        if is_signed:
            subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", self.key], check=True, capture_output=True)
        done = subprocess.run([pathlib.Path(checkout) / "images" / "release", step, self.version], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "LONGSHORE_OUT": str(out), "LONGSHORE_RELEASE_BUILD": str(BUILD),
                                   "LONGSHORE_ARCHITECTURES": " ".join(ARCHITECTURES), "SIGNING_KEY": str(self.key) if is_signed else "none", **environment})
        assert done.returncode == 0, f"images/release failed:\n{done.stdout[-4000:]}"
        self.public = self.directory / "longshore.pub"

    def path(self, name):
        return self.directory / name.replace("VERSION", self.version)

    def image(self, name):
        return self.path(f"{name}-VERSION.oci.tar")


def pull(client, repository, reference):
    """The bytes of a manifest in the registry."""
    return client.request("GET", f"{client.url}/v2/{repository}/manifests/{reference}", repository,
                          headers={"Accept": "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"})[1]


class Layout:
    """An OCI archive with any number of tags."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.blobs = {"sha256:" + entry.name.rpartition("/")[2]: archive.extractfile(entry).read() for entry in archive
                          if entry.isfile() and entry.name.startswith("blobs/sha256/")}
            named = json.load(archive.extractfile("index.json"))["manifests"]
        self.tags = {described["annotations"]["org.opencontainers.image.ref.name"]: described for described in named}

    def json(self, digest):
        return json.loads(self.blobs[digest])

    def layer_files(self, manifest):
        """{name: content} of the only layer."""
        layer, = manifest["layers"]
        with tarfile.open(fileobj=io.BytesIO(self.blobs[layer["digest"]]), mode="r:gz") as files:
            return {entry.name: files.extractfile(entry).read() for entry in files if entry.isfile()}


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


def load_helm(node):
    """Loads longshore-helm, after load()."""
    build(paths.CHECKOUT, "helm", LONGSHORE_RELEASE_BUILD=str(BUILD), LONGSHORE_OUT=str(OUT))
    node.load_archive(OUT / "longshore-helm.oci.tar")
