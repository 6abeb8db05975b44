# SPDX-License-Identifier: Apache-2.0
"""A TCP port that leads to another one, from the moment it is opened."""

import socket
import threading


class Forwarder:
    """Its port is known, and refuses connections, until start()."""

    def __init__(self, host, port):
        self._target = (host, port)
        self._listener = socket.socket()
        # Bound but not listening: nobody else can take the port, and a connection is refused.
        self._listener.bind(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0

    def start(self):
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.create_connection(self._target)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
