# SPDX-License-Identifier: Apache-2.0
"""Images that the tests run, built from programs of this machine."""

import pathlib
import platform
import subprocess

from bench import oci, paths

# The name of the image busybox() on the node.
BUSYBOX = "longshore.test/busybox:1"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def program(path, **config):
    """An image that contains one static program, which is its entry point."""
    name = "/" + pathlib.Path(path).name
    config.setdefault("entrypoint", [name])
    return oci.image({name[1:]: (pathlib.Path(path).read_bytes(), 0o755)}, architecture=ARCHITECTURE, **config)


def pause(path):
    return program(path)


def busybox(files=None, **config):
    """A shell with the usual small programs, plus files (see oci.tar_of)."""
    path = paths.installed("busybox")
    names = subprocess.run([path, "--list"], capture_output=True, text=True, check=True).stdout.split()
    content = {"bin": None, "bin/busybox": (pathlib.Path(path).read_bytes(), 0o755), "tmp": (None, 0o1777)}
    content.update({f"bin/{name}": "busybox" for name in names if name != "busybox"})
    config.setdefault("entrypoint", ["/bin/sh", "-c"])
    config.setdefault("env", ["PATH=/bin"])
    return oci.image({**content, **(files or {})}, architecture=ARCHITECTURE, **config)
