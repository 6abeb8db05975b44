# SPDX-License-Identifier: Apache-2.0
"""Writes docs/fleet-performance.md from the sections "fleet", "fleetDay" and "connections"."""

import plot

SIZES = (100, 1000, 10000)
COPIED = 5000  # with so many clusters, one is installed and copied
STEPS = (("install", "Installation of all modules", "until all Kymas are Ready"),
         ("rollout", "New version of one module", "until all Kymas report it as Ready"),
         ("rotation", "New kubeconfigs of all clusters, the old ones are refused", "until all clusters are connected again"),
         ("restart", "Cold start", "until the state of all clusters is known"))


def _table(columns, rows):
    """Lines of a table with a column of labels. rows: (label, function of a result, digits). What was not measured is left empty, and rows in which nothing was are
    left out."""
    def cell(value, result, digits):
        try:
            return f"{value(result):,.{digits}f}"
        except KeyError:
            return ""
    yield "| | " + " | ".join(label for label, _ in columns) + " |"
    yield "|---|" + "---:|" * len(columns)
    for label, value, digits in rows:
        cells = [cell(value, result, digits) for _, result in columns]
        if any(cells):
            yield f"| {label} | " + " | ".join(cells) + " |"


def _columns(found):
    return [(f"{result['clusters']:,} clusters", result) for result in found]


def _idle_rows():
    yield "memory, MB", lambda r: r["idle"]["rssBytes"] / 1e6, 0
    yield "memory per cluster, KB", lambda r: r["idle"]["rssBytes"] / r["clusters"] / 1e3, 0
    yield "descriptors", lambda r: r["idle"]["descriptors"], 0
    yield "watches per cluster", lambda r: r["idle"]["watches"] / r["clusters"], 1
    yield "CPU, % of one core", lambda r: r["idle"]["cpuSeconds"] / r["idle"]["seconds"] * 100, 2
    yield "requests to clusters per minute", lambda r: r["idle"]["requests"] / r["idle"]["seconds"] * 60, 0
    yield "writes to clusters and to the control plane", lambda r: r["idle"]["writes"] + r["idle"]["controlPlaneWrites"], 0


def _step_rows(name, until):
    yield f"seconds {until}", lambda r: r[name]["seconds"], 1
    yield "seconds until the last request", lambda r: r[name]["quietSeconds"], 1
    yield "CPU seconds until then", lambda r: r[name]["allCpuSeconds"], 1
    yield "CPU ms per cluster", lambda r: r[name]["allCpuSeconds"] / r["clusters"] * 1e3, 1
    yield f"CPU seconds of the simulated fleet {until}", lambda r: r[name]["fleetCpuSeconds"], 1
    yield "requests per cluster", lambda r: r[name]["requests"] / r["clusters"], 1
    yield "writes per cluster", lambda r: r[name]["writes"] / r["clusters"], 1
    yield "writes to the control plane per cluster", lambda r: r[name]["controlPlaneWrites"] / r["clusters"], 1
    yield "TLS handshakes", lambda r: r[name]["handshakes"], 0
    yield "memory at most, MB", lambda r: r[name]["peakBytes"] / 1e6, 0
    yield "memory 5 s after the last request, MB", lambda r: r[name]["rssBytes"] / 1e6, 0
    yield "memory 30 s after the last request, MB", lambda r: r[name]["trimmedBytes"] / 1e6, 0
    if name in ("install", "rollout"):
        yield "manifests read from the registry, in total", lambda r: r[name]["registryManifests"], 0
        yield "blobs read from the registry, in total", lambda r: r[name]["registryBlobs"], 0


def _latency_rows():
    for name, label in (("latency", "all clusters healthy"), ("latencyWithFaults", "1 % down, 1 % slow (2 s), 10 % hanging")):
        yield f"{label}: median, ms", lambda r, name=name: r[name]["p50Ms"], 1
        yield f"{label}: p99, ms", lambda r, name=name: r[name]["p99Ms"], 1
    yield "p99 with these faults, as a multiple of that without", lambda r: r["latencyWithFaults"]["p99Ms"] / r["latency"]["p99Ms"], 1
    yield "CPU with these faults, % of one core", lambda r: r["latencyWithFaults"]["cpuPercent"], 1


def _day_rows():
    yield "memory after 1 hour, MB", lambda r: r["first"]["rssBytes"] / 1e6, 1
    yield "memory in the end, MB", lambda r: r["last"]["rssBytes"] / 1e6, 1
    yield "descriptors after 1 hour", lambda r: r["first"]["descriptors"], 0
    yield "descriptors in the end", lambda r: r["last"]["descriptors"], 0
    yield "requests per cluster and hour", lambda r: r["requests"] / r["clusters"] / (r["hours"] - 1), 1
    yield "of these, renewals per watch and hour", lambda r: r["renewals"] / r["watches"] / (r["hours"] - 1), 2
    yield "lists", lambda r: r["lists"], 0
    yield "TLS handshakes", lambda r: r["handshakes"], 0
    yield "renewals of the Lease", lambda r: r["leaseRenewals"], 0
    yield "writes to clusters and, but for the Lease, to the control plane", lambda r: r["writes"] + r["controlPlaneWrites"], 0
    yield "seconds that the simulation took", lambda r: r["seconds"], 0


