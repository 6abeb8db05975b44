# SPDX-License-Identifier: Apache-2.0
"""Signatures with a key, made and verified by OpenSSL, in the formats of cosign: `cosign verify --key` and `cosign verify-blob --key` accept them."""

import argparse
import base64
import json
import pathlib
import subprocess
import tempfile

ANNOTATION = "dev.cosignproject.cosign/signature"
PAYLOAD = "application/vnd.dev.cosign.simplesigning.v1+json"


def payload(name, digest):
    """What is signed for an image. The name is informative: images keep their signature when they are copied to another registry."""
    return json.dumps({"critical": {"identity": {"docker-reference": name}, "image": {"docker-manifest-digest": digest},
                                    "type": "cosign container image signature"}, "optional": None}, separators=(",", ":")).encode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True)


def sign(data, key):
    """The signature of data as base64."""
    done = openssl("dgst", "-sha256", "-sign", key, data=data)
    if done.returncode:
        raise SystemExit(f"signature: openssl can't sign with '{key}': {done.stderr.decode().strip()}\n"
                         "Create a key with: openssl ecparam -genkey -name prime256v1 -noout -out FILE")
    return base64.b64encode(done.stdout).decode()


def verify(data, text, public):
    """Whether text is the signature of data by the private key that belongs to this public key."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(text))
        file.flush()
        return openssl("dgst", "-sha256", "-verify", public, "-signature", file.name, data=data).returncode == 0


def public_key(key):
    done = openssl("pkey", "-in", key, "-pubout")
    if done.returncode:
        raise SystemExit(f"signature: '{key}' is not a private key: {done.stderr.decode().strip()}")
    return done.stdout


def envelope(statement, key):
    """A DSSE envelope with an in-toto statement."""
    kind = "application/vnd.in-toto+json"
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(statement), statement)
    return json.dumps({"payloadType": kind, "payload": base64.b64encode(statement).decode(), "signatures": [{"sig": sign(signed, key)}]}) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Signs a file: writes FILE.sig, for cosign verify-blob")
    parser.add_argument("--key", type=pathlib.Path, required=True)
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    options.file.with_name(options.file.name + ".sig").write_text(sign(options.file.read_bytes(), options.key) + "\n")


if __name__ == "__main__":
    main()
