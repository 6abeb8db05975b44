# SPDX-License-Identifier: Apache-2.0
"""Where the components of a cluster run: on the loopback interface of this machine, or in a sandbox (see sandbox.py)."""

from bench import paths
from bench.ports import free_port
from bench.process import Process


class Loopback:
    """Processes run on this machine, listen on 127.0.0.1 and end with this process."""

    address = "127.0.0.1"
    # The address at which the processes reach a server that runs in the test process.
    test_address = "127.0.0.1"

    def directory(self, label):
        return paths.fresh_directory(label)

    def port(self, usual):
        """Any free port, because the usual one may be in use."""
        return free_port()

    def start(self, name, command):
        return Process(name, command)
