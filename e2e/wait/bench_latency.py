# SPDX-License-Identifier: Apache-2.0
"""Measures the time from the change of the pod's status to the export Secret; reports it without asserting it.

    /usr/bin/python3 -m pytest -s e2e/wait/bench_latency.py      # LONGSHORE_RUNS=100 by default

Two numbers per run: until the Secret exists (seen by a watch of the test, whose delay is included), and until the program has
ended. For comparison: the Go program polls every 30 to 279 seconds.
"""

import os
import statistics
import threading
import time

from wait.harness import Item, ended, wait_for_log

RUNS = int(os.environ.get("LONGSHORE_RUNS", "100"))


def _report(name, seconds):
    seconds = sorted(seconds)
    p99 = seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))]
    print(f"{name}: median {statistics.median(seconds) * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, "
          f"max {seconds[-1] * 1000:.1f} ms over {len(seconds)} runs")


def _one_run(item):
    # As the controller does at the end of a run.
    if item.kube.find("secrets", item.export_name, item.namespace):
        item.kube.delete("secrets", item.export_name, item.namespace)
    process = item.start(flags=["-v", "debug"], last=("", ""))
    wait_for_log(process, "the pod was seen")
    times, watching = {}, threading.Event()

    def watch():
        watcher = item.apiserver.user("latency-watcher", groups=["system:masters"])
        events = watcher.watch("secrets", item.namespace, fieldSelector=f"metadata.name={item.export_name}",
                               resourceVersion=version, timeout=60)
        watching.set()
        for kind, _ in events:
            if kind == "ADDED":
                times["export"] = time.monotonic()
                return

    version = item.kube.list("secrets", item.namespace)["metadata"]["resourceVersion"]
    thread = threading.Thread(target=watch)
    thread.start()
    watching.wait()
    time.sleep(0.1)
    begin = time.monotonic()
    item.end_main()
    process.wait()
    end = time.monotonic()
    ended(process, 0)
    thread.join()
    return times["export"] - begin, end - begin


def test_latency_from_status_to_export(apiserver, namespace):
    item = Item(apiserver, namespace)
    item.write_state({"count": b"1"})
    item.exports.write_text("a: 1")
    runs = [_one_run(item) for _ in range(RUNS)]
    print()
    _report("main's end to export Secret", [export for export, _ in runs])
    _report("main's end to exit of wait", [end for _, end in runs])
