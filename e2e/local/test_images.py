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


UP = "../" * 30


def hostile_layers(canary):
    """{name: (entries, what the refusal says or None)}. Each of them changes or shows the canary, a directory outside of the image,
    if it is unpacked by the kernel's rules; an extractor that writes, links or removes by path fails every one of these tests."""
    inner = str(canary)[1:]
    link = lambda target: entry("out", tarfile.SYMTYPE, target)
    return {
        "dot dot": ([entry(f"{UP}{inner}/new", data=b"x")], "'..'"),
        "absolute": ([entry(f"{canary}/new", data=b"x")], None),
        "through a link": ([link(UP + inner), entry("out/new", data=b"x")], None),
        "through an absolute link": ([link(str(canary)), entry("out/new", data=b"x")], None),
        "through a chain": ([link("b"), entry("b", tarfile.SYMTYPE, str(canary)), entry("out/new", data=b"x")], None),
        "through the last link": ([entry("out", tarfile.SYMTYPE, f"{canary}/secret"), entry("out", data=b"x")], None),
        "hard link to the outside": ([entry("h", tarfile.LNKTYPE, f"{UP}{inner}/secret")], "'..'"),
        "hard link by an absolute name": ([entry("h", tarfile.LNKTYPE, f"{canary}/secret")], "not a file in the image"),
        "hard link through a link": ([link(str(canary)), entry("h", tarfile.LNKTYPE, "out/secret")], "not a file in the image"),
        "whiteout by dot dot": ([entry(f"{UP}{inner}/.wh.secret")], "'..'"),
        "whiteout through a link": ([link(str(canary)), entry("out/.wh.secret")], None),
        "opaque directory through a link": ([link(str(canary)), entry("out/.wh..wh..opq")], None),
        "directory over a link": ([link(str(canary)), entry("out", tarfile.DIRTYPE, mode=0o711)], None),
    }


def snapshot(directory):
    """Everything about a directory and its files that an extractor could change."""
    found = {}
    for path in (directory, *sorted(directory.iterdir())):
        info = path.lstat()
        found[path.name] = (info.st_ino, info.st_mode, info.st_nlink, info.st_uid, info.st_size, info.st_mtime_ns,
                            path.read_bytes() if path.is_file() else None)
    return found


def unpack_naively(root, entries):
    """Unpacks a layer by the kernel's rules: names as they are, and links are followed."""
    where = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for info, data in entries:
        directory, _, base = info.name.rpartition("/")
        if base == ".wh..wh..opq":
            place = os.open(directory or ".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=where)
            for name in os.listdir(place):
                os.unlink(name, dir_fd=place)
            os.close(place)
        elif base.startswith(".wh."):
            os.unlink(f"{directory}/{base[len('.wh.'):]}", dir_fd=where)
        elif info.type == tarfile.LNKTYPE:
            os.link(info.linkname, info.name, src_dir_fd=where, dst_dir_fd=where)
        elif info.type == tarfile.SYMTYPE:
            os.symlink(info.linkname, info.name, dir_fd=where)
        elif info.type == tarfile.DIRTYPE:
            os.chmod(info.name, info.mode, dir_fd=where)
        else:
            file = os.open(info.name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=where)
            os.write(file, data)
            os.close(file)
    os.close(where)


@pytest.mark.parametrize("name", hostile_layers("/canary"))
def test_hostile_layer_gets_outside_with_a_naive_extractor(tmp_path, name):
    """Otherwise test_hostile_layer_stays_inside would not show anything."""
    root, canary = tmp_path / "root", tmp_path / "canary"
    root.mkdir()
    canary.mkdir()
    (canary / "secret").write_text("SECRET")
    before = snapshot(canary)
    unpack_naively(root, hostile_layers(canary)[name][0])
    assert snapshot(canary) != before


@pytest.mark.parametrize("name", hostile_layers("/canary"))
def test_hostile_layer_stays_inside(local, name):
    canary = local.home / "canary"
    canary.mkdir()
    entries, refusal = hostile_layers(canary)[name]
    local.write("evil.tar", oci.archive(oci.stacked([oci.Blob(gzip.compress(hostile(entries), mtime=0), oci.LAYER)],
                                                    architecture=images.ARCHITECTURE), "evil"))
    local.write("canary/secret", "SECRET")
    before = snapshot(canary)
    result = local.run_item(shell("! grep -rq SECRET /h /out 2>/dev/null"), "--image", "oci-archive:evil.tar")
    assert snapshot(canary) == before
    if refusal:
        assert result.code == 125 and refusal in result.data["error"], result
    else:
        assert result.code == 0, result


def test_whiteouts_and_opaque_directories(local):
    lower = oci.layer_of({"keep": b"1", "gone": b"1", "dir": None, "dir/old": b"1", "link": "keep"})
    upper = oci.layer_of({".wh.gone": b"", "dir": None, "dir/.wh..wh..opq": b"", "dir/new": b"2"})
    local.write("image.tar", oci.archive(oci.stacked([images.busybox().layer, lower, upper], env=["PATH=/bin"],
                                                     architecture=images.ARCHITECTURE), "x"))
    result = local.run_item(shell("echo \"found: $(cd /; ls -d keep gone link dir/* 2>/dev/null | tr '\\n' ' ')\" > $EXPORTS_PATH"),
                            "--image", "oci-archive:image.tar")
    assert sorted(exports_of(result)["found"].split()) == ["dir/new", "keep", "link"]


def test_cache_is_pruned_by_size(local):
    for number in range(3):
        local.write("a.tar", oci.archive(marked(f"picture {number}"), "x"))
        assert local.run_item(HELLO, "--image", "oci-archive:a.tar", "--cache-size", "1Ki").code == 0
    kept = list((local.home / ".cache/longshore/images/rootfs").iterdir())
    assert len(kept) == 1, "only the image in use was kept"
