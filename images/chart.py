# SPDX-License-Identifier: Apache-2.0
"""Packages a chart: NAME-VERSION.tgz as `helm package` writes it, and an OCI archive with the artifact that `helm push` stores. Links, to the
library chart for example, are replaced by what they refer to. The same files and SOURCE_DATE_EPOCH give the same bytes."""

import argparse
import gzip
import os
import pathlib
import re

import oci_archive
import yaml

CONFIG = "application/vnd.cncf.helm.config.v1+json"
CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def with_version(text, version):
    """Chart.yaml with this version: the only place where it is written down is images/version."""
    text = re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE)
    return re.sub(r"^appVersion: .*$", f"appVersion: v{version}", text, flags=re.MULTILINE)


def files_of(directory):
    """All files below a chart, through links, without hidden ones other than .helmignore."""
    for parent, folders, names in os.walk(directory, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if not name.startswith(".") or name == ".helmignore":
                yield pathlib.Path(parent) / name


def package(directory, version, time):
    """The tgz, and the metadata of the chart."""
    archive = oci_archive.Tar(time)
    metadata = None
    for path in files_of(directory):
        data = path.read_bytes()
        if path.name == "Chart.yaml":
            data = with_version(data.decode(), version).encode()
            if path.parent == directory:
                metadata = yaml.safe_load(data)
        archive.add(f"{metadata_name(directory)}/{path.relative_to(directory)}", data, 0o644)
    return gzip.compress(archive.bytes(directories=False), 9, mtime=0), metadata


def metadata_name(directory):
    return yaml.safe_load((directory / "Chart.yaml").read_text())["name"]


def write_artifact(path, name, content, metadata, time, key):
    config = oci_archive.as_json(metadata)
    prefix = oci_archive.ANNOTATION
    manifest = oci_archive.as_json({
        "schemaVersion": 2, "mediaType": oci_archive.MANIFEST, "config": oci_archive.descriptor(config, CONFIG),
        "layers": [oci_archive.descriptor(content, CONTENT)],
        "annotations": {prefix + "title": metadata["name"], prefix + "description": metadata["description"], prefix + "version": metadata["version"]}})
    layout = oci_archive.Layout(time)
    layout.add(manifest, config, content)
    layout.tag(oci_archive.descriptor(manifest, oci_archive.MANIFEST), f"{name}:{metadata['version']}")
    if key:
        layout.sign(f"{name}:{metadata['version']}", oci_archive.digest_of(manifest), key)
    layout.write(path)
    print(f"{name} {oci_archive.digest_of(manifest)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chart", type=pathlib.Path, required=True, help="directory of the chart")
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="directory to write to")
    parser.add_argument("--prefix", default="localhost/", help="prefix of the name of the artifact")
    parser.add_argument("--key", type=pathlib.Path, help="private key (PEM) that signs the artifact")
    options = parser.parse_args()
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    content, metadata = package(options.chart, options.version, time)
    name = f"{metadata['name']}-{options.version}"
    (options.output / f"{name}.tgz").write_bytes(content)
    write_artifact(options.output / f"{name}.oci.tar", options.prefix + metadata["name"], content, metadata, time, options.key)


if __name__ == "__main__":
    main()
