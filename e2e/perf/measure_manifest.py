# SPDX-License-Identifier: Apache-2.0
"""Measures manifest items against a real API server, which is Landscaper's cluster and the target cluster in one: so a bare client can
send the same requests to the same server."""

import collections
import datetime
import statistics

from bench import load, ports
from bench.audit import resource_of
from bench.metrics import runs_ended
from bench.proc import cpu_seconds, memory as memory_of
from bench.waiting import wait_until
from environment import children_cpu, manifest_harness, manifest_world, settled

managed = manifest_harness.managed
# As many as common/apply sends at the same time for one item, and the engine for all items of a cluster.
PARALLEL = 16


def _counts(made, controller, run):
    """The requests that run() causes. The audit log may have the last of them a moment after their effect is seen."""
    ours, theirs = made.count(controller, lambda: (run(), settled(made, controller, 0)))
    return dict(collections.Counter(ours + theirs))


def _repeat(made, requests, count, **more):
    done = load.repeat(made.apiserver, requests, count, **more)
    assert done["failed"] == 0, done
    return done["seconds"]


def _warm(made):
    """A controller that has finished a job, and so knows the kinds of the cluster."""
    address = f"127.0.0.1:{ports.free_port()}"
    controller = made.start(verbosity="error", arguments=[f"--metrics-address={address}"])
    controller.metrics_address = address
    made.deploy("warm", [managed(made.config("warm"))])
    made.succeeded("warm")
    return controller


def _job_seconds(made, mark, controller, name):
    """From the request that triggers the job of an item to the last write of the controller, by the clock of the API server."""
    def at(entry):
        return datetime.datetime.fromisoformat(entry["stageTimestamp"].replace("Z", "+00:00"))

    writes = [e for e in made.apiserver.audit.entries(mark, verb="patch", name=name) if resource_of(e) == "deployitems/status"]
    triggers = [e for e in writes if e["user"]["username"] != controller.user]
    ours = [e for e in writes if e["user"]["username"] == controller.user]
    return (at(ours[-1]) - at(triggers[0])).total_seconds()


def _requests(made, controller):
    """Requests by verb and resource, of an item with one object, without watches and the lists for them."""
    def run(begin, job):
        def act():
            begin()
            made.succeeded("counted", job)
        return _counts(made, controller, act)

    changed = [managed(made.config("counted", data={"a": "2"}))]
    return {
        "first": run(lambda: made.deploy("counted", [managed(made.config("counted"))]), "job-1"),
        "unchanged": run(lambda: made.trigger("counted", "job-2"), "job-2"),
        "changed": run(lambda: made.update("counted", changed, job="job-3"), "job-3"),
        "deletion": _counts(made, controller, lambda: made.removed("counted")),
    }


def _objects(made, controller, count, rounds):
    """One item with many objects, compared to a client that creates as many in the same way."""
    times, cpu = [], cpu_seconds(controller.pid)
    for turn in range(rounds):
        mark = made.apiserver.audit.mark()
        made.deploy(f"many-{turn}", [managed(made.config(f"many-{turn}-{n}")) for n in range(count)])
        made.succeeded(f"many-{turn}", timeout=600)
        times.append(_job_seconds(made, mark, controller, f"many-{turn}"))
    cpu = cpu_seconds(controller.pid) - cpu
    bare = [_repeat(made, [load.request("create", "configmaps", made.space, body=made.config(f"bare-{turn}-{load.N}"))], count,
                    width=PARALLEL) for turn in range(rounds)]
    return {"objects": count, "seconds": statistics.median(times), "bareSeconds": statistics.median(bare),
            "cpuMsPerObject": cpu * 1000 / count / rounds}


