# SPDX-License-Identifier: Apache-2.0
"""A private containerd that only unpacks images. Its root, state and socket are in one directory."""

import contextlib
import json
import pathlib
import subprocess

from bench import oci, paths, privileges
from bench.process import Process

CONFIG = """\
version = 2
root = "{directory}/root"
state = "{directory}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "{directory}/socket"
[ttrpc]
address = "{directory}/ttrpc"
"""


def chain_id(picture):
    """The identifier of the file system of all layers of an image (OCI image specification, "Layer ChainID")."""
    chain, *upper = json.loads(picture.config.data)["rootfs"]["diff_ids"]
    for layer in upper:
        chain = oci.digest_of(f"{chain} {layer}".encode())
    return chain


class Containerd:
    def __init__(self, directory):
        privileges.require_root("containerd")
        self.directory = pathlib.Path(directory)
        self.directory.mkdir()
        config = self.directory / "config.toml"
        config.write_text(CONFIG.format(directory=self.directory))
        self.process = Process("containerd", [paths.installed("containerd"), "--config", config, "--log-level", "warn"])
        self.process.wait_until(lambda: self.ctr("version", check=False).returncode == 0, "containerd serves", 60)

    def ctr(self, *arguments, check=True):
        done = subprocess.run([paths.installed("ctr"), "--address", self.directory / "socket", *map(str, arguments)],
                              capture_output=True, text=True, timeout=120)
        assert not check or done.returncode == 0, f"ctr {arguments[0]} {arguments[1]}: {done.stderr}"
        return done

    @contextlib.contextmanager
    def mounted(self, picture, snapshotter):
        """The root file system of an image (oci.Image), unpacked by this snapshotter."""
        archive, target = self.directory / "image.tar", self.directory / f"mount-{snapshotter}"
        archive.write_bytes(oci.archive(picture, "longshore.test/image:1"))
        target.mkdir()
        self.ctr("images", "import", "--snapshotter", snapshotter, archive)
        # "ctr images mount" of containerd 1.6 ignores --snapshotter, and the snapshots of "view" may be garbage collected.
        self.ctr("snapshots", "--snapshotter", snapshotter, "prepare", target, chain_id(picture))
        mount = self.ctr("snapshots", "--snapshotter", snapshotter, "mounts", target, target).stdout
        subprocess.run(mount, shell=True, check=True)
        try:
            yield target
        finally:
            subprocess.run(["umount", target], check=True)

    def close(self):
        self.process.stop()
