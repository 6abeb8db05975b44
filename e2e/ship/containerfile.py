# SPDX-License-Identifier: Apache-2.0
"""images/Containerfile, built by real Buildah without a registry.

The base image is made here: an empty root into which the machine's own /usr and list of packages are mounted read-only while a
step runs, so that nothing is downloaded and `images/build packages` finds all that it wants. The compiler, every step of the
file and every byte that comes out are real."""

import json
import os
import pathlib
import subprocess

BASE = "localhost/base"
# What a step sees of this machine. The compiler's names are links through /etc/alternatives.
SHARED = ("/usr", "/etc/alternatives", "/var/lib/dpkg")
CACHE = "/a cache of libraries"


class Built:
    """A built image: its files below root, and its configuration."""

    def __init__(self, root, config):
        self.root, self.config = root, config


class Builder:
    def __init__(self, place, libraries):
        """place: a directory with the sources in checkout/; libraries: those that the static programs are linked with."""
        self.place, self.libraries = place, libraries
        self.arguments = {}
        # An overlay can't lie upon another one, which is what the root of a container often is.
        kind = subprocess.run(["stat", "--file-system", "--format=%T", place], capture_output=True, text=True, check=True).stdout.strip()
        self.driver = "vfs" if kind == "overlayfs" else "overlay"
        self.containers = []

    def __enter__(self):
        base = self.place / "base"
        for name in (*SHARED, "/tmp", "/var/tmp", "/root", "/proc", "/sys", "/dev", "/run", f"{CACHE}/{self.libraries.name}"):
            (base / name.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (base / name).symlink_to(f"usr/{name}")
        (self.place / "base.Containerfile").write_text(f'FROM scratch\nCOPY . /\nENV HOME=/root LONGSHORE_CACHE="{CACHE}"\n')
        self.buildah("build", "--isolation=chroot", "--pull-never", "--file", self.place / "base.Containerfile", "--tag", BASE, base)
        return self

    def __exit__(self, *_):
        self.buildah("rm", "--all")
        self.buildah("rmi", "--all", "--force")

    def buildah(self, *arguments):
        # Nothing of the machine's own settings for containers, which may name places to pull from.
        environment = {**os.environ, "CONTAINERS_CONF": "/dev/null", "REGISTRY_AUTH_FILE": "", "TMPDIR": str(self.place)}
        done = subprocess.run(["buildah", "--root", self.place / "storage", "--runroot", self.place / "running", "--storage-driver", self.driver,
                               *map(str, arguments)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"buildah {arguments[0]}:\n{(done.stdout + done.stderr)[-4000:]}"
        return done.stdout.strip()

    def build(self, target):
        checkout = self.place / "checkout"
        shared = [f"--volume={place}:{place}:ro" for place in SHARED]
        arguments = [f"--build-arg={name}={value}" for name, value in {"BASE": BASE, **self.arguments}.items()]
        self.buildah("build", "--isolation=chroot", "--pull-never", "--layers", *shared, *arguments,
                     f"--volume={self.libraries}:{CACHE}/{self.libraries.name}:ro",
                     "--ignorefile", checkout / "images" / "Containerfile.dockerignore", "--file", checkout / "images" / "Containerfile",
                     "--target", target, "--tag", f"localhost/{target}", checkout)
        container = self.buildah("from", "--pull-never", f"localhost/{target}")
        config = json.loads(self.buildah("inspect", "--type=image", f"localhost/{target}"))["OCIv1"]["config"]
        return Built(pathlib.Path(self.buildah("mount", container)), config)
