#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: measures counts and ratios on this machine and writes them as a table, to out/bench.json,
docs/performance.md and docs/fleet-performance.md.

    run.py [--quick] [--page] [--clusters N,N] [SECTION ...]

--quick measures everything with small numbers and writes no page. --page measures nothing and writes the pages from out/bench.json.
--clusters selects the sizes of the sections "fleet" and "fleetDay"; results of other sizes are kept. What has been measured is written at once, and a section
that fails does not prevent the others. "images" alone replaces only its part of docs/performance.md.
"""

import argparse
import json
import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

from bench import leftovers, process  # noqa: E402 (the path comes first)
import measure_cluster  # noqa: E402
import measure_controller  # noqa: E402
import measure_connections  # noqa: E402
import measure_fleet  # noqa: E402
import measure_fleet_day  # noqa: E402
import measure_local  # noqa: E402
import measure_manifest  # noqa: E402
import measure_programs  # noqa: E402
import measure_sizes  # noqa: E402
import measure_throughput  # noqa: E402
import measure_wait  # noqa: E402
import measure_walks  # noqa: E402
import report  # noqa: E402
import report_fleet  # noqa: E402

SECTIONS = {
    "programs": measure_programs.programs,
    "images": measure_programs.images,
    "requests": measure_controller.requests,
    "controller": measure_throughput.throughput,
    "memory": measure_controller.memory,
    "start": measure_controller.cold_start,
    "manifest": measure_manifest.manifest,
    "wait": measure_wait.latency,
    "waitBySize": measure_sizes.wait_by_size,
    "initBySize": measure_sizes.init_by_size,
    "cluster": measure_cluster.latency,
    "local": measure_local.overhead,
    "connections": measure_connections.connections,
    "walks": measure_walks.walks,
    "manifestWalks": measure_walks.manifest_walks,
}
# These yield their results so far, again and again.
LONG_SECTIONS = {
    "fleet": measure_fleet.fleet,
    "fleetDay": measure_fleet_day.days,
}


def sizes(text):
    return [int(size) for size in text.split(",")]


def measure(name, options, results):
    """Yields the result of a section, for a long one also what is known in the meantime."""
    if name in LONG_SECTIONS:
        yield from LONG_SECTIONS[name](options.quick, options.clusters, results.get(name, []))
    else:
        yield SECTIONS[name](options.quick)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--clusters", type=sizes, default=[], metavar="N,N")
    names = [*SECTIONS, *LONG_SECTIONS]
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=" ".join(names))
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in names]
    if unknown:
        parser.error(f"unknown section {' '.join(unknown)}; the sections are {' '.join(names)}")
    leftovers.clean()
    out = HERE.parents[1] / "out"
    out.mkdir(exist_ok=True)
    file = out / "bench.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    failed = []
    try:
        for name in [] if options.page else options.sections or names:
            print(f"measuring: {name}", file=sys.stderr)
            try:
                for results[name] in measure(name, options, results):
                    file.write_text(json.dumps(results, indent=1))
            except Exception:  # the others are measured nevertheless
                traceback.print_exc()
                failed.append(name)
    finally:
        process.stop_all()
    report.table(results)
    if not options.quick:
        if options.sections == ["images"] and not failed:
            report.replace_images(results["images"], HERE.parents[1] / "docs")
        elif any(name in report.PARTS for name in (results if options.page else options.sections or names)):
            report.page(results, HERE.parents[1] / "docs")
        if results.get("fleet"):
            report_fleet.page(results, HERE.parents[1] / "docs")
    if failed:
        sys.exit(f"failed: {' '.join(failed)}")


if __name__ == "__main__":
    main()
