# SPDX-License-Identifier: Apache-2.0
"""Writes what the files of a release were made from, as an in-toto statement with SLSA provenance, and in a signed DSSE envelope if there is a key."""

import argparse
import datetime
import hashlib
import json
import os
import pathlib

import signature

PREDICATE = "https://slsa.dev/provenance/v1"


def statement(directory, options):
    files = sorted(path for path in directory.iterdir() if path.is_file())
    # The time of the commit: the statement is as reproducible as the files.
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "_type": "https://in-toto.io/Statement/v1", "predicateType": PREDICATE,
        "subject": [{"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}} for path in files],
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:longshore:make-release:v1",
                "externalParameters": {"version": options.version},
                "internalParameters": {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "0")},
                "resolvedDependencies": [{"uri": "urn:longshore:source", "digest": {"gitCommit": options.revision}}] +
                                        [{"uri": uri} for uri in options.packages.read_text().splitlines()]},
            "runDetails": {"builder": {"id": "urn:longshore:images/release"}, "metadata": {"startedOn": when, "finishedOn": when}}},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--directory", type=pathlib.Path, required=True, help="the files of the release; the result is written there, too")
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", required=True, help="commit")
    parser.add_argument("--packages", type=pathlib.Path, required=True, help="file with a package URL in each line")
    parser.add_argument("--key", type=pathlib.Path, help="private key (PEM) that signs the statement")
    options = parser.parse_args()
    text = json.dumps(statement(options.directory, options), indent=1).encode() + b"\n"
    (options.directory / "provenance.json").write_bytes(text)
    if options.key:
        (options.directory / "provenance.intoto.jsonl").write_text(signature.envelope(text, options.key))


if __name__ == "__main__":
    main()
