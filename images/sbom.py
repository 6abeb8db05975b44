# SPDX-License-Identifier: Apache-2.0
"""Writes the SPDX document of an image from the linker map of its program.

The program is one static file in which a scanner finds no packages, so this list comes from the map. The build fails if the
licence of a linked library is not listed here.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import tarfile
import urllib.parse

# The licence of each Debian source package, as far as the parts apply that we link.
LICENCES = {
    "bzip2": "bzip2-1.0.6",
    "c-ares": "MIT",
    "ca-certificates": "MPL-2.0",
    "curl": "curl",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12-cross": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "jansson": "MIT",
    "libarchive": "BSD-2-Clause",
    "libcap2": "BSD-3-Clause OR GPL-2.0-only",
    "libseccomp": "LGPL-2.1-only",
    "libyaml": "MIT",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "nghttp2": "MIT",
    "openssl": "Apache-2.0",
    "xz-utils": "LicenseRef-Public-Domain",
    "zlib": "Zlib",
}
PUBLIC_DOMAIN = {"licenseId": "LicenseRef-Public-Domain", "extractedText": "liblzma is in the public domain."}


def linked_files(map_text):
    """The archives of linked members, and the single object files, in a map file of GNU ld."""
    members, _, rest = map_text.partition("\nMemory Configuration")
    head, _, members = members.partition("Archive member included to satisfy reference by file (symbol)")
    if head.strip() or not rest:
        raise ValueError("this is not a map file of GNU ld")
    # Names may contain spaces. Lines that start with a space say which file refers to the member.
    found = {match.group(1) for match in re.finditer(r"^(\S.*?\.a)\(", members, re.MULTILINE)}
    found |= {match.group(1) for match in re.finditer(r"^LOAD (.+\.o)$", rest, re.MULTILINE)}
    return sorted(found)


def query(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def packages_of(paths):
    """The Debian packages that contain these files. One query for all, because each query reads the file lists of all packages."""
    lines = query("dpkg", "-S", *paths).splitlines() if paths else []
    return sorted({line.partition(": ")[0].partition(":")[0] for line in lines})


def debian_facts(package):
    fields = query("dpkg-query", "-W", "-f", "${source:Package}\t${source:Version}\t${Version}\t${Architecture}\n", package).splitlines()[0]
    source, source_version, version, architecture = fields.split("\t")
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
    return {"name": package, "source": source, "source_version": source_version, "version": version,
            "architecture": architecture, "text": text}


def lean_facts(directory):
    """The libraries that we build from Debian's sources: {path of the archive: facts}."""
    facts = {}
    for line in (directory / "sources.txt").read_text().splitlines():
        archive, source, version = line.split()
        facts[str(directory / "lib" / archive)] = {
            "name": source, "source": source, "source_version": version, "version": version, "architecture": "source",
            "text": (directory / "licenses" / archive.removesuffix(".a")).read_text(errors="replace")}
    return facts


def sysroot_facts(sysroot, architecture):
    """The packages that images/sysroot unpacked: {path of a file: facts}. The texts are those of the same packages on this machine."""
    facts = {}
    for line in (sysroot / "packages.txt").read_text().splitlines() if sysroot else []:
        path, name, source, source_version, version = line.split("\t")
        facts[str(sysroot / path)] = debian_facts(name) | {"source": source, "source_version": source_version, "version": version, "architecture": architecture}
    return facts


def libraries_of(map_path, directory, sysroot, architecture):
    lean = lean_facts(directory) | sysroot_facts(sysroot, architecture)
    # Relative paths are our own files in the build directory.
    linked = {os.path.realpath(path) for path in linked_files(map_path.read_text(errors="replace")) if os.path.isabs(path)}
    found = {facts["name"]: facts for path, facts in lean.items() if path in linked}
    for name in packages_of(sorted(linked - set(lean))):
        found[name] = debian_facts(name)
    return [found[name] for name in sorted(found)]


def licence_of(facts):
    if facts["source"] not in LICENCES:
        raise SystemExit(f"sbom: '{facts['source']}' is linked but its licence is unknown; check it and add it to images/sbom.py")
    return LICENCES[facts["source"]]


