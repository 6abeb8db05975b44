# SPDX-License-Identifier: Apache-2.0
"""Where the parts of a cluster run: on loopback of this machine, or in a nest (see nest.py)."""

from bench import paths
from bench.ports import free_port
from bench.process import Process


class Loopback:
    """Processes run here, listen on 127.0.0.1, and end with this one."""

    address = "127.0.0.1"
    # Where the place reaches a server that runs in the process of the tests.
    test_address = "127.0.0.1"

    def directory(self, label):
        return paths.fresh_directory(label)

    def port(self, usual):
        """Any free port: others may already have the usual one."""
        return free_port()

    def start(self, name, command):
        return Process(name, command)
