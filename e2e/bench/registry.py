# SPDX-License-Identifier: Apache-2.0
"""A real OCI registry: without authentication, with a password or with tokens, each with or without TLS."""

import contextlib
import re
import socket
import subprocess

import yaml

from bench import certificates, paths
from bench.location import Loopback
from bench.registry_client import RegistryClient
from bench.token_server import ISSUER, SERVICE, TokenServer

USER, PASSWORD = "ship", "ahoy"


class Registry:
    """Starts when constructed. auth: None, "basic" or "token"."""

    def __init__(self, auth=None, tls=False, *, location=None):
        location = self._location = location or Loopback()
        address, port = location.address, location.port(5000)
        self.directory = location.directory(f"registry-{port}")
        self.host = f"{address}:{port}"
        self.url = f"{'https' if tls else 'http'}://{self.host}"
        self.credentials = (USER, PASSWORD) if auth else None
        self.authority = certificates.session_authority() if tls else None
        self.tokens = None
        http = {"addr": self.host}
        if tls:
            pair = self.authority.server(address, "localhost")
            http["tls"] = {"certificate": str(pair.certificate), "key": str(pair.key)}
        config = {"version": "0.1", "log": {"level": "info", "formatter": "json"}, "http": http,
                  "storage": {"filesystem": {"rootdirectory": str(self.directory / "data")}, "delete": {"enabled": True}}}
        if auth:
            config["auth"] = {"basic": self._basic, "token": self._token}[auth]()
        file = self.directory / "config.yml"
        file.write_text(yaml.safe_dump(config))
        self.process = location.start(f"registry-{port}", [paths.installed("docker-registry"), "serve", file])
        self.process.wait_until(lambda: _listens(address, port), "listening")

    def _basic(self):
        self._write_password(self.credentials)
        return {"htpasswd": {"realm": "bench", "path": str(self.directory / "htpasswd")}}

    def _write_password(self, credentials):
        # The registry supports only bcrypt. It reads the file again after a change.
        line = subprocess.run([paths.installed("htpasswd"), "-nbB", *credentials], capture_output=True, text=True, check=True)
        (self.directory / "htpasswd").write_text(line.stdout)

    def _token(self):
        # A self-signed RSA certificate: the registry of Debian does not support elliptic curves for tokens.
        pair = certificates.Pair(self.directory / "token.crt", self.directory / "token.key")
        subprocess.run([paths.installed("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
                        "-subj", "/CN=token", "-keyout", pair.key, "-out", pair.certificate], capture_output=True, check=True)
        self.tokens = TokenServer(pair, (USER, PASSWORD), self._location.test_address)
        return {"token": {"realm": self.tokens.url, "service": SERVICE, "issuer": ISSUER,
                          "rootcertbundle": str(pair.certificate)}}

    def client(self, credentials="own"):
        """A client with the correct credentials, with the given ones, or (None) without any."""
        return RegistryClient(self.url, self.credentials if credentials == "own" else credentials,
                              self.authority and self.authority.certificate)

    @contextlib.contextmanager
    def rotated(self, password):
        """Meanwhile only this password is correct. Yields the credentials."""
        expect = self.tokens.expect if self.tokens else self._write_password
        expect((USER, password))
        try:
            yield USER, password
        finally:
            expect(self.credentials)

    def mark(self):
        """The current end of the request log."""
        return self.process.log.stat().st_size

    def requests(self, since=0):
        """(method, path, status) of each completed request after the mark."""
        with open(self.process.log, "rb") as log:
            log.seek(since)
            text = log.read().decode(errors="replace")
        # The access log lines in Apache's combined format, which are mixed with structured log lines.
        return [(method, path, int(status))
                for method, path, status in re.findall(r'"(GET|HEAD|PUT|POST|PATCH|DELETE) (\S+) HTTP/[\d.]+" (\d{3}) ', text)]

    def close(self):
        self.process.kill()
        if self.tokens:
            self.tokens.close()


def _listens(address, port):
    try:
        with socket.create_connection((address, port), timeout=5):
            return True
    except OSError:
        return False
