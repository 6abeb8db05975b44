# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of init."""

import io
import json
import shutil
import tarfile

import pytest

from bench import paths, privileges
from bench.oci import Blob, manifest_of, tar_of
from init.harness import DATA, PROGRAM, Pod


@pytest.fixture(scope="session", autouse=True)
def program():
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not built: run 'make build', or say where with LONGSHORE_BUILD")


@pytest.fixture
def make_pod():
    """A function that returns a new pod."""
    directories = []

    def make():
        directories.append(paths.fresh_directory("pod"))
        return Pod(directories[-1])

    yield make
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def pod(make_pod):
    """The directories and the environment of a pod."""
    return make_pod()


@pytest.fixture
def as_root():
    """For tests that need root. Without it they fail with an explanation."""
    privileges.require_root("being a pod's user, mounting its token and looking into its process")


def _rewritten(directory, artifact, host):
    """Manifest and blobs of an artifact with the address of this registry in the descriptor; None if it has none."""
    def read(digest):
        return (directory / "blobs" / digest.replace(":", ".")).read_bytes()

    manifest = json.loads(read(artifact["digest"]))
    layers = [Blob(read(layer["digest"]), layer["mediaType"]) for layer in manifest.get("layers", [])]
    for i, layer in enumerate(layers):
        if not layer.media_type.endswith("+yaml+tar") or b"127.0.0.1:5000" not in layer.data:
            continue
        with tarfile.open(fileobj=io.BytesIO(layer.data)) as archive:
            text = archive.extractfile("component-descriptor.yaml").read()
        text = text.replace(b"127.0.0.1:5000", host.encode())
        layers[i] = Blob(tar_of({"component-descriptor.yaml": (text, 0)}), layer.media_type)
        config = Blob(json.dumps({"componentDescriptorLayer": layers[i].descriptor()}).encode(), manifest["config"]["mediaType"])
        return manifest_of(config, layers), [config, *layers]
    return None


def push_cases(registry):
    """Pushes the artifacts of data/cases, with the address of this registry in their descriptors."""
    client = registry.client()
    client.push_ctf(DATA / "ctf")
    for artifact in json.loads((DATA / "ctf" / "artifact-index.json").read_text())["artifacts"]:
        changed = _rewritten(DATA / "ctf", artifact, registry.host)
        if changed:
            client.push(artifact["repository"], artifact["tag"], *changed)


@pytest.fixture(scope="session")
def cases_registry(registry):
    """The open registry with the artifacts of data/ctf."""
    push_cases(registry)
    return registry
