# SPDX-License-Identifier: Apache-2.0
"""The token server of a registry with token authentication: issues a signed token for the correct password."""

import base64
import json
import subprocess
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench import paths

ISSUER = "longshore bench"
SERVICE = "bench-registry"


def _encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class TokenServer:
    """Runs in a thread. requests lists the token requests: (scope, whether it was granted)."""

    def __init__(self, pair, credentials, address):
        self._pair = pair
        self.expect(credentials)
        self.requests = []
        self.lifetime = 300
        self._server = ThreadingHTTPServer((address, 0), self._handler())
        self.url = f"http://{address}:{self._server.server_address[1]}/token"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def expect(self, credentials):
        """From now on these are the only correct credentials."""
        self._expected = "Basic " + base64.b64encode(":".join(credentials).encode()).decode()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(outer):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                granted = self.headers.get("Authorization") == outer._expected
                outer.requests.append((query.get("scope", [""])[0], granted))
                if granted:
                    self._answer(200, {"token": outer.token(query.get("scope", []))})
                else:
                    self._answer(401, {"details": "wrong user or password"})

            def do_POST(self):
                # The OAuth2 method, which clients try first. Like many real servers this one supports only GET.
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._answer(405, {"details": "use GET"})

            def _answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass
        return Handler

    def token(self, scopes):
        """A JWT that grants these scopes ("repository:name:pull,push"); its header contains the signing certificate."""
        pem = self._pair.certificate.read_text()
        certificate = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
        access = []
        for scope in " ".join(scopes).split():
            kind, rest = scope.split(":", 1)
            name, actions = rest.rsplit(":", 1)
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": "bench", "aud": SERVICE, "exp": now + self.lifetime, "nbf": now - 60, "iat": now,
                  "jti": str(uuid.uuid4()), "access": access}
        header = {"typ": "JWT", "alg": "RS256", "x5c": [certificate]}
        signed = b".".join(_encode(json.dumps(part).encode()) for part in (header, claims))
        signature = subprocess.run([paths.installed("openssl"), "dgst", "-sha256", "-sign", str(self._pair.key)],
                                   input=signed, capture_output=True, check=True).stdout
        return (signed + b"." + _encode(signature)).decode()
