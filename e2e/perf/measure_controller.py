# SPDX-License-Identifier: Apache-2.0
"""Measures the controller against a real API server: requests per run, memory by number of items, start with many items."""

import time

from bench.kube import DEPLOYITEMS
from bench.proc import cpu_seconds, memory as memory_of
from bench.waiting import wait_until
from environment import TARGET, counted, create_items, harness, settled, world


def requests(quick):
    """Requests of the controller by verb and resource, for an item with a target Secret, a context, state and an export."""
    with world() as made:
        made.kubelet.behaviour = harness.with_export_and_state
        controller = made.start()
        made.item("first")
        made.finished("first")
        made.wait_for_cleanup()
        result = {}
        for name, act in (("first", lambda: made.item("counted", target=TARGET)),
                          ("repeated", lambda: made.trigger("counted", "job-2"))):
            mark = made.apiserver.audit.mark()
            act()
            made.finished("counted", "job-1" if name == "first" else "job-2")
            made.wait_for_cleanup()
            result[name] = counted(made, controller, mark)
        mark = made.apiserver.audit.mark()
        made.delete("counted", "job-3")
        made.wait_until_deleted("counted")
        time.sleep(1)  # include requests that follow the removal of the finalizer
        result["deletion"] = counted(made, controller, mark)
        return result


def memory(quick):
    """Resident memory with finished items, the requests for them at start, and the CPU time until they are read."""
    rows = []
    with world() as made:
        made.kubelet.close()
        there = 0
        for count in (0, 100) if quick else (0, 1000, 10000, 50000):
            if count:
                create_items(made, "done", count - there, there, finished=True)
            there = count
            mark = made.apiserver.audit.mark()
            controller = made.start(verbosity="error")
            settled(made, controller, mark)
            used = memory_of(controller.pid)
            rows.append({"items": count, "rssBytes": used["VmRSS"], "cpuSeconds": cpu_seconds(controller.pid),
                         "peakBytes": used["VmHWM"], "requests": counted(made, controller, mark)})
            controller.stop()
            made.controllers.remove(controller)
    return rows


def _read_all(kube, namespace):
    """How long a bare client takes to read the list, page by page, without processing it."""
    begin = time.monotonic()
    query = {"limit": 500}
    while True:
        answer = kube.list(DEPLOYITEMS, namespace, **query)
        token = answer["metadata"].get("continue")
        if not token:
            return time.monotonic() - begin
        query["continue"] = token


def cold_start(quick):
    """The time from the start of the process, with finished items, to the pod of an item that was triggered before."""
    count = 100 if quick else 10000
    with world() as made:
        made.kubelet.behaviour = harness.ignore
        create_items(made, "done", count, finished=True)
        made.item("new")
        bare = _read_all(made.kube, made.namespace)
        mark = made.apiserver.audit.mark()
        begin = time.monotonic()
        controller = made.start(verbosity="error")
        wait_until(made.pods, "the pod of the new item", 300, 0.005)
        seconds = time.monotonic() - begin
        return {"items": count, "secondsToPod": seconds, "bareListSeconds": bare, "ratio": seconds / bare,
                "requests": counted(made, controller, mark), "cpuSeconds": cpu_seconds(controller.pid)}
