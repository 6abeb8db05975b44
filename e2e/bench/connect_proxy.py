# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy that only knows CONNECT, like those of many companies."""

import socket
import socketserver
import threading


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        method, target, _ = self.rfile.readline().decode("latin-1").split()
        while self.rfile.readline().strip():
            pass  # the headers
        self.server.requests.append((method, target))
        host, _, port = target.rpartition(":")
        with socket.create_connection((host.strip("[]"), int(port))) as upstream:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(upstream, self.connection), daemon=True)
            back.start()
            _copy(self.connection, upstream)
            back.join()


def _copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one side is gone


class ConnectProxy(socketserver.ThreadingTCPServer):
    """with ConnectProxy() as proxy: the environment of a program gets HTTPS_PROXY=proxy.url; proxy.requests: [(method, target)]."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, address="127.0.0.1"):
        super().__init__((address, 0), _Handler)
        self.requests = []
        self.url = f"http://{address}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
