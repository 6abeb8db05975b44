# SPDX-License-Identifier: Apache-2.0
"""Prints the results as a table and writes them as a page with plots."""

import functools

import plot
from ship import release

# Measured by the project's maintainers on the Go container deployer (v0.153.0-dev, January 2026) on a machine of the same size, before
# this repository existed. Neither the programs nor the logs of that measurement are part of it, so nothing here reproduces these numbers.
ORIGINAL = {"first": "63", "repeated": "38", "cpu": "112", "runs": "2", "binary": "160 MB", "rss10000": "195", "start10000": "12",
            "endToExport": "2,000 to 45,000", "waiting": "85", "clusterFirst": "about 19 times", "clusterRepeated": "about 12 times"}
# The same for the Go manifest deployer; rate and CPU with its client-side limits lifted.
ORIGINAL_MANIFEST = {"first": "15", "unchanged": "15", "changed": "15", "deletion": "22", "objects": "58", "rate": "33", "cpu": "9.5"}


def _mb(size):
    return f"{size / 1e6:.1f}"


def _programs(found):
    for name, program in found.items():
        if program.get("staticBytes"):
            yield f"{name}, static, bytes", f"{program['staticBytes']:,}", ORIGINAL["binary"]
        yield f"{name}, instructions to start", f"{program.get('staticStartInstructions', program['startInstructions']):,}", ""


def _requests(found):
    for name, counts in found.items():
        yield f"requests, {name} run" if name != "deletion" else "requests, deletion", str(sum(counts.values())), ORIGINAL.get(name, "")


def _controller(found):
    for row in found:
        items = f"{row['items']:,} items" + (f", {row['runs']:,} of them run" if row["runs"] < row["items"] else "")
        yield f"{items}: runs per second", f"{row['runsPerSecond']:.1f}", ORIGINAL["runs"]
        yield f"{items}: relative to the baseline (a bare client)", f"{row['ofTheFloor']:.2f}", ""
        yield f"{items}: CPU per run, ms", f"{row['cpuMsPerRun']:.1f}", ORIGINAL["cpu"]
        yield "  compared to as many bare requests", f"{row['cpuOfBareRequests']:.2f} times", ""
        yield f"{items}: peak RSS, MB", _mb(row["peakBytes"]), ""
        if "cpuMsPerRunOneByOne" in row:
            yield "items one after the other: CPU per run, ms", f"{row['cpuMsPerRunOneByOne']:.1f}", ORIGINAL["cpu"]


def _memory(found):
    for row in found:
        yield (f"RSS with {row['items']:,} finished items, MB", _mb(row["rssBytes"]),
               ORIGINAL["rss10000"] if row["items"] == 10000 else "")
        yield f"CPU to read them, s ({sum(row['requests'].values())} requests)", f"{row['cpuSeconds']:.2f}", ""


def _start(found):
    yield f"start with {found['items']:,} items to the first new pod, s", f"{found['secondsToPod']:.2f}", ORIGINAL["start10000"]
    yield "  compared to reading the list with a bare client", f"{found['ratio']:.2f} times", ""


def _manifest(found):
    for name, counts in found["requests"].items():
        yield (f"manifest items: requests, {name}" + (" job" if name != "deletion" else ""), str(sum(counts.values())),
               ORIGINAL_MANIFEST[name])
    row = found["objects"]
    yield f"{row['objects']} ConfigMaps in one item, s", f"{row['seconds']:.2f}", ORIGINAL_MANIFEST["objects"]
    yield "  compared to creating them with a bare client", f"{row['seconds'] / row['bareSeconds']:.2f} times", ""
    yield "  CPU per object, ms", f"{row['cpuMsPerObject']:.2f}", ""
    row = found["atOnce"]
    items = f"{row['items']:,} manifest items"
    yield f"{items}: jobs per second", f"{row['jobsPerSecond']:.1f}", ORIGINAL_MANIFEST["rate"]
    yield f"{items}: relative to the baseline (a bare client)", f"{row['ofTheFloor']:.2f}", ""
    yield f"{items}: CPU per job, ms", f"{row['cpuMsPerJob']:.2f}", ORIGINAL_MANIFEST["cpu"]
    yield "  compared to as many bare requests", f"{row['cpuOfBareRequests']:.2f} times", ""
    yield f"{items}: peak RSS, MB", _mb(row["peakBytes"]), ""
    row = found["waiting"]
    yield (f"a job beside {row['items']:,} items that wait, compared to a job alone",
           f"{row['secondsBeside'] / row['secondsAlone']:.2f} times", "")
    yield "  requests of that job", str(row["requestsOfJob"]), ""
    yield "  requests per waiting item, from ready to Succeeded", f"{row['requestsToEnd']:.2f}", ""
    for row in found["memory"]:
        yield f"RSS with {row['items']:,} finished manifest items, MB", _mb(row["rssBytes"]), ""


def _wait(found):
    yield "end of main to export, median ms", f"{found['endToExport']['medianMs']:.1f}", ORIGINAL["endToExport"]
    yield "end of main to export, p99 ms", f"{found['endToExport']['p99Ms']:.1f}", ""


def _wait_by_size(found):
    yield "RSS of wait while it waits, MB", _mb(max(row["waitingRssBytes"] for row in found)), ORIGINAL["waiting"]
    for row in found:
        yield f"RSS of wait storing {row['mib']} MiB, MB", _mb(row["storingRssBytes"]), ""
        yield f"  bytes stored compared to a tar.gz of {row['mib']} MiB", f"{row['storedBytes'] / row['tarGzBytes']:.3f} times", ""


def _init_by_size(found):
    for row in found:
        yield f"anonymous memory of init, blueprint of {row['mib']} MiB, MB", _mb(row["blobAnonBytes"]), ""
        yield f"anonymous memory of init, state of {row['mib']} MiB, MB", _mb(row["stateAnonBytes"]), ""


