# SPDX-License-Identifier: Apache-2.0
"""Where images come from, and what a hostile one can do about us: nothing."""

import gzip
import io
import json
import os
import tarfile

import pytest

from bench import images, oci
from local.conftest import shell

HELLO = shell("echo from: $(cat /mark) > $EXPORTS_PATH")


def marked(text, **more):
    return images.busybox({"mark": text.encode(), **more})


def layout(directory, *pictures):
    """An OCI layout with one or more tagged images."""
    blobs = directory / "blobs/sha256"
    blobs.mkdir(parents=True)
    (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    manifests = []
    for tag, picture in pictures:
        for blob in (picture.config, picture.layer, picture.manifest):
            (blobs / blob.digest.partition(":")[2]).write_bytes(blob.data)
        manifests.append({**picture.manifest.descriptor(), "annotations": {"org.opencontainers.image.ref.name": tag}})
    (directory / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": manifests}))


def docker_archive(picture, tag):
    layer = gzip.decompress(picture.layer.data)
    return oci.tar_of({"config.json": picture.config.data, "layer/layer.tar": layer,
                       "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": [tag],
                                                     "Layers": ["layer/layer.tar"]}]).encode()})


def exports_of(result):
    assert result.code == 0, result
    return result.data["exports"]


def test_oci_layout_by_tag_and_by_path(local):
    layout(local.home / "layout", ("one", marked("one")), ("two", marked("two")))
    local.own()
    assert exports_of(local.run_item(HELLO, "--image", "oci:layout:two")) == {"from": "two"}
    assert exports_of(local.run_item(HELLO, "--image", "oci:layout:one")) == {"from": "one"}
    ambiguous = local.run_item(HELLO, "--image", "oci:layout")
    assert ambiguous.code == 125 and "2 images" in ambiguous.data["error"]
    missing = local.run_item(HELLO, "--image", "oci:layout:three")
    assert "three" in missing.data["error"]


def test_archives_by_name_and_by_absolute_path(local):
    local.write("a.tar", oci.archive(marked("archive"), "localhost/x:1"))
    local.write("d.tar", docker_archive(marked("docker"), "x:1"))
    for image, text in (("oci-archive:a.tar", "archive"), (str(local.home / "a.tar"), "archive"),
                        ("docker-archive:d.tar", "docker"), ("docker-archive:d.tar:x:1", "docker"),
                        (str(local.home / "d.tar"), "docker")):
        assert exports_of(local.run_item(HELLO, "--image", image)) == {"from": text}, image


def test_root_file_system_directory(local):
    root = local.home / "rootfs"
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(marked("directory").layer.data))) as archive:
        archive.extractall(root)
    local.own()
    for image in ("rootfs:rootfs", str(root)):
        assert exports_of(local.run_item(HELLO, "--image", image)) == {"from": "directory"}


def test_registry_with_and_without_credentials(local, registry, basic_registry):
    picture = marked("registry")
    registry.client().push_image("some/name", "v1", picture)
    reference = f"{registry.host}/some/name:v1"
    mark = registry.mark()
    assert exports_of(local.run_item(HELLO, "--image", reference, "--plain-http")) == {"from": "registry"}
    assert len([r for r in registry.requests(mark) if r[0] == "GET"]) <= 4, "manifest, configuration, layer"
    mark = registry.mark()
    again = local.run_item(HELLO, "--image", reference, "--plain-http")
    assert exports_of(again) == {"from": "registry"}
    assert not [r for r in registry.requests(mark) if "/blobs/" in r[1]], "layers are cached by digest"

    basic_registry.client().push_image("private/name", "v1", picture)
    private = f"{basic_registry.host}/private/name:v1"
    refused = local.run_item(HELLO, "--image", private, "--plain-http")
    assert refused.code == 125 and "private/name" in refused.data["error"], refused
    user, password = basic_registry.credentials
    (local.home / ".docker").mkdir()
    local.write(".docker/config.json", json.dumps({"auths": {basic_registry.host: {"username": user, "password": password}}}))
    assert exports_of(local.run_item(HELLO, "--image", private, "--plain-http")) == {"from": "registry"}


