#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: counts and ratios of one run on one machine, as a table, as out/bench.json and as docs/performance.md.

    run.py [--quick] [SECTION ...]      sections: programs, requests, controller, memory, wait, local
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

from bench import leftovers, process  # noqa: E402 (the path comes first)
import measure_controller  # noqa: E402
import measure_local  # noqa: E402
import measure_programs  # noqa: E402
import measure_wait  # noqa: E402
import report  # noqa: E402

SECTIONS = {
    "programs": measure_programs.programs,
    "requests": measure_controller.requests,
    "controller": measure_controller.throughput,
    "memory": measure_controller.memory,
    "wait": measure_wait.latency,
    "local": measure_local.overhead,
}


def main():
    quick = "--quick" in sys.argv
    wanted = [name for name in sys.argv[1:] if name in SECTIONS] or list(SECTIONS)
    unknown = [name for name in sys.argv[1:] if name != "--quick" and name not in SECTIONS]
    if unknown:
        sys.exit(f"run.py: no section {' '.join(unknown)}; there are {' '.join(SECTIONS)}")
    leftovers.clean()
    out = HERE.parents[1] / "out"
    out.mkdir(exist_ok=True)
    file = out / "bench.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    try:
        for name in wanted:
            print(f"measuring: {name}", file=sys.stderr)
            results[name] = SECTIONS[name](quick)
            file.write_text(json.dumps(results, indent=1))
    finally:
        process.stop_all()
    report.table(results)
    if not quick:
        report.page(results, HERE.parents[1] / "docs")


if __name__ == "__main__":
    main()
