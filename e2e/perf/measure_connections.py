# SPDX-License-Identifier: Apache-2.0
"""Measures what a cluster with three watches costs common/net and common/kube alone, without the lifecycle manager."""

import json
import subprocess

from bench.fleet import BUILD

PROGRAM = BUILD / "common" / "kube" / "many_clusters_bench"
SIZES = (100, 1000, 5000)  # a server in another process: each side needs one descriptor for a cluster


def connections(quick):
    """Per cluster: allocated and resident bytes, descriptors, CPU time until three watches are synced, CPU time of an event."""
    return [json.loads(subprocess.run([PROGRAM, str(size), "100" if quick else "1000"], stdout=subprocess.PIPE, text=True, check=True).stdout)
            for size in ((10,) if quick else SIZES)]