def test_altered_layer_is_refused(local):
    layout(local.home / "layout", ("one", marked("one")))
    layer = local.home / "layout/blobs/sha256" / marked("one").layer.digest.partition(":")[2]
    data = bytearray(layer.read_bytes())
    data[len(data) // 2] ^= 1
    layer.write_bytes(bytes(data))
    local.own()
    result = local.run_item(HELLO, "--image", "oci:layout")
    assert result.code == 125 and "digest" in result.data["error"], result


def hostile(entries):
    """A layer of busybox with raw tar entries behind it."""
    output = io.BytesIO(gzip.decompress(images.busybox().layer.data))
    with tarfile.open(fileobj=output, mode="a") as archive:
        for entry, data in entries:
            archive.addfile(entry, io.BytesIO(data) if data is not None else None)
    return output.getvalue()


def entry(name, kind=tarfile.REGTYPE, link="", data=b"", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, len(data), mode
    return info, data


HOSTILE = {
    "dot dot": [entry("../outside", data=b"x")],
    "absolute": [entry("/outside", data=b"x")],
    "through a link": [entry("out", tarfile.SYMTYPE, ".."), entry("out/outside", data=b"x")],
    "through an absolute link": [entry("out", tarfile.SYMTYPE, "/"), entry("out/outside", data=b"x")],
    "through a chain": [entry("a", tarfile.SYMTYPE, "b"), entry("b", tarfile.SYMTYPE, "../.."), entry("a/outside", data=b"x")],
    "hard link to the outside": [entry("h", tarfile.LNKTYPE, "../../../../etc/passwd")],
    "hard link through a link": [entry("l", tarfile.SYMTYPE, "/etc"), entry("h", tarfile.LNKTYPE, "l/passwd")],
    "whiteout of the outside": [entry("x/.wh...")],
    "link loop": [entry("l", tarfile.SYMTYPE, "m"), entry("m", tarfile.SYMTYPE, "l"), entry("l/outside", data=b"x")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_layer_stays_inside(local, name):
    data = hostile(HOSTILE[name])
    layer = oci.Blob(gzip.compress(data, mtime=0), oci.LAYER)
    body = {"architecture": images.ARCHITECTURE, "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [oci.digest_of(data)]}}
    config = oci.Blob(json.dumps(body).encode(), oci.CONFIG)
    local.write("evil.tar", oci.archive(oci.Image(config, layer, oci.manifest_of(config, [layer])), "evil"))
    before = {str(p) for p in local.home.iterdir()}
    result = local.run_item(shell("! grep -q root:x /h 2>/dev/null"), "--image", "oci-archive:evil.tar")
    # Either refused by name, or harmless: what the layer names lies inside the container's own root.
    assert result.code in (0, 125), result
    assert not [p for p in local.home.rglob("outside") if "rootfs" not in str(p)]
    assert not os.path.exists("/outside")
    assert {str(p) for p in local.home.iterdir()} - before <= {str(local.home / n) for n in (".cache", ".local", "item.yaml")}


def test_whiteouts_and_opaque_directories(local):
    lower = oci.layer_of({"keep": b"1", "gone": b"1", "dir": None, "dir/old": b"1", "link": "keep"})
    upper = oci.layer_of({".wh.gone": b"", "dir": None, "dir/.wh..wh..opq": b"", "dir/new": b"2"})
    base = images.busybox()
    layers = [base.layer, lower, upper]
    body = {"architecture": images.ARCHITECTURE, "os": "linux", "config": {"Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [oci.digest_of(gzip.decompress(l.data)) for l in layers]}}
    config = oci.Blob(json.dumps(body).encode(), oci.CONFIG)
    manifest = oci.manifest_of(config, layers)
    root = local.home / "layout"
    layout(root, ("x", oci.Image(config, base.layer, manifest)))
    for blob in layers:
        (root / "blobs/sha256" / blob.digest.partition(":")[2]).write_bytes(blob.data)
    local.own()
    result = local.run_item(shell("echo \"found: $(cd /; ls -d keep gone link dir/* 2>/dev/null | tr '\\n' ' ')\" > $EXPORTS_PATH"),
                            "--image", "oci:layout")
    assert exports_of(result)["found"].split() == ["keep", "link", "dir/new"] or \
        sorted(exports_of(result)["found"].split()) == ["dir/new", "keep", "link"]


def test_cache_is_pruned_by_size(local):
    for number in range(3):
        local.write("a.tar", oci.archive(marked(f"picture {number}"), "x"))
        assert local.run_item(HELLO, "--image", "oci-archive:a.tar", "--cache-size", "1Ki").code == 0
    kept = list((local.home / ".cache/longshore/images/rootfs").iterdir())
    assert len(kept) == 1, "only the image in use was kept"
