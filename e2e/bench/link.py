# SPDX-License-Identifier: Apache-2.0
"""Veth pairs between this machine and network namespaces: 10.250.N.1 is this machine, 10.250.N.2 is the namespace."""

import contextlib
import fcntl
import subprocess

from bench import paths


class Link:
    """The names and addresses of one pair. It exists after connect(), and as long as the namespace at its other end."""

    def __init__(self, number):
        self.number, self.name = number, f"longshore{number}"
        self.test_address, self.address = f"10.250.{number}.1", f"10.250.{number}.2"

    def connect(self, pid):
        """Makes the pair; its other end is called eth0 and is in the network namespace of the process."""
        ip = paths.installed("ip")
        for command in (f"link add {self.name} type veth peer name eth0 netns {pid}",
                        f"address add {self.test_address}/30 dev {self.name}", f"link set {self.name} up"):
            subprocess.run([ip, *command.split()], check=True)


@contextlib.contextmanager
def unused():
    """A link that nobody else uses. Two runs at the same time must not choose the same one: connect it before the block ends."""
    with open(paths.state_root() / "network.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Link(_free_number())


def _free_number():
    used = subprocess.run([paths.installed("ip"), "-oneline", "-4", "address"], capture_output=True, text=True, check=True).stdout
    for number in range(1, 255):
        if f" 10.250.{number}." not in used:
            return number
    raise RuntimeError("all networks 10.250.N.0/30 are in use on this machine")
