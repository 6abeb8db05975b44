# SPDX-License-Identifier: Apache-2.0
"""A registry that misbehaves: stands before a real one and spoils answers as the test says."""

import http.client
import socket
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Proxy:
    """spoil(number, path) -> what to do with the request: None (pass on), or one of
    ("status", code, headers), ("drop",), ("cut", bytes), ("slow", bytes a second), ("endless",), ("alter",),
    ("redirect", url), ("body", bytes, headers). Requests are numbered from 1.
    """

    def __init__(self, registry, spoil=lambda number, path: None, address="127.0.0.1", pair=None):
        self.spoil = spoil
        self.requests = []  # (path, headers)
        self._lock = threading.Lock()
        self._connections = set()
        self._upstream = urllib.parse.urlsplit(registry.url).netloc if registry else None
        self._address = address
        self._pair = pair  # certificate and key: TLS
        self._port = 0
        self.start()

    def start(self):
        self._server = ThreadingHTTPServer((self._address, self._port), self._handler())
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        self.host = f"{self._address}:{self._port}"
        self.url = f"http://{self.host}"
        if self._pair:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(str(self._pair.certificate), str(self._pair.key))
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
            self.url = f"https://{self.host}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        """Stops listening and breaks what is under way, as a process that is killed does."""
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def authorizations(self):
        """All Authorization headers that were ever sent here."""
        return [headers["Authorization"] for _, headers in self.requests if headers.get("Authorization")]

    def _handler(outer):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                with outer._lock:
                    outer._connections.add(self.connection)

            def finish(self):
                with outer._lock:
                    outer._connections.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

            def do_GET(self):
                with outer._lock:
                    outer.requests.append((self.path, dict(self.headers)))
                    number = len(outer.requests)
                action = outer.spoil(number, self.path)
                try:
                    self._act(action)
                except (OSError, http.client.HTTPException):
                    # The client went away, or the registry behind is down: nobody gets an answer.
                    self.close_connection = True

            do_POST = do_GET

            def _act(self, action):
                kind = action[0] if action else None
                if kind == "drop":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                elif kind == "status":
                    self._answer(action[1], action[2] if len(action) > 2 else {}, b"{}")
                elif kind == "redirect":
                    self._answer(307, {"Location": action[1]}, b"")
                elif kind == "body":
                    self._answer(200, action[2] if len(action) > 2 else {}, action[1])
                elif kind == "endless":
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.end_headers()
                    self.close_connection = True
                    while True:
                        self.wfile.write(b"x" * 65536)
                else:
                    self._pass(action)

            def _pass(self, action):
                upstream = http.client.HTTPConnection(outer._upstream, timeout=30)
                headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection")}
                upstream.request("GET", self.path, headers=headers)
                answer = upstream.getresponse()
                body = answer.read()
                kept = {key: value for key, value in answer.getheaders()
                        if key.lower() not in ("content-length", "connection", "date", "transfer-encoding")}
                if action and action[0] == "alter" and body:
                    body = body[:-1] + bytes([body[-1] ^ 1])
                    kept.pop("Docker-Content-Digest", None)
                self._answer(answer.status, kept, body, action)
                upstream.close()

            def _answer(self, status, headers, body, action=None):
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if action and action[0] == "cut" and len(body) > action[1]:
                    self.wfile.write(body[:action[1]])
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                elif action and action[0] == "slow":
                    for i in range(0, len(body), max(1, action[1] // 10)):
                        self.wfile.write(body[i:i + max(1, action[1] // 10)])
                        time.sleep(0.1)
                else:
                    self.wfile.write(body)

            def log_message(self, *_):
                pass
        return Handler
