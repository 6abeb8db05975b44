# SPDX-License-Identifier: Apache-2.0
"""Builds OCI content in memory: blobs, manifests, layers."""

import dataclasses
import gzip
import hashlib
import io
import json
import tarfile

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclasses.dataclass(frozen=True)
class Blob:
    data: bytes
    media_type: str
    annotations: tuple = ()

    @property
    def digest(self):
        return digest_of(self.data)

    def descriptor(self):
        described = {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data)}
        return {**described, **({"annotations": dict(self.annotations)} if self.annotations else {})}


def manifest_of(config, layers, media_type=MANIFEST, **more):
    """The manifest of an artifact, as a blob."""
    body = {"schemaVersion": 2, "mediaType": media_type, "config": config.descriptor(),
            "layers": [layer.descriptor() for layer in layers], **more}
    return Blob(json.dumps(body).encode(), media_type)


def tar_of(files):
    """A tar of {name: content}; the same bytes for the same files.

    The content is bytes, None for a directory, or a string for a symbolic link; a tuple adds the mode.
    """
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            data, entry.mode = content if isinstance(content, tuple) else (content, 0o755 if content is None else 0o644)
            if data is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            elif isinstance(data, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, data
                archive.addfile(entry)
            else:
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return output.getvalue()


def layer_of(files):
    return Blob(gzip.compress(tar_of(files), mtime=0), LAYER)


@dataclasses.dataclass(frozen=True)
class Image:
    """A container image; layer is its top layer, lower are the others."""
    config: Blob
    layer: Blob
    manifest: Blob
    lower: tuple = ()

    @property
    def digest(self):
        return self.manifest.digest


def image(files, *, entrypoint=None, command=None, env=None, user=None, architecture="amd64", labels=None):
    """An image with these files (see tar_of) and this configuration."""
    layer = layer_of(files)
    settings = {"Entrypoint": entrypoint, "Cmd": command, "Env": env, "User": user, "Labels": labels}
    body = {"architecture": architecture, "os": "linux",
            "config": {key: value for key, value in settings.items() if value is not None},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(gzip.decompress(layer.data))]}}
    config = Blob(json.dumps(body).encode(), CONFIG)
    return Image(config, layer, manifest_of(config, [layer]))


def stacked(layers, *, entrypoint=None, env=None, architecture="amd64"):
    """An image of several gzipped layers, the lowest first."""
    settings = {"Entrypoint": entrypoint, "Env": env}
    body = {"architecture": architecture, "os": "linux",
            "config": {key: value for key, value in settings.items() if value is not None},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(gzip.decompress(layer.data)) for layer in layers]}}
    config = Blob(json.dumps(body).encode(), CONFIG)
    return Image(config, layers[-1], manifest_of(config, layers), tuple(layers[:-1]))


def archive(picture, name):
    """The image as an OCI archive (a tar of an OCI layout) that is imported under this name, as bytes."""
    described = {**picture.manifest.descriptor(), "annotations": {"io.containerd.image.name": name,
                                                                  "org.opencontainers.image.ref.name": name}}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [described]}).encode()}
    for blob in (picture.config, *picture.lower, picture.layer, picture.manifest):
        files["blobs/sha256/" + blob.digest.partition(":")[2]] = blob.data
    return tar_of(files)
