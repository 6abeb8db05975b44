# SPDX-License-Identifier: Apache-2.0
"""The controller against a real API server and a test kubelet that finishes pods at once."""

import collections
import contextlib
import importlib.util
import pathlib
import time

from bench.apiserver import ApiServer
from bench.audit import resource_of
from bench.kube import DEPLOYITEMS

_spec = importlib.util.spec_from_file_location(
    "controller_harness", pathlib.Path(__file__).resolve().parents[1] / "api/controller/harness.py")
harness = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(harness)


@contextlib.contextmanager
def world():
    server = ApiServer()
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}})
    made = harness.World(server, "bench")
    try:
        yield made
    finally:
        made.close()
        server.close()


def _counted(made, controller, mark):
    found = made.apiserver.audit.entries(mark, user=controller.user)
    return dict(collections.Counter(f"{e['verb']} {resource_of(e)}" for e in found if e["verb"] != "watch"))


def requests(quick):
    """Requests of the controller by verb and resource; an item with target Secret, context, state and export."""
    with world() as made:
        made.kubelet.behaviour = harness.with_export_and_state
        made.secret("kubeconfig", {"kubeconfig": "apiVersion: v1\nkind: Config\nclusters: []\n"})
        made.target("cluster", secret="kubeconfig")
        controller = made.start()
        made.item("first")
        made.finished("first")
        made.quiet()
        result = {}
        for name, act in (("first", lambda: made.item("counted", target="cluster")),
                          ("repeated", lambda: made.trigger("counted", "job-2"))):
            mark = made.apiserver.audit.mark()
            act()
            made.finished("counted", "job-1" if name == "first" else "job-2")
            made.quiet()
            result[name] = _counted(made, controller, mark)
        mark = made.apiserver.audit.mark()
        made.delete("counted", "job-3")
        made.gone("counted")
        time.sleep(1)  # what comes after the finalizer would be counted too
        result["deletion"] = _counted(made, controller, mark)
        return result


def _cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _rss_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _floor(made, count):
    """The writes of a run, by a bare client with the bench's connections, on the same API server: runs a second."""
    secrets = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"floor-{n}", "namespace": made.host},
                "data": {"a": "YQ=="}} for n in range(count)]
    begin = time.monotonic()
    made.kube.create_many(secrets, made.host)
    return count / (time.monotonic() - begin)


def throughput(quick):
    """Runs a second beside the floor: requests a second of a bare client divided by the requests of a run."""
    rows = []
    for count in (50,) if quick else (100, 1000):
        with world() as made:
            controller = made.start(verbosity="error")
            made.item("warm")
            made.finished("warm")
            made.quiet()
            writes = _floor(made, 500)
            mark = made.apiserver.audit.mark()
            cpu = _cpu_seconds(controller.pid)
            for number in range(count):
                made.item(f"item-{number}", job=None)
            begin = time.monotonic()
            for number in range(count):
                made.trigger(f"item-{number}", "job-1")
            for number in range(count):
                made.finished(f"item-{number}", timeout=600)
            seconds = time.monotonic() - begin
            sent = len([e for e in made.apiserver.audit.entries(mark, user=controller.user) if e["verb"] != "watch"])
            rows.append({"items": count, "runsPerSecond": count / seconds, "floorRequestsPerSecond": writes,
                         "requestsPerRun": sent / count,
                         "cpuMsPerRun": (_cpu_seconds(controller.pid) - cpu) * 1000 / count})
    return rows


def memory(quick):
    """Resident memory with finished items, and the requests that they cost at start."""
    rows = []
    with world() as made:
        made.kubelet.close()
        there = 0
        for count in (0, 100) if quick else (0, 1000, 10000):
            items = [{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
                      "metadata": {"name": f"done-{n}", "namespace": made.namespace},
                      "spec": {"type": harness.TYPE, "config": {"apiVersion": f"{harness.GROUP}/v1alpha1",
                                                                "kind": "ProviderConfiguration", "image": "example.com/a:1"}}}
                     for n in range(there, count)]
            made.kube.create_many(items, made.namespace)
            there = count
            mark = made.apiserver.audit.mark()
            controller = made.start(verbosity="debug")
            _settled(made, controller, mark)
            rows.append({"items": count, "rssBytes": _rss_bytes(controller.pid), "cpuSeconds": _cpu_seconds(controller.pid),
                         "requests": _counted(made, controller, mark)})
            controller.stop()
            made.controllers.remove(controller)
    return rows


def _settled(made, controller, mark):
    """The list is read once the watch on items was opened and no request came for a second."""
    deadline = time.monotonic() + 120
    seen = -1
    while time.monotonic() < deadline:
        entries = made.apiserver.audit.entries(mark, user=controller.user)
        watching = any(e["verb"] == "watch" and resource_of(e) == DEPLOYITEMS.rpartition("/")[2] for e in entries)
        if watching and len(entries) == seen:
            return
        seen = len(entries)
        time.sleep(1)
    raise TimeoutError("the controller has not read its list")
