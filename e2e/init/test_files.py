# SPDX-License-Identifier: Apache-2.0
"""Component repositories in files and inline, and the order in which repositories are asked."""

import base64
import json
import subprocess
import tarfile

import pytest
import yaml

from bench.oci import Blob, manifest_of, tar_of
from init.harness import DATA
from init.parts import BLUEPRINT_YAML, blueprint_blob, context, descriptor, push_component, reference, resource

NAME = "example.com/files/app"


def shape(pod, source, form, name):
    """Copies a directory into the pod: as it is, as a tar, or as a tgz. Returns the path."""
    target = pod.inputs / name
    if form == "directory":
        subprocess.run(["cp", "-r", str(source), str(target)], check=True)
        subprocess.run(["chmod", "-R", "a+rX", str(target)], check=True)
    else:
        with tarfile.open(target, "w:gz" if form == "tgz" else "w") as archive:
            archive.add(source, arcname=".")
    return str(target)


@pytest.mark.parametrize("form", ["directory", "tar", "tgz"])
def test_transport_archive(pod, form):
    path = shape(pod, DATA / "ctf", form, "transport")
    spec = {"type": "CommonTransportFormat", "filePath": path, "subPath": "ocm"}
    result = pod.run(reference(spec, "example.com/acme/d13", blueprint="blueprint")).must_succeed()
    assert len(result.components()) == 5
    assert set(result.content()) == {"blueprint.yaml", "data/values.txt", "run.sh"}
    pod.run(reference(spec, "example.com/acme/gone")).must_fail("not found", path)


def test_transport_archive_with_a_modified_blob(pod):
    path = shape(pod, DATA / "ctf", "directory", "transport")
    index = json.loads((DATA / "ctf" / "artifact-index.json").read_text())["artifacts"][0]
    blob = pod.inputs / "transport" / "blobs" / index["digest"].replace(":", ".")
    blob.write_bytes(blob.read_bytes() + b" ")
    spec = {"type": "CommonTransportFormat", "filePath": path, "subPath": "ocm"}
    pod.run(reference(spec, "example.com/acme/d01")).must_fail("does not match its digest")


@pytest.fixture
def archive(tmp_path):
    """A component archive: blobs are files named sha256.<hex>."""
    blob = blueprint_blob({"data": b"z"})
    name = blob.digest.replace(":", ".")
    entry = resource(blob, digest={"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1",
                                   "value": blob.digest.partition(":")[2]})
    entry["access"]["localReference"] = name
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / name).write_bytes(blob.data)
    (tmp_path / "component-descriptor.yaml").write_text(yaml.safe_dump(descriptor(NAME, resources=[entry])))
    return tmp_path


@pytest.mark.parametrize("form", ["directory", "tar", "tgz"])
def test_component_archive(pod, archive, form):
    spec = {"type": "ComponentArchive", "filePath": shape(pod, archive, form, "archive")}
    result = pod.run(reference(spec, NAME, blueprint="blueprint")).must_succeed()
    assert result.content() == {"blueprint.yaml": BLUEPRINT_YAML, "data": b"z"}
    pod.run(reference(spec, NAME, "2.0.0")).must_fail("not found")


def test_component_archive_with_a_modified_blob(pod, archive):
    blob, = (archive / "blobs").iterdir()
    blob.write_bytes(blob.read_bytes() + b"x")
    spec = {"type": "ComponentArchive", "filePath": shape(pod, archive, "directory", "archive")}
    pod.run(reference(spec, NAME, blueprint="blueprint")).must_fail("does not match its digest")


@pytest.mark.parametrize("name", ["../../target.json", "/etc/passwd", "..", ".", "a/b"])
def test_component_archive_with_a_blob_outside(pod, archive, name):
    body = yaml.safe_load((archive / "component-descriptor.yaml").read_text())
    body["component"]["resources"][0]["access"]["localReference"] = name
    (archive / "component-descriptor.yaml").write_text(yaml.safe_dump(body))
    spec = {"type": "ComponentArchive", "filePath": shape(pod, archive, "directory", "archive")}
    pod.run(reference(spec, NAME, blueprint="blueprint")).must_fail("blob")


