# SPDX-License-Identifier: Apache-2.0
"""Writes a container image of a few files as an OCI archive, for one or several architectures, with a signature if there is a key. The
same files and SOURCE_DATE_EPOCH give the same bytes, except for the signature.

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
import tarfile

import signature

ANNOTATION = "org.opencontainers.image."
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

    def bytes(self, directories=True):
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name in sorted(name for name in self.entries if directories or self.entries[name][0] != tarfile.DIRTYPE):
                kind, mode, data, target = self.entries[name]
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode, entry.size, entry.linkname, entry.mtime = kind, mode, len(data), target, self.time
                archive.addfile(entry, io.BytesIO(data))
        return output.getvalue()


def layer_of(tree, time):
    layer = Tar(time)
    for path in tree.rglob("*"):
        name = str(path.relative_to(tree))
        if path.is_symlink():
            layer.link(name, os.readlink(path))
        elif path.is_file():
            layer.add(name, path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
    return layer.bytes(), sum(len(entry[2]) for entry in layer.entries.values())


def image_of(options, annotations, architecture, tree, time):
    """The manifest, configuration and layer of the image for one architecture, and the total size of its files."""
    plain, size = layer_of(tree, time)
    layer = gzip.compress(plain, 9, mtime=0)
    created = annotations[ANNOTATION + "created"]
    config = as_json({
        "architecture": architecture, "os": "linux", "created": created,
        "config": {"User": options.user, "Entrypoint": [options.entrypoint], "WorkingDir": "/", "Labels": annotations},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(plain)]},
        "history": [{"created": created, "created_by": "images/build"}],
    })
    manifest = as_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(config, CONFIG),
                        "layers": [descriptor(layer, LAYER)], "annotations": annotations})
    return manifest, config, layer, size


def signature_of(name, digest, key):
    """The manifest of the signature as cosign stores it, and its blobs."""
    payload = signature.payload(name, digest)
    layer = {**descriptor(payload, signature.PAYLOAD), "annotations": {signature.ANNOTATION: signature.sign(payload, key)}}
    config = as_json({"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": [digest_of(payload)]}})
    manifest = as_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(config, CONFIG), "layers": [layer]})
    return manifest, config, payload


class Layout:
    """The content of an OCI archive: blobs, and the descriptors of those that have a tag."""

    def __init__(self, time):
        self.time = time
        self.blobs = {}
        self.named = []

    def add(self, *blobs):
        self.blobs.update({digest_of(blob): blob for blob in blobs})

    def tag(self, described, name):
        # ctr reads the first annotation, skopeo and podman the second.
        self.named.append({**described, "annotations": {"io.containerd.image.name": name, ANNOTATION + "ref.name": name.rpartition(":")[2]}})

    def sign(self, name, digest, key):
        """Adds the signature of a manifest under the tag where cosign looks for it."""
        repository = name.rpartition(":")[0]
        manifest, *blobs = signature_of(repository, digest, key)
        self.add(manifest, *blobs)
        self.tag(descriptor(manifest, MANIFEST), f"{repository}:{digest.replace(':', '-')}.sig")

    def write(self, path):
        archive = Tar(self.time)
        archive.add("oci-layout", as_json({"imageLayoutVersion": "1.0.0"}), 0o644)
        archive.add("index.json", as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": self.named}), 0o644)
        for digest, blob in self.blobs.items():
            archive.add("blobs/sha256/" + digest.partition(":")[2], blob, 0o644)
        aside = path.with_name(path.name + ".partial")
        aside.write_bytes(archive.bytes())
        aside.replace(path)


def write_image(options, time):
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    annotations = {ANNOTATION + key: value for key, value in options.annotation if value} | {ANNOTATION + "created": created}
    layout, described = Layout(time), []
    for architecture, tree in options.tree:
        manifest, config, layer, size = image_of(options, annotations, architecture, pathlib.Path(tree), time)
        layout.add(manifest, config, layer)
        described.append({**descriptor(manifest, MANIFEST), "platform": {"architecture": architecture, "os": "linux"}})
        print(f"{options.name} {architecture} {digest_of(manifest)} {size} bytes unpacked, {len(layer)} compressed")
    top = described[0]
    if len(described) > 1:
        index = as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": described, "annotations": annotations})
        layout.add(index)
        top = descriptor(index, INDEX)
    layout.tag(top, options.name)
    if options.key:
        # cosign verifies what a tag or digest refers to: the index, and each image for those who pin its digest.
        for digest in dict.fromkeys([top["digest"], *(image["digest"] for image in described)]):
            layout.sign(options.name, digest, options.key)
    layout.write(options.output)


def pair(text):
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"'{text}' does not have the form NAME=VALUE")
    return key, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True, help="name:tag under which the image is imported")
    parser.add_argument("--tree", type=pair, action="append", required=True, metavar="ARCHITECTURE=DIRECTORY",
                        help="the files of the image: programs, data, links")
    parser.add_argument("--entrypoint", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--annotation", type=pair, action="append", default=[], metavar="KEY=VALUE", help=f"KEY without the prefix {ANNOTATION}")
    parser.add_argument("--key", type=pathlib.Path, help="private key (PEM) that signs the image")
    write_image(parser.parse_args(), int(os.environ.get("SOURCE_DATE_EPOCH", "0")))


if __name__ == "__main__":
    main()
