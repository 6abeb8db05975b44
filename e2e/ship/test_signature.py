# SPDX-License-Identifier: Apache-2.0
"""Signatures of files and images: OpenSSL accepts them, and cosign finds its formats. Without a release, which takes minutes to build."""

import base64
import json
import subprocess
import sys

import pytest

from bench import paths

sys.path.insert(0, str(paths.CHECKOUT / "images"))
import signature  # noqa: E402

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def keys(tmp_path):
    """(private, public), made with the commands of docs/release.md."""
    page = (paths.CHECKOUT / "docs" / "release.md").read_text().partition("\n## Signatures\n")[2].partition("\n## ")[0]
    create, publish = (line.strip() for line in page.splitlines() if line.startswith("    openssl "))
    subprocess.run(["bash", "-euo", "pipefail", "-c", f"{create}\n{publish} >key.pub"], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "key.pem", tmp_path / "key.pub"


def test_openssl_verifies_a_signature_and_refuses_another_text_and_another_key(keys, tmp_path):
    key, public = keys
    text = signature.sign(b"data", key)
    (tmp_path / "data").write_bytes(b"data")
    (tmp_path / "raw").write_bytes(base64.b64decode(text, validate=True))
    done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", "raw", "data"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Verified OK\n"), done.stderr
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", other], check=True, capture_output=True)
    assert signature.verify(b"data", text, public)
    assert not signature.verify(b"data ", text, public)
    assert not signature.verify(b"data", signature.sign(b"data", other), public)


def test_the_signed_text_of_an_image_has_the_fields_that_cosign_reads():
    """The digest is what cosign compares with the image; a copy in another registry has another name and the same digest."""
    assert json.loads(signature.payload("localhost/longshore:v1", DIGEST)) == {
        "critical": {"identity": {"docker-reference": "localhost/longshore:v1"}, "image": {"docker-manifest-digest": DIGEST},
                     "type": "cosign container image signature"}, "optional": None}


def test_what_is_not_a_private_key_is_refused_with_the_way_to_make_one(keys):
    with pytest.raises(SystemExit, match="openssl ecparam -genkey"):
        signature.sign(b"data", keys[1])
