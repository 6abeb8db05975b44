# SPDX-License-Identifier: Apache-2.0
"""Free TCP ports on loopback."""

import socket

_given = set()


def free_port():
    """A port that is not in use. The same port is never returned twice in one run."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port
