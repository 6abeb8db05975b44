# SPDX-License-Identifier: Apache-2.0
"""Measures wait: the time from the end of main to the export Secret, and the resources that it uses while it waits."""

import statistics

from bench.apiserver import ApiServer
from wait import bench_latency
from wait.harness import Item


def _spread(seconds):
    ordered = sorted(seconds)
    return {"medianMs": statistics.median(ordered) * 1000, "p99Ms": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000}


def latency(quick):
    server = ApiServer()
    try:
        server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench-wait"}})
        item = Item(server, "bench-wait")
        item.write_state({"count": b"1"})
        item.exports.write_text("a: 1")
        runs = [bench_latency._one_run(item) for _ in range(5 if quick else 100)]
    finally:
        server.close()
    return {"runs": len(runs), "endToExport": _spread([export for export, _ in runs]),
            "endToExit": _spread([end for _, end in runs])}
