# SPDX-License-Identifier: Apache-2.0
"""Signatures of files and images: OpenSSL accepts them, and cosign finds its formats. Without a release, which takes minutes to build."""

import base64
import json
import os
import re
import subprocess
import sys

import pytest

from bench import paths
from ship import containers, release
from ship.test_release_files import verified_digests

sys.path.insert(0, str(paths.CHECKOUT / "images"))
import signature  # noqa: E402

INSTALL = (paths.CHECKOUT / "docs" / "install.md").read_text()
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


@pytest.fixture
def for_two_architectures(keys, tmp_path):
    """The archive of an image that images/release writes for two architectures, with a small program."""
    for architecture in ("amd64", "arm64"):
        (tmp_path / architecture).mkdir()
        (tmp_path / architecture / "program").write_text(architecture)
    archive = tmp_path / "longshore-1.oci.tar"
    subprocess.run([sys.executable, paths.CHECKOUT / "images" / "oci_archive.py", "--output", archive, "--name", "localhost/longshore:v1",
                    "--tree", f"amd64={tmp_path / 'amd64'}", "--tree", f"arm64={tmp_path / 'arm64'}", "--entrypoint", "/program",
                    "--user", "65532:65532", "--key", keys[0]], check=True, capture_output=True)
    return archive


def run(command, folder, **environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_image_for_two_architectures_is_signed_as_a_whole_and_for_each_and_can_be_copied_with_its_signatures(
        keys, for_two_architectures, registry, tmp_path):
    layout = release.Layout(for_two_architectures)
    top = layout.tags["v1"]["digest"]
    images = layout.json(top)["manifests"]
    assert [image["platform"]["architecture"] for image in images] == ["amd64", "arm64"]
    assert verified_digests(layout, keys[1]) == {top, *(image["digest"] for image in images)}
    function = re.search(r"^    publish\(\) \{.*?^    \}$", INSTALL, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "home").mkdir()
    run(f"{function}\npublish {for_two_architectures.name} two", tmp_path, **containers.configure(tmp_path / "home", registry.host),
        REGISTRY=f"{registry.host}/copied")
    for tag, described in layout.tags.items():
        assert release.pull(registry.client(), "copied/two", tag) == layout.blobs[described["digest"]], tag


def test_the_command_of_the_documentation_drops_the_signatures_which_containerd_cannot_unpack(for_two_architectures, tmp_path):
    command, = re.findall(r"^        (skopeo copy .* oci-archive:\$i\.tar:.*)$", INSTALL, re.MULTILINE)
    (tmp_path / "home").mkdir()
    run(command, tmp_path, **containers.configure(tmp_path / "home", "registry.invalid"), i="longshore", VERSION="1")
    tags = release.Layout(tmp_path / "longshore.tar").tags
    # The name that the chart uses with imageRegistry=localhost.
    assert tags.keys() == {"localhost/longshore:v1"}
    # The same image for both architectures.
    original = release.Layout(for_two_architectures).tags["v1"]["digest"]
    assert tags["localhost/longshore:v1"]["digest"] == original