def _cluster(found):
    yield "real cluster: item to result compared to a bare pod", f"{found['first']:.2f} times", ORIGINAL["clusterFirst"]
    yield "real cluster: repeated at once, while the previous pod is deleted", f"{found['repeated']:.2f} times", ORIGINAL["clusterRepeated"]


def _local(found):
    yield "longshore run compared to runc run", f"{found['ratio']:.2f} times", ""


def _walks(found, of="random walks"):
    yield (f"{of}: {found['walks']:,} with {found['faults']:,} faults, {found['crashes']:,} of them kills; failed walks",
           str(found["broken"]), "")


PARTS = {"programs": _programs, "requests": _requests, "controller": _controller, "memory": _memory, "start": _start,
         "manifest": _manifest, "wait": _wait, "waitBySize": _wait_by_size, "initBySize": _init_by_size, "cluster": _cluster, "local": _local,
         "walks": _walks, "manifestWalks": functools.partial(_walks, of="random walks of manifest items")}


def rows(results):
    """(label, our result, result of the Go original if it was measured)"""
    return [row for name, part in PARTS.items() if name in results for row in part(results[name])]


def table(results):
    print(f"{'':55} {'longshore':>15} {'Go original':>16}")
    for what, ours, original in rows(results):
        print(f"{what:55} {ours:>15} {original:>16}")


def _plots(results, docs):
    """Writes the plots and returns the Markdown lines that include them."""
    lines = []

    def show(name, title, pairs):
        (docs / f"{name}.svg").write_text(plot.bars(title, pairs))
        lines.append(f"![{title}]({name}.svg)")

    if "requests" in results:
        show("requests", "API requests per run", [
            ("longshore, first run", sum(results["requests"]["first"].values())), ("Go, first run", int(ORIGINAL["first"])),
            ("longshore, repeated", sum(results["requests"]["repeated"].values())), ("Go, repeated", int(ORIGINAL["repeated"]))])
    if "controller" in results:
        show("cpu", "CPU of the controller for one run, ms", [
            *((f"{row['items']:,} items", round(row["cpuMsPerRun"], 1)) for row in results["controller"]), ("Go", int(ORIGINAL["cpu"]))])
    if "memory" in results:
        show("memory", "Resident memory of the controller, MB", [
            *((f"{row['items']:,} items", round(row["rssBytes"] / 1e6, 1)) for row in results["memory"]),
            ("Go, 10,000 items", int(ORIGINAL["rss10000"]))])
    if "waitBySize" in results:
        show("wait", "Resident memory of wait, MB", [
            ("waiting", round(max(row["waitingRssBytes"] for row in results["waitBySize"]) / 1e6, 1)),
            *((f"storing {row['mib']} MiB", round(row["storingRssBytes"] / 1e6, 1)) for row in results["waitBySize"]),
            ("Go, waiting", int(ORIGINAL["waiting"]))])
    return lines


def images(found):
    """The Markdown lines of the sizes of the images."""
    lines = ["", "## Images", "", "Bytes. The goals are those of the unpacked image: the program and, except in longshore-wait, CA certificates.", "",
             "| image | architecture | program | unpacked | compressed | goal |", "|---|---|---:|---:|---:|---:|"]
    for name, goal in release.SIZE_MAX.items():
        for architecture, sizes in sorted(found.get(name, {}).items()):
            lines.append(f"| {name} | {architecture} | {sizes['programBytes']:,} | {sizes['unpackedBytes']:,} | {sizes['compressedBytes']:,} | {goal:,} |")
    return lines


def replace_images(found, docs):
    """Writes only the sizes of the images into the existing page. They do not depend on the machine or its load, unlike the other figures."""
    file = docs / "performance.md"
    before, heading, after = file.read_text().partition("\n## Images\n")
    if not heading:
        raise SystemExit(f"{file} has no section for images; measure all sections first")
    following = after.find("\n## ")
    file.write_text(before + "\n".join(images(found)) + "\n" + (after[following:] if following >= 0 else ""))


def page(results, docs):
    text = ["# Performance", "",
            "Written by `make bench` (`e2e/perf/run.py`); run it to get the figures of your machine. Counts do not depend on the machine, times do: read",
            "them as ratios. \"The baseline\" is a bare client that sends the same requests to the same API server in the same run. \"A bare pod\" has the same image as",
            "the item and nothing else. The bare client uses the same library for HTTP and JSON, so a ratio to it says how much the controller adds to its requests; to",
            "compare two versions of Longshore, compare the CPU per run.", "",
            "The Go column is not measured by `make bench`. The maintainers measured it once on the Go container deployer (v0.153.0-dev, January 2026) on a machine of",
            "the same size (2 cores, 24 GiB), before this repository existed, and in the same way on the Go manifest deployer; neither the programs nor the logs of that measurement are part of it. Read it as an order of",
            "magnitude. An empty cell means that it was not measured.", "",
            "| | longshore | Go original |", "|---|---:|---:|"]
    text += [f"| {what.strip()} | {ours} | {original} |" for what, ours, original in rows(results)]
    for line in _plots(results, docs):
        text += ["", line]
    if results.get("images"):
        text += images(results["images"])
    requests = {**results.get("requests", {}),
                **{f"manifest item, {name}": counts for name, counts in results.get("manifest", {}).get("requests", {}).items()}}
    if requests:
        text += ["", "## Requests, by verb and resource", ""]
        for name, counts in requests.items():
            text += [f"- {name}: " + ", ".join(f"{count} × {what}" for what, count in sorted(counts.items()))]
    (docs / "performance.md").write_text("\n".join(text) + "\n")