def test_a_repository_that_does_not_exist(pod):
    spec = {"type": "ComponentArchive", "filePath": str(pod.inputs / "gone")}
    assert pod.run(reference(spec, NAME)).must_fail("not found").failure["kind"] == "not-found"


V2 = descriptor(NAME, references=[("example.com/files/lib", "1.0.0")], labels=[{"name": "l", "value": {"a": [1]}}])
V3 = {"apiVersion": "ocm.software/v3alpha1", "kind": "ComponentVersion",
      "metadata": {"name": NAME, "version": "1.0.0", "provider": {"name": "acme"},
                   "labels": [{"name": "l", "value": {"a": [1]}, "version": "v1"}]},
      "repositoryContexts": V2["component"]["repositoryContexts"],
      "spec": {"sources": [], "resources": [],
               "references": [{"name": "ref0", "componentName": "example.com/files/lib", "version": "1.0.0"}]}}


def test_local_repository_with_both_schemas(pod, make_pod):
    """Every file is a descriptor. v2 and v3alpha1 give the same list."""
    lists = []
    for body in (V2, V3):
        other = make_pod()
        other.write("local/a.yaml", yaml.safe_dump(body))
        other.write("local/lib.yaml", yaml.safe_dump(descriptor("example.com/files/lib")))
        spec = {"type": "local", "filePath": str(other.inputs / "local")}
        lists.append(other.run(reference(spec, NAME)).must_succeed().descriptors())
    assert lists[0] == lists[1]
    assert [entry["component"]["name"] for entry in lists[0]["components"]] == [NAME, "example.com/files/lib"]


@pytest.mark.parametrize("form", ["directory", "tar"])
def test_local_repository_with_a_blueprint(pod, form):
    entry = resource(Blob(b"", "application/x-tar"))
    entry["access"] = {"type": "localFilesystemBlob", "filename": "bp", "mediaType": "application/x-tar"}
    pod.write("local/a.yaml", yaml.safe_dump(descriptor(NAME, resources=[entry])))
    if form == "directory":
        pod.write("local/blobs/bp/blueprint.yaml", BLUEPRINT_YAML)
        pod.write("local/blobs/bp/data/test", "t")
    else:
        pod.write("local/blobs/bp", tar_of({"blueprint.yaml": BLUEPRINT_YAML, "data/test": b"t"}))
    spec = {"type": "local", "filePath": str(pod.inputs / "local")}
    result = pod.run(reference(spec, NAME, blueprint="blueprint")).must_succeed()
    assert result.content() == {"blueprint.yaml": BLUEPRINT_YAML, "data/test": b"t"}


@pytest.mark.parametrize("blob", ["tree", "file"])
def test_inline_repository(pod, blob):
    entry = resource(Blob(b"", "application/x-tar"))
    entry["access"] = {"type": "localFilesystemBlob", "filename": "bp", "mediaType": "application/x-tar"}
    packed = base64.b64encode(tar_of({"blueprint.yaml": BLUEPRINT_YAML})).decode()
    blobs = {"bp": {"blueprint.yaml": BLUEPRINT_YAML.decode()} if blob == "tree" else {"$type": "file", "binary": packed}}
    spec = {"type": "inline", "fileSystem": {"one.yaml": yaml.safe_dump(descriptor(
        NAME, references=[("example.com/files/lib", "1.0.0")], resources=[entry])),
        "two.yaml": yaml.safe_dump(descriptor("example.com/files/lib"))}, "blobFs": blobs}
    result = pod.run(reference(spec, NAME, blueprint="blueprint")).must_succeed()
    assert len(result.components()) == 2
    assert result.content() == {"blueprint.yaml": BLUEPRINT_YAML}


