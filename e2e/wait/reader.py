# SPDX-License-Identifier: Apache-2.0
"""Independent readers of state Secrets: one for our format (count, sha256, sequence), one that does what the Go deployer
does (newest group by creation time, chunks by number, gzip and tar up to the end-of-archive blocks)."""

import base64
import dataclasses
import hashlib
import io
import tarfile
import zlib

GROUP = "container.deployer.landscaper.gardener.cloud"
OURS = f"longshore.{GROUP}"


@dataclasses.dataclass
class Generation:
    uuid: str
    sequence: int
    sha256: str
    data: bytes
    secrets: list

    @property
    def files(self):
        return contents(self.data)


def _annotation(secret, name, prefix=OURS):
    return secret["metadata"].get("annotations", {}).get(f"{prefix}/{name}")


def _number(secret):
    return int(_annotation(secret, "num", GROUP))


def groups(secrets):
    found = {}
    for secret in secrets:
        found.setdefault(_annotation(secret, "uuid", GROUP), []).append(secret)
    return found


def _joined(secrets):
    return b"".join(base64.b64decode(secret["data"]["config"]) for secret in sorted(secrets, key=_number))


def whole_generations(secrets):
    """All complete generations, newest first."""
    whole = []
    for name, chunks in groups(secrets).items():
        count = int(_annotation(chunks[0], "chunks"))
        if sorted(map(_number, chunks)) != list(range(count)):
            continue
        data, sha256 = _joined(chunks), _annotation(chunks[0], "sha256")
        if hashlib.sha256(data).hexdigest() != sha256:
            continue
        whole.append(Generation(name, int(_annotation(chunks[0], "sequence")), sha256, data, chunks))
    return sorted(whole, key=lambda generation: generation.sequence, reverse=True)


def newest_generation(kube, item):
    whole = whole_generations(item.state_secrets())
    return whole[0] if whole else None


def contents(data):
    """Path to bytes (files), None (directories) or "-> target" (symlinks)."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for entry in archive:
            name = entry.name
            if entry.isfile():
                found[name] = archive.extractfile(entry).read()
            elif entry.issym():
                found[name] = f"-> {entry.linkname}"
            else:
                assert entry.isdir(), f"{name} is of type {entry.type}"
                found[name] = None
    return found


def go_restores(secrets):
    """The files that the Go deployer would restore. Raises an exception if it would fail."""
    newest = max(groups(secrets).values(), key=lambda chunks: min(s["metadata"]["creationTimestamp"] for s in chunks))
    # Its tar reader stops at the end of the archive, so a truncated gzip trailer or garbage goes unnoticed.
    unpacked = zlib.decompressobj(wbits=31).decompress(_joined(newest))
    found = {}
    with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:", ignore_zeros=False) as archive:
        for entry in archive:
            if entry.isfile():
                found[entry.name] = archive.extractfile(entry).read()
    return found