def _connection_rows():
    yield "allocated per cluster, KB", lambda r: r["allocated_bytes"] / 1e3, 1
    yield "resident per cluster, KB", lambda r: r["resident_bytes"] / 1e3, 1
    yield "descriptors per cluster", lambda r: r["descriptors"], 2
    yield "CPU ms per cluster until three watches are open", lambda r: r["cpu_start_ms"], 2
    yield "CPU ms per event", lambda r: r["cpu_event_ms"], 3


def _memory(found):
    """The memory when idle, and the peak of each phase, by the example of the largest fleet."""
    largest = found[-1]
    steps = [(title, largest[name]) for name, title, _ in STEPS if name in largest]
    if not steps or "idle" not in largest:
        return
    yield ""
    yield f"Memory when idle, {largest['idle']['rssBytes'] / 1e6:,.0f} MB with {largest['clusters']:,} clusters, is what remains more than a minute after the last request."
    yield "`longshore lifecycle` gives free memory back to the kernel every 2 seconds while it works, and parsed documents 20 seconds after the work began. Until then"
    yield "it takes more, and a memory limit has to leave room for that."
    if all("peakBytes" in step for _, step in steps):
        yield f"The peak of each phase, as the kernel recorded it (VmHWM), with {largest['clusters']:,} clusters:"
        yield ""
        for title, step in steps:
            yield f"- {title}: {step['peakBytes'] / 1e6:,.0f} MB, {step['peakBytes'] / largest['clusters'] / 1e3:,.0f} KB per cluster"
    else:
        title, step = max(steps, key=lambda found: found[1]["rssBytes"])
        yield f"The highest value is {step['rssBytes'] / 1e6:,.0f} MB, see \"{title}\". It was read 5 seconds after the last request; the peak before was not measured."


def _plots(found, docs):
    """Cost against the number of clusters. Yields references to the pictures."""
    for name, step, title, value in (
            ("fleet-memory", "idle", "Resident memory when idle, MB", lambda r: r["rssBytes"] / 1e6),
            ("fleet-cpu", "install", "CPU seconds to install all modules", lambda r: r["allCpuSeconds"]),
            ("fleet-rollout", "rollout", "CPU seconds of a new version of one module", lambda r: r["allCpuSeconds"]),
            ("fleet-start", "restart", "Seconds of a cold start", lambda r: r["seconds"]),
            ("fleet-latency", "latencyWithFaults", "p99 from change to status with 10 % of the clusters hanging, ms", lambda r: r["p99Ms"])):
        points = [(result["clusters"], value(result[step])) for result in found if step in result]
        if points:
            (docs / f"{name}.svg").write_text(plot.curve(title, "clusters", points))
            yield f"![{title}]({name}.svg)"


def page(results, docs):
    found = results["fleet"]
    text = ["# Performance with many clusters", "",
            "Written by `make bench` (`e2e/perf/measure_fleet.py`). `longshore lifecycle` manages a [simulated fleet](../e2e/fleet/README.md) on the same machine, which also",
            f"serves the control plane. Every cluster has {found[0]['modules']} modules with {found[0]['objects']} objects together. Nothing is spread over time: a new version",
            "is rolled out to all clusters at once. Counts do not depend on the machine, times do: the simulated fleet needs one of the two cores."]
    copied = [f"{result['clusters']:,}" for result in found if result.get("isCopied")]
    if copied:
        text += ["", f"With {' and '.join(copied)} clusters the modules were installed in one cluster, and the simulated fleet copied its objects, its Kyma and its Manifests for all others",
                 "(`/replicate`), with their names in place of its name. The first measurement is a cold start of `longshore lifecycle`, which found nothing to change and",
                 "wrote nothing."]
    if results.get("fleetNote"):  # written into out/bench.json by hand, about the machine during a run
        text += ["", results["fleetNote"]]
    for title, rows in (("Idle", _idle_rows()), *((title, _step_rows(name, until)) for name, title, until in STEPS),
                        ("From a change in one cluster to the status of the Kyma in the control plane", _latency_rows()),
                        ("The simulated fleet itself", [("memory, MB", lambda r: r["fleet"]["rssBytes"] / 1e6, 0)])):
        text += ["", f"## {title}", "", *_table(_columns(found), rows), *(_memory(found) if title == "Idle" else [])]
    missing = [f"{size:,}" for size in SIZES if size not in [result["clusters"] for result in found]]
    if missing:
        text += ["", f"Not measured yet: {' and '.join(missing)} clusters."]
    if not results.get("fleetDay"):
        text += ["", "Not measured yet: 24 hours of simulated time. Empty cells were not measured either."]
    if results.get("fleetDay"):
        hours = results["fleetDay"][0]["hours"]
        text += ["", f"## {hours} hours in which nothing happens", "",
                 "In simulated time (`e2e/bench/simulated_time.c`): while all programs wait, the time until their next timer is skipped. Counts from hour 1 on.", "",
                 *_table(_columns(results["fleetDay"]), _day_rows())]
    if results.get("connections"):
        text += ["", "## One connection with three watches", "", "The HTTP and API client alone, without the lifecycle manager.", "",
                 *_table(_columns(results["connections"]), _connection_rows())]
    text += ["", "## Cost against the number of clusters"]
    for picture in _plots(found, docs):
        text += ["", picture]
    (docs / "fleet-performance.md").write_text("\n".join(text) + "\n")
