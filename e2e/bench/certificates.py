# SPDX-License-Identifier: Apache-2.0
"""A certificate authority that issues server and client certificates with the openssl command."""

import dataclasses
import functools
import ipaddress
import pathlib
import subprocess

from bench import paths


@dataclasses.dataclass(frozen=True)
class Pair:
    """The files of a certificate and of its private key."""
    certificate: pathlib.Path
    key: pathlib.Path


def _openssl(*arguments):
    result = subprocess.run([paths.installed("openssl"), *map(str, arguments)], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"openssl {arguments[0]} failed: {result.stderr}")


class Authority:
    """A CA that keeps its files in its own directory."""

    def __init__(self, directory, name="longshore bench"):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.pair = Pair(self.directory / "ca.crt", self.directory / "ca.key")
        self._issued = 0
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 30,
                 "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
                 "-keyout", self.pair.key, "-out", self.pair.certificate)

    @property
    def certificate(self):
        return self.pair.certificate

    def _issue(self, common_name, organizations, extensions):
        self._issued += 1
        base = self.directory / f"issued-{self._issued}"
        subject = "".join(f"/O={name}" for name in organizations) + f"/CN={common_name}"
        request = base.with_suffix(".csr")
        pair = Pair(base.with_suffix(".crt"), base.with_suffix(".key"))
        settings = base.with_suffix(".ext")
        settings.write_text("\n".join(["basicConstraints=CA:FALSE", "keyUsage=digitalSignature,keyEncipherment", *extensions]))
        # A slash separates the parts of a subject, so names cannot contain one in this notation.
        _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-subj", subject, "-keyout", pair.key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.pair.certificate, "-CAkey", self.pair.key,
                 "-set_serial", 1000 + self._issued, "-days", 30, "-extfile", settings, "-out", pair.certificate)
        return pair

    def server(self, *names):
        """A certificate for a server with these DNS names and IP addresses."""
        alternatives = ",".join(("IP:" if _is_address(name) else "DNS:") + name for name in names)
        return self._issue(names[0], [], ["extendedKeyUsage=serverAuth,clientAuth", f"subjectAltName={alternatives}"])

    def client(self, user, groups=()):
        """A certificate for a Kubernetes user with these groups."""
        return self._issue(user, groups, ["extendedKeyUsage=clientAuth"])


def _is_address(text):
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def signing_key(directory, name):
    """An RSA key pair to sign tokens with. Returns the files of the private key and of the public key."""
    private, public = pathlib.Path(directory) / f"{name}.key", pathlib.Path(directory) / f"{name}.pub"
    _openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", private)
    _openssl("pkey", "-in", private, "-pubout", "-out", public)
    return private, public


@functools.cache
def session_authority():
    """The CA that all components of one run share."""
    return Authority(paths.fresh_directory("ca"))
