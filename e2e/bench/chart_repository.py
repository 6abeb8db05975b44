# SPDX-License-Identifier: Apache-2.0
"""A classic chart repository: a web server with an index.yaml, and perhaps a password or TLS."""

import base64
import contextlib
import http.server
import ssl
import threading

import yaml


def basic(credentials):
    """The header for a user and a password."""
    return "Basic " + base64.b64encode(":".join(credentials).encode()).decode()


class Server(http.server.ThreadingHTTPServer):
    """files: path -> bytes, or the address of a redirect. authority: issues the certificate; None: no TLS."""

    def __init__(self, files, credentials=None, authority=None, address="127.0.0.1"):
        self.files, self.credentials, self.seen = files, credentials, []
        super().__init__((address, 0), Handler)
        self.url = f"{'https' if authority else 'http'}://{address}:{self.server_port}"
        if authority:
            pair = authority.server(address)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair.certificate, pair.key)
            # The handshake is left to the thread of the connection.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request, client_address):
        """A client that does not trust the certificate closes the connection."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sent = self.headers.get("Authorization", "")
        self.server.seen.append((self.path, sent))
        content = self.server.files.get(self.path)
        if self.server.credentials and sent != basic(self.server.credentials):
            self.send_error(401)
        elif content is None:
            self.send_error(404)
        elif isinstance(content, str):
            self.send_response(302)
            self.send_header("Location", content)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(files, **options):
    server = Server(files, **options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def index(*entries):
    """An index.yaml with one chart, "app"."""
    return yaml.safe_dump({"apiVersion": "v1", "entries": {"app": list(entries)}}).encode()