def test_an_artifact_in_a_local_blob(pod, registry):
    """An artifact set: an OCI artifact as one blob of the component."""
    layer, config = blueprint_blob({"data": b"set"}), Blob(b"{}", "application/vnd.gardener.landscaper.blueprint.config.v1")
    manifest = manifest_of(config, [layer])
    files = {f"blobs/{blob.digest.replace(':', '.')}": blob.data for blob in (layer, config, manifest)}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest.descriptor()],
                                      "annotations": {"software.ocm/main": manifest.digest}}).encode()
    files["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    packed = Blob(tar_of(files), "application/vnd.oci.image.manifest.v1+tar")
    push_component(registry.client(), "sets", descriptor(NAME, resources=[resource(packed)]), [packed])
    result = pod.run(reference(context(f"{registry.url}/sets"), NAME, blueprint="blueprint")).must_succeed()
    assert result.content()["data"] == b"set"


# --- resolvers ---

def resolver(spec, **more):
    return {"repository": spec, **more}


@pytest.fixture(scope="module")
def places(registry):
    """The same component in four repositories, with a different label in each; another one in only one of them."""
    for place in "abcd":
        push_component(registry.client(), f"place-{place}", descriptor(NAME, labels=[{"name": "place", "value": place}]))
    push_component(registry.client(), "place-d", descriptor("example.com/files/rare"))
    return {place: context(f"{registry.url}/place-{place}") for place in "abcd"}


def found_in(result):
    return result.must_succeed().descriptors()["components"][0]["component"]["labels"][0]["value"]


def test_the_repository_context_is_asked_before_the_resolvers(pod, places):
    pod.ocm({"type": "ocm.config.ocm.software", "resolvers": [resolver(places["b"], priority=100)]})
    assert found_in(pod.run(reference(places["a"], NAME))) == "a"


@pytest.mark.parametrize("resolvers, winner", [
    ([("a", {}), ("b", {"priority": 20})], "b"),
    ([("a", {}), ("b", {"prefix": "example.com/files"})], "b"),
    ([("a", {"prefix": "example.com/files"}), ("b", {"prefix": "example.com"})], "a"),
    ([("a", {"prefix": "example.com/other", "priority": 99}), ("b", {})], "b"),
    ([("a", {}), ("b", {})], "a"),
])
def test_resolvers_by_priority_and_prefix(pod, places, resolvers, winner):
    """A reference without a repository context is resolved by the resolvers."""
    pod.ocm({"type": "ocm.config.ocm.software", "resolvers": [resolver(places[place], **more) for place, more in resolvers]})
    assert found_in(pod.run(reference(None, NAME))) == winner


def test_only_not_found_continues_with_the_next_repository(pod, places, registry, basic_registry):
    pod.ocm({"type": "ocm.config.ocm.software", "resolvers": [resolver(places["a"], priority=20), resolver(places["d"])]})
    assert pod.run(reference(None, "example.com/files/rare")).must_succeed().components() == [("example.com/files/rare", "1.0.0")]
    locked = context(f"{basic_registry.url}/x")
    pod.ocm({"type": "ocm.config.ocm.software", "resolvers": [resolver(locked, priority=20), resolver(places["d"])]})
    assert pod.run(reference(None, "example.com/files/rare")).must_fail("denied").failure["kind"] == "denied"


def test_not_found_lists_the_repositories(pod, places, registry):
    pod.ocm({"type": "ocm.config.ocm.software", "resolvers": [resolver(places["b"])]})
    pod.run(reference(places["a"], "example.com/files/none")).must_fail(
        "not found in", f"{registry.host}/place-a", f"{registry.host}/place-b")


def test_references_are_looked_up_in_the_context_of_the_root(pod, registry):
    """Not in the contexts of their own descriptors."""
    push_component(registry.client(), "chain", descriptor(NAME, references=[("example.com/files/lib", "1.0.0")]))
    push_component(registry.client(), "chain", descriptor("example.com/files/lib"))
    assert len(pod.run(reference(context(f"{registry.url}/chain"), NAME)).must_succeed().components()) == 2


def test_an_unsupported_repository_fails_only_when_it_is_asked(pod, places):
    strange = {"type": "Git/v1", "url": "x"}
    pod.ocm({"type": "ocm.config.ocm.software", "resolvers": [resolver(strange, priority=1)]})
    pod.run(reference(places["a"], NAME)).must_succeed()
    pod.run(reference(places["a"], "example.com/files/none")).must_fail('repository type "Git/v1" is not supported')
