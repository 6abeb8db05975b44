# SPDX-License-Identifier: Apache-2.0
"""Writes the SPDX document of an image with a Go program from the output of `go version -m`, which lists the compiler and the modules in it."""

import argparse
import pathlib
import urllib.parse

import sbom


def modules(text):
    """(path, version, checksum) of the standard library, the main module and every other one."""
    first, *lines = text.splitlines() or [""]
    compiler = first.rpartition(": go")[2].split()
    found = [("stdlib", compiler[0], "")] if compiler else []
    for line in lines:
        fields = line.split("\t")[1:]
        if fields and fields[0] in ("mod", "dep", "=>") and len(fields) >= 3:
            if fields[0] == "=>":
                found.pop()  # replaced by this one
            found.append((fields[1], fields[2], fields[3] if len(fields) > 3 else ""))
    if len(found) < 2:
        raise SystemExit("sbom_go: the program has no list of modules")
    return found


def package(path, version, checksum):
    escaped = urllib.parse.quote(path, safe="/.-_~")
    return {
        "SPDXID": sbom.identifier_of(path), "name": path, "versionInfo": version, "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION", **({"comment": f"checksum of the module: {checksum}"} if checksum else {}),
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:golang/{escaped}@{urllib.parse.quote(version, safe='.-+')}"}],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=pathlib.Path, required=True, help="OCI archive that the document describes")
    parser.add_argument("--modules", type=pathlib.Path, required=True, help="what `go version -m` printed")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--architecture", required=True)
    options = parser.parse_args()
    name, digest, files = sbom.read_image(options.image, options.architecture)
    contents = [("STATIC_LINK", package(*module)) for module in modules(options.modules.read_text())] + sbom.certificates(files)
    sbom.write(options.output, sbom.frame(name, digest, options.version, f"for {options.architecture}, from what `go version -m` reports", contents))


if __name__ == "__main__":
    main()
