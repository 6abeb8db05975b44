#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an OCI archive of busybox with one program in it: make_image.py PROGRAM ARCHIVE"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import images, oci  # noqa: E402 (the path comes first)


def main():
    program, archive = map(pathlib.Path, sys.argv[1:])
    picture = images.busybox({f"bin/{program.name}": (program.read_bytes(), 0o755)}, entrypoint=[f"/bin/{program.name}"])
    archive.write_bytes(oci.archive(picture, f"localhost/{program.name}:latest"))


if __name__ == "__main__":
    main()