def _at_once(made, controller, count):
    name = f"item-{load.N}"
    _repeat(made, [made.create_request(name, [managed(made.config(name))])], count)
    _repeat(made, [made.create_request(f"bare-{load.N}")], count)
    ended, cpu, mark = runs_ended(controller.metrics_address), cpu_seconds(controller.pid), made.apiserver.audit.mark()
    _repeat(made, [made.trigger_request(name)], count, width=8)
    wait_until(lambda: runs_ended(controller.metrics_address) >= ended + count, f"{count} jobs", 1800, 0.1)
    cpu = cpu_seconds(controller.pid) - cpu
    writes = [e["stageTimestamp"] for e in made.apiserver.audit.entries(mark, verb="patch") if resource_of(e) == "deployitems/status"]
    begin, end = (datetime.datetime.fromisoformat(t.replace("Z", "+00:00")) for t in (min(writes), max(writes)))
    seconds = (end - begin).total_seconds()
    bare_cpu = children_cpu()
    # Includes the triggers, which go to the same server while the controller works.
    bare = _repeat(made, [made.trigger_request(f"bare-{load.N}"), *made.bare_job(f"bare-{load.N}", f"bare-{load.N}")], count,
                   width=PARALLEL)
    bare_cpu = (children_cpu() - bare_cpu) * 5 / 6
    return {"items": count, "jobsPerSecond": count / seconds, "ofTheFloor": bare / seconds, "cpuMsPerJob": cpu * 1000 / count,
            "cpuOfBareRequests": cpu / bare_cpu, "peakBytes": memory_of(controller.pid)["VmHWM"]}


def _other_job(made, controller, label, rounds):
    """The median time of a job, and its requests."""
    times, requests = [], 0
    for turn in range(rounds):
        name, mark = f"{label}-{turn}", made.apiserver.audit.mark()
        found = _counts(made, controller, lambda: (made.deploy(name, [managed(made.config(name))]), made.succeeded(name)))
        times.append(_job_seconds(made, mark, controller, name))
        requests = max(requests, sum(found.values()))
    return statistics.median(times), requests


def _waiting(made, controller, count, rounds):
    """Items that wait, a job that runs meanwhile, and what the event that all of them wait for costs."""
    alone, _ = _other_job(made, controller, "alone", rounds)
    made.create(made.config("flag", data={"ready": "no"}))
    check = {"custom": [{"name": "flag", "requirements": [{"jsonPath": ".data.ready", "operator": "==", "values": [{"value": "yes"}]}],
                         "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "flag", "namespace": made.space}]}]}
    name = f"waiting-{load.N}"
    _repeat(made, [made.create_request(name, [managed(made.config(name))], readinessChecks=check)], count)
    _repeat(made, [made.trigger_request(name)], count)
    wait_until(lambda: sum(thing.startswith("waiting-") for thing in made.names()) == count, "all objects", 300, 0.5)
    settled(made, controller, 0, quiet=6)
    beside, requests = _other_job(made, controller, "beside", rounds)
    settled(made, controller, 0, quiet=6)
    ended, cpu = runs_ended(controller.metrics_address), cpu_seconds(controller.pid)

    def release():
        made.remote.patch("configmaps", "flag", {"data": {"ready": "yes"}}, made.space)
        wait_until(lambda: runs_ended(controller.metrics_address) >= ended + count, "the end of the waiting items", 600, 0.1)

    counts = _counts(made, controller, release)
    return {"items": count, "secondsAlone": alone, "secondsBeside": beside, "requestsOfJob": requests,
            "requestsToEnd": sum(counts.values()) / count, "cpuMsToEnd": (cpu_seconds(controller.pid) - cpu) * 1000 / count}


def _memory(made, count):
    """Resident memory with finished items, compared to none."""
    rows = []
    for number in (0, count):
        if number:
            _repeat(made, made.finished_requests(f"done-{load.N}"), number)
        mark = made.apiserver.audit.mark()
        controller = made.start(verbosity="error")
        settled(made, controller, mark)
        rows.append({"items": number, "rssBytes": memory_of(controller.pid)["VmRSS"], "cpuSeconds": cpu_seconds(controller.pid)})
        controller.stop()
        made.controllers.remove(controller)
    return rows


def manifest(quick):
    with manifest_world() as made:
        memory = _memory(made, 200 if quick else 10000)
    with manifest_world() as made:
        controller = _warm(made)
        return {"requests": _requests(made, controller),
                "objects": _objects(made, controller, 100, 1 if quick else 5),
                "atOnce": _at_once(made, controller, 50 if quick else 200),
                "waiting": _waiting(made, controller, 20 if quick else 200, 3 if quick else 21),
                "memory": memory}
