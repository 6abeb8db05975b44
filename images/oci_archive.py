# SPDX-License-Identifier: Apache-2.0
"""Writes a container image of a few files as an OCI archive. The same files and SOURCE_DATE_EPOCH give the same bytes.

The image has no base image and one layer; all files belong to root and are not writable for others.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import tarfile

ANNOTATION = "org.opencontainers.image."
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def as_json(thing):
    return json.dumps(thing, sort_keys=True, separators=(",", ":")).encode()


def descriptor(data, media_type):
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


class Tar:
    """A tar whose bytes depend only on its content: sorted by name, owned by root, with one time stamp for all entries."""

    def __init__(self, time):
        self.time = time
        self.entries = {}

    def add(self, name, data, mode):
        self.entries[name] = (tarfile.REGTYPE, mode, data, "")
        parent = pathlib.PurePosixPath(name).parent
        while str(parent) != ".":
            self.entries.setdefault(str(parent), (tarfile.DIRTYPE, 0o755, b"", ""))
            parent = parent.parent

    def link(self, name, target):
        self.entries[name] = (tarfile.SYMTYPE, 0o777, b"", target)

    def bytes(self):
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name in sorted(self.entries):
                kind, mode, data, target = self.entries[name]
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode, entry.size, entry.linkname, entry.mtime = kind, mode, len(data), target, self.time
                archive.addfile(entry, io.BytesIO(data))
        return output.getvalue()


def layer_of(options, time):
    layer = Tar(time)
    for path in options.tree.rglob("*"):
        name = str(path.relative_to(options.tree))
        if path.is_symlink():
            layer.link(name, os.readlink(path))
        elif path.is_file():
            layer.add(name, path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
    return layer.bytes(), sum(len(entry[2]) for entry in layer.entries.values())


def image_of(options, time):
    """The manifest, configuration and layer of the image, and the total size of its files."""
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    annotations = {ANNOTATION + key: value for key, value in options.annotation if value}
    annotations[ANNOTATION + "created"] = created
    plain, size = layer_of(options, time)
    layer = gzip.compress(plain, 9, mtime=0)
    config = as_json({
        "architecture": ARCHITECTURE, "os": "linux", "created": created,
        "config": {"User": options.user, "Entrypoint": [options.entrypoint], "WorkingDir": "/", "Labels": annotations},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(plain)]},
        "history": [{"created": created, "created_by": "images/build"}],
    })
    manifest = as_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(config, CONFIG),
                        "layers": [descriptor(layer, LAYER)], "annotations": annotations})
    return manifest, config, layer, size


def write_archive(path, name, time, manifest, *blobs):
    # ctr reads the first annotation, skopeo and podman the second.
    named = {**descriptor(manifest, MANIFEST), "platform": {"architecture": ARCHITECTURE, "os": "linux"},
             "annotations": {"io.containerd.image.name": name, ANNOTATION + "ref.name": name.rpartition(":")[2]}}
    archive = Tar(time)
    archive.add("oci-layout", as_json({"imageLayoutVersion": "1.0.0"}), 0o644)
    archive.add("index.json", as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}), 0o644)
    for blob in (manifest, *blobs):
        archive.add("blobs/sha256/" + digest_of(blob).partition(":")[2], blob, 0o644)
    aside = path.with_name(path.name + ".partial")
    aside.write_bytes(archive.bytes())
    aside.replace(path)


def pair(text):
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"'{text}' does not have the form NAME=VALUE")
    return key, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True, help="name:tag under which the image is imported")
    parser.add_argument("--tree", type=pathlib.Path, required=True, help="directory with the files of the image: programs, data, links")
    parser.add_argument("--entrypoint", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--annotation", type=pair, action="append", default=[], metavar="KEY=VALUE", help=f"KEY without the prefix {ANNOTATION}")
    options = parser.parse_args()
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    manifest, config, layer, size = image_of(options, time)
    write_archive(options.output, options.name, time, manifest, config, layer)
    print(f"{options.name} {digest_of(manifest)} {size} bytes unpacked, {len(layer)} compressed")


if __name__ == "__main__":
    main()
