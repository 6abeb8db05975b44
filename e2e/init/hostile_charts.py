# SPDX-License-Identifier: Apache-2.0
"""A chart, and archives that init must refuse before helm reads them."""

import gzip
import tarfile

from init.parts import entry, tar_with

CHART_YAML = b"apiVersion: v2\nname: app\nversion: 1.0.0\n"
VALUES = b"color: red\n"
FILES = (entry("app/Chart.yaml", CHART_YAML), entry("app/values.yaml", VALUES), entry("app/templates/a.yaml", b"a: b\n"))


def packed(*entries):
    return gzip.compress(tar_with(*entries), mtime=0)


CHART = packed(*FILES)

HOSTILE = {
    "not an archive": b"<html>",
    "empty": b"",
    "truncated": CHART[:-20],
    "no chart": packed(entry("app/values.yaml", VALUES)),
    "no version": packed(entry("app/Chart.yaml", b"apiVersion: v2\nname: app\n")),
    "two directories": packed(*FILES, entry("other/Chart.yaml", CHART_YAML)),
    "the name of init's template": packed(*FILES, entry("app/templates/longshore-values-for-exports.yaml", b"x")),
    "a way out": packed(*FILES, entry("../escaped", b"x")),
    "an absolute name": packed(*FILES, entry("/etc/escaped", b"x")),
    "a link that leaves": packed(*FILES, entry("app/templates/l", type=tarfile.SYMTYPE, linkname="../../../../etc/passwd")),
    "a device": packed(*FILES, entry("app/d", type=tarfile.CHRTYPE, devmajor=1, devminor=5)),
    "a FIFO": packed(*FILES, entry("app/f", type=tarfile.FIFOTYPE)),
    "a bomb": packed(*FILES, *(entry(f"app/{i}", b"\0" * 8_000_000) for i in range(3))),
    "a large file": packed(*FILES, entry("app/large", bytes(range(256)) * 40_000)),
    "many files": packed(*FILES, *(entry(f"app/{i}", b"") for i in range(10_001))),
}
