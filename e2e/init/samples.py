# SPDX-License-Identifier: Apache-2.0
"""State in Secrets, as the Go deployer writes it, with its bugs, and as Longshore does."""

import base64
import hashlib
import io
import json
import tarfile
import uuid
import zlib

CHUNK = 1048576
GROUP = "container.deployer.landscaper.gardener.cloud"
OWN = f"longshore.{GROUP}"
ITEM_LABEL = f"{OWN}/item"


def item_hash(namespace, name):
    return hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:16]


def pack(files):
    """A tar as Go writes it: entries for parents, no trailing slash, lexical order; one gzip member without a timestamp."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        made = set()
        for name, data in sorted(files.items()):
            for i, letter in enumerate(name):
                if letter == "/" and name[:i] not in made:
                    made.add(name[:i])
                    info = tarfile.TarInfo(name[:i])
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(info)
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(output.getvalue()) + packer.flush()
    trailer = zlib.crc32(output.getvalue()).to_bytes(4, "little") + len(output.getvalue()).to_bytes(4, "little")
    packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + body + trailer
    return packed


def go_chunks(packed):
    """Splits as Go does: into a buffer that is never cleared, with NULs trimmed at both ends."""
    buffer, chunks = bytearray(CHUNK), []
    for start in range(0, len(packed), CHUNK):
        piece = packed[start:start + CHUNK]
        buffer[:len(piece)] = piece
        chunks.append(bytes(buffer).strip(b"\0"))
    return chunks


def labels(name="item", namespace="ns"):
    return {f"deployitem.{GROUP}/name": name, f"deployitem.{GROUP}/namespace": namespace, f"{GROUP}/type": "state"}


def generation(chunks, *, created="2024-01-01T00:00:00Z", sequence=None, packed=None):
    """[(metadata, bytes)] of a generation. With a sequence it is one of Longshore, else one of Go."""
    group = str(uuid.uuid4())
    result = []
    for number, data in enumerate(chunks):
        annotations = {f"{GROUP}/uuid": group, f"{GROUP}/num": str(number)}
        if sequence is not None:
            annotations.update({f"{OWN}/chunks": str(len(chunks)), f"{OWN}/sequence": str(sequence),
                                f"{OWN}/sha256": hashlib.sha256(packed).hexdigest(), f"{OWN}/bytes": str(len(packed)),
                                f"{OWN}/job": f"job-{sequence}", f"{OWN}/pod-uid": f"pod-{sequence}"})
        result.append(({"annotations": annotations, "creationTimestamp": created}, data))
    return result


def own(files, sequence, **more):
    packed = pack(files)
    chunks = [packed[i:i + CHUNK] for i in range(0, len(packed), CHUNK)]
    return generation(chunks, sequence=sequence, packed=packed, **more)


def go(files, **more):
    return generation(go_chunks(pack(files)), **more)


def mount(directory, *generations):
    """Writes chunks as our controller mounts them: one directory each."""
    directory.mkdir(exist_ok=True)
    count = 0
    for chunks in generations:
        for metadata, data in chunks:
            place = directory / f"chunk-{count}"
            count += 1
            place.mkdir()
            (place / "config").write_bytes(data)
            (place / "metadata.json").write_text(json.dumps(metadata))
    return directory


def create(kube, namespace, *generations, name="item", more_labels=None):
    """Creates chunks as Secrets. Returns a list of names for each generation."""
    names = []
    for chunks in generations:
        made = [kube.create({"apiVersion": "v1", "kind": "Secret",
                             "metadata": {"generateName": f"state-ns-{name}-", "labels": {**labels(name), **(more_labels or {})},
                                          "annotations": metadata["annotations"]},
                             "data": {"config": base64.b64encode(data).decode()}}, namespace)["metadata"]["name"]
                for metadata, data in chunks]
        names.append(made)
    return names
