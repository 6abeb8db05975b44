# SPDX-License-Identifier: Apache-2.0
"""Writes docs/fleet-performance.md from the section "fleet"."""

import plot

SIZES = (100, 1000, 10000)


def _number(value, digits=0):
    return f"{value:,.{digits}f}"


def _rows(found):
    """(label, one value for each number of clusters)"""
    def row(label, value, digits=0):
        return label, [_number(value(result), digits) for result in found]

    yield row("memory when idle, MB", lambda r: r["idle"]["rssBytes"] / 1e6)
    yield row("memory per cluster, KB", lambda r: r["idle"]["rssBytes"] / r["clusters"] / 1e3)
    yield row("descriptors when idle", lambda r: r["idle"]["descriptors"])
    yield row("watches per cluster", lambda r: r["idle"]["watches"] / r["clusters"], 1)
    yield row("idle: CPU, % of one core", lambda r: r["idle"]["cpuSeconds"] / r["idle"]["seconds"] * 100, 2)
    yield row("idle: requests to clusters per minute", lambda r: r["idle"]["requests"] / r["idle"]["seconds"] * 60)
    yield row("idle: writes, all clusters and the control plane", lambda r: r["idle"]["writes"] + r["idle"]["controlPlaneWrites"])
    for name, label in (("install", "installation of all modules"), ("rollout", "new version of one module"),
                        ("rotation", "new kubeconfigs of all clusters"), ("restart", "restart until everything is watched")):
        yield row(f"{label}: seconds", lambda r: r[name]["seconds"], 1)
        yield row(f"{label}: CPU seconds", lambda r: r[name]["cpuSeconds"], 1)
        yield row(f"{label}: requests per cluster", lambda r: r[name]["requests"] / r["clusters"], 1)
        yield row(f"{label}: writes per cluster", lambda r: r[name]["writes"] / r["clusters"], 1)
        yield row(f"{label}: writes to the control plane per cluster", lambda r: r[name]["controlPlaneWrites"] / r["clusters"], 1)
        yield row(f"{label}: TLS handshakes", lambda r: r[name]["handshakes"])
        if name in ("install", "rollout"):
            yield row(f"{label}: reads of the registry", lambda r: r[name]["registryReads"])
    yield row("new kubeconfigs: memory grown by, MB", lambda r: r["rotation"]["grownBytes"] / 1e6, 1)
    for name, label in (("latency", "change to status"), ("latencyWithFaults", "the same, 1 % down, 1 % slow, 10 % hanging")):
        yield row(f"{label}: median, ms", lambda r: r[name]["p50Ms"], 1)
        yield row(f"{label}: p99, ms", lambda r: r[name]["p99Ms"], 1)
    yield row("the simulated fleet itself: memory, MB", lambda r: r["fleet"]["rssBytes"] / 1e6)


def page(found, docs):
    sizes = [f"{result['clusters']:,} clusters" for result in found]
    text = ["# Performance with many clusters", "",
            "Written by `make bench` (`e2e/perf/measure_fleet.py`). `longshore lifecycle` manages a [simulated fleet](../e2e/fleet/README.md) on the same machine, which also",
            f"serves the control plane. Every cluster has {found[0]['modules']} modules with {found[0]['objects']} objects together. Counts do not depend on the machine, times do. The",
            "latency is the time from the moment at which a module's Deployment is not available to the status of the Kyma in the control plane.", "",
            "| | " + " | ".join(sizes) + " |", "|---|" + "---:|" * len(found)]
    text += [f"| {label} | " + " | ".join(values) + " |" for label, values in _rows(found)]
    missing = [f"{size:,}" for size in SIZES if size not in [result["clusters"] for result in found]]
    if missing:
        text += ["", f"Not measured yet: {' and '.join(missing)} clusters."]
    for name, title, value in (("fleet-memory", "Resident memory, MB", lambda r: round(r["idle"]["rssBytes"] / 1e6, 1)),
                               ("fleet-cpu", "CPU seconds to install all modules", lambda r: round(r["install"]["cpuSeconds"], 1)),
                               ("fleet-start", "CPU seconds to start with all modules installed", lambda r: round(r["restart"]["cpuSeconds"], 1))):
        (docs / f"{name}.svg").write_text(plot.bars(title, list(zip(sizes, map(value, found)))))
        text += ["", f"![{title}]({name}.svg)"]
    (docs / "fleet-performance.md").write_text("\n".join(text) + "\n")
