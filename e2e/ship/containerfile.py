# SPDX-License-Identifier: Apache-2.0
"""Builds images/Containerfile with the real Buildah, without a registry.

The base image is built here: an empty root into which /usr and the package database of this machine are mounted read-only during each
step, so that nothing is downloaded and `images/build packages` finds all packages installed. The compiler, every step of the
file and all resulting files are real."""

import json
import os
import pathlib
import subprocess

BASE = "localhost/base"
# The directories of this machine that a step can see. The names of the compiler are links through /etc/alternatives.
SHARED = ("/usr", "/etc/alternatives", "/var/lib/dpkg")
CACHE = "/a cache of libraries"


class Built:
    """A built image: its files below root, and its configuration."""

    def __init__(self, root, config):
        self.root, self.config = root, config


class Builder:
    def __init__(self, directory, libraries):
        """directory: a directory with the sources in checkout/; libraries: the directory of the libraries for static linking."""
        self.directory, self.libraries = directory, libraries
        self.arguments = {}
        # An overlay cannot be mounted on another overlay, which the root of a container often is.
        kind = subprocess.run(["stat", "--file-system", "--format=%T", directory], capture_output=True, text=True, check=True).stdout.strip()
        self.driver = "vfs" if kind == "overlayfs" else "overlay"
        self.containers = []

    def __enter__(self):
        base = self.directory / "base"
        for name in (*SHARED, "/tmp", "/var/tmp", "/root", "/proc", "/sys", "/dev", "/run", f"{CACHE}/{self.libraries.name}"):
            (base / name.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (base / name).symlink_to(f"usr/{name}")
        (self.directory / "base.Containerfile").write_text(f'FROM scratch\nCOPY . /\nENV HOME=/root LONGSHORE_CACHE="{CACHE}"\n')
        self.buildah("build", "--isolation=chroot", "--pull-never", "--file", self.directory / "base.Containerfile", "--tag", BASE, base)
        return self

    def __exit__(self, *_):
        self.buildah("rm", "--all")
        self.buildah("rmi", "--all", "--force")

    def buildah(self, *arguments):
        # Ignore the container settings of this machine, which may configure registries to pull from.
        environment = {**os.environ, "CONTAINERS_CONF": "/dev/null", "REGISTRY_AUTH_FILE": "", "TMPDIR": str(self.directory)}
        done = subprocess.run(["buildah", "--root", self.directory / "storage", "--runroot", self.directory / "running", "--storage-driver", self.driver,
                               *map(str, arguments)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"buildah {arguments[0]}:\n{(done.stdout + done.stderr)[-4000:]}"
        return done.stdout.strip()

    def build(self, target):
        checkout = self.directory / "checkout"
        shared = [f"--volume={directory}:{directory}:ro" for directory in SHARED]
        arguments = [f"--build-arg={name}={value}" for name, value in {"BASE": BASE, **self.arguments}.items()]
        self.buildah("build", "--isolation=chroot", "--pull-never", "--layers", *shared, *arguments,
                     f"--volume={self.libraries}:{CACHE}/{self.libraries.name}:ro",
                     "--ignorefile", checkout / "images" / "Containerfile.dockerignore", "--file", checkout / "images" / "Containerfile",
                     "--target", target, "--tag", f"localhost/{target}", checkout)
        container = self.buildah("from", "--pull-never", f"localhost/{target}")
        config = json.loads(self.buildah("inspect", "--type=image", f"localhost/{target}"))["OCIv1"]["config"]
        return Built(pathlib.Path(self.buildah("mount", container)), config)