def purl(facts):
    version = urllib.parse.quote(facts["version"], safe="~.-")
    more = f"arch={facts['architecture']}"
    if facts["name"] != facts["source"]:
        more += "&upstream=" + urllib.parse.quote(f"{facts['source']}@{facts['source_version']}", safe="~.-")
    return f"pkg:deb/debian/{facts['name']}@{version}?{more}"


def package(identifier, facts):
    return {
        "SPDXID": identifier, "name": facts["name"], "versionInfo": facts["version"], "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "sourceInfo": f"{facts['source']} {facts['source_version']}",
        "licenseConcluded": licence_of(facts), "licenseDeclared": licence_of(facts), "copyrightText": "NOASSERTION",
        "attributionTexts": [facts["text"]],
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl(facts)}],
    }


def read_image(path, architecture):
    """Image name, manifest digest and file names of one of our OCI archives, for one architecture."""
    with tarfile.open(path) as archive:
        def blob(digest):
            return archive.extractfile("blobs/sha256/" + digest.partition(":")[2])
        described = json.load(archive.extractfile("index.json"))["manifests"][0]
        digest, manifest = described["digest"], json.load(blob(described["digest"]))
        if "manifests" in manifest:
            digest, = (image["digest"] for image in manifest["manifests"] if image["platform"]["architecture"] == architecture)
            manifest = json.load(blob(digest))
        with tarfile.open(fileobj=blob(manifest["layers"][0]["digest"]), mode="r:gz") as layer:
            names = layer.getnames()
    return described["annotations"]["io.containerd.image.name"], digest, names


def frame(name, digest, version, comment, contents):
    """A document about an image. contents: pairs of a relation and a package."""
    title = name.rpartition(":")[0].rpartition("/")[2]
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    image = {
        "SPDXID": "SPDXRef-Image", "name": title, "versionInfo": version, "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "primaryPackagePurpose": "CONTAINER",
        "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest.partition(":")[2]}],
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image")]
    relations += [("SPDXRef-Image", relation, part["SPDXID"]) for relation, part in contents]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{title} {version}",
        "documentNamespace": f"urn:longshore:spdx:{title}:{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: images/sbom.py"], "comment": comment},
        "packages": [image] + [part for _, part in contents], "hasExtractedLicensingInfos": [],
        "relationships": [{"spdxElementId": first, "relationshipType": kind, "relatedSpdxElement": second} for first, kind, second in relations],
    }


def identifier_of(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def certificates(files):
    """The package with the CA certificates, if the image contains them."""
    facts = [debian_facts("ca-certificates")] if "etc/ssl/certs/ca-certificates.crt" in files else []
    return [("CONTAINS", package(identifier_of(fact["name"]), fact)) for fact in facts]


def write(path, document):
    aside = path.with_name(path.name + ".partial")
    aside.write_text(json.dumps(document, indent=1) + "\n")
    aside.replace(path)


def document(options):
    name, digest, files = read_image(options.image, options.architecture)
    linked = libraries_of(options.map, options.libraries, options.sysroot, options.architecture)
    contents = [("STATIC_LINK", package(identifier_of(facts["name"]), facts)) for facts in linked] + certificates(files)
    made = frame(name, digest, options.version, f"for {options.architecture}, from what the linker's map names", contents)
    if any(licence_of(facts) == PUBLIC_DOMAIN["licenseId"] for facts in linked):
        made["hasExtractedLicensingInfos"] = [PUBLIC_DOMAIN]
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--image", type=pathlib.Path, required=True, help="OCI archive that the document describes")
    parser.add_argument("--map", type=pathlib.Path, required=True, help="linker map of its program")
    parser.add_argument("--libraries", type=pathlib.Path, required=True, help="directory printed by images/libraries")
    parser.add_argument("--architecture", required=True, help="as Debian names it")
    parser.add_argument("--sysroot", type=lambda text: pathlib.Path(text) if text else None, help="directory printed by images/sysroot; empty: none")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    options = parser.parse_args()
    write(options.output, document(options))


if __name__ == "__main__":
    main()
