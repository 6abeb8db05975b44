# SPDX-License-Identifier: Apache-2.0
"""A network namespace behind a firewall: programs in it reach this machine, and nothing outside reaches them."""

import contextlib
import ctypes
import os
import subprocess

from bench import link, paths
from bench.location import Loopback
from bench.privileges import require_root
from bench.process import Process

CLONE_NEWNET = 0x40000000  # os.setns() needs Python 3.12


class Fence:
    """Ends with close(), or with this process. The link to it is removed by the kernel when its last process has ended."""

    def __init__(self):
        require_root("a network namespace")
        self._outside = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.process = Process("fence", [paths.installed("unshare"), "--net", paths.installed("sleep"), "infinity"])
        own = os.readlink("/proc/self/ns/net")
        self.process.wait_until(lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") != own, "its own network namespace")
        self._inside = os.open(f"/proc/{self.process.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        with link.unused() as self.link:
            self.link.connect(self.process.pid)
        self.address, self.test_address = self.link.address, self.link.test_address
        with self.entered():
            for command in ("ip link set lo up", f"ip address add {self.address}/30 dev eth0", "ip link set eth0 up",
                            # Only what comes from inside may open a connection.
                            "iptables --append INPUT ! --in-interface lo --protocol tcp --syn --jump REJECT --reject-with tcp-reset"):
                program, *arguments = command.split()
                subprocess.run([paths.installed(program), *arguments], check=True)

    @contextlib.contextmanager
    def entered(self):
        """What the calling thread does in this block happens inside: connections that it opens, processes and threads that it starts."""
        self._enter(self._inside)
        try:
            yield self
        finally:
            self._enter(self._outside)

    @staticmethod
    def _enter(namespace):
        if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) < 0:
            raise OSError(ctypes.get_errno(), "setns")

    def close(self):
        self.process.kill()
        for descriptor in (self._inside, self._outside):
            os.close(descriptor)

    # --- locations (see location.py) ---

    def inside(self):
        """For components behind the firewall. They are started, and can be reached, in a block of entered()."""
        return _at(self.address)

    def outside(self):
        """For components on this machine that programs inside can reach."""
        return _at(self.test_address)


def _at(own_address):
    class Here(Loopback):
        address = own_address

    return Here()
