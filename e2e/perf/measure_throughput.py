# SPDX-License-Identifier: Apache-2.0
"""Measures runs per second of the controller, compared to a baseline: a bare client that sends the same requests to the same
API server."""

import statistics
import time

from bench import load, ports
from bench.kube import DEPLOYITEMS
from bench.metrics import runs_ended
from bench.proc import cpu_seconds, memory
from bench.waiting import wait_until
from environment import TARGET, children_cpu, counted, create_items, trigger, world

_RBAC = "rbac.authorization.k8s.io/v1"
_RESOURCES = {"deployitems": DEPLOYITEMS, "roles": f"{_RBAC}/roles", "rolebindings": f"{_RBAC}/rolebindings",
              "contexts": DEPLOYITEMS.replace("deployitems", "contexts"),
              "targets": DEPLOYITEMS.replace("deployitems", "targets")}
_VERSIONS = {"pods": ("v1", "Pod"), "secrets": ("v1", "Secret"), "serviceaccounts": ("v1", "ServiceAccount"),
             "roles": (_RBAC, "Role"), "rolebindings": (_RBAC, "RoleBinding"), "events": ("v1", "Event")}


def _bare(thing, plural, name):
    """A copy of an object without server-set fields and with another name."""
    metadata = {key: thing["metadata"][key] for key in ("labels", "annotations", "namespace") if key in thing["metadata"]}
    version, kind = _VERSIONS[plural]
    found = {key: value for key, value in thing.items() if key not in ("metadata", "status")}
    if plural == "pods":
        found["spec"] = {key: value for key, value in thing["spec"].items() if key not in ("nodeName", "serviceAccount")}
    metadata["labels"] = {**metadata.get("labels", {}), "floor": load.N}
    return {**found, "apiVersion": version, "kind": kind, "metadata": {**metadata, "name": name}}


def _samples(made):
    """One object of each kind that a run creates, taken from a run whose pod no kubelet executes."""
    made.item("sample", target=TARGET)
    wait_until(made.pods, "the pod of the sample item", 60)
    found = {}
    for plural in ("pods", "secrets", "serviceaccounts", "roles", "rolebindings"):
        things = [thing for thing in made.kube.items(_RESOURCES.get(plural, plural), made.host)
                  if thing["metadata"]["name"] != "default"]
        if things:
            found[plural] = things[0]
    return found


def _step(made, verb, plural, subresource, number, samples):
    """One request as a run sends it, for objects with our own names."""
    path, name = _RESOURCES.get(plural, plural), f"floor-{load.N}-{number}"
    if plural == "deployitems":
        # A patch without a change would cost the server less than the patches of a run.
        change = {"status": {"deployer": {"version": str(number)}}} if subresource else \
            {"metadata": {"annotations": {"number": str(number)}}}
        return load.request("patch", path, made.namespace, f"item0-{load.N}", subresource or None, change)
    if plural == "events":
        about = {"kind": "DeployItem", "namespace": made.namespace, "name": name}
        return load.request("create", path, made.namespace, body={
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, "reason": "a", "message": "b",
            "type": "Normal"})
    if plural in ("contexts", "targets"):
        return load.request("get", path, made.namespace, TARGET if plural == "targets" else "default")
    if verb == "create":
        return load.request(verb, path, made.host, body=_bare(samples[plural], plural, name))
    if verb == "apply":
        return load.request(verb, path, made.host, name, body=_bare(samples[plural], plural, name))
    if verb == "patch":
        change = {"metadata": {"annotations": {"number": str(number)}}}
        return load.request(verb, path, made.host, f"floor-{load.N}-0", subresource or None, change)
    if verb in ("list", "deletecollection"):
        return load.request(verb, path, made.host, labelSelector=f"floor={load.N}")
    return load.request(verb, path, made.host, name, **({"grace": 0} if verb == "delete" else {}))


def _script(made, counts, samples):
    """The requests of one run, as counted, plus those of wait and the kubelet: creating requests first, deletes last."""
    order = {"create": 0, "apply": 0, "get": 1, "list": 1, "patch": 2, "update": 2, "delete": 3, "deletecollection": 3}
    steps = []
    for what, count in counts.items():
        verb, _, resource = what.partition(" ")
        plural, _, subresource = resource.partition("/")
        if verb == "patch" and plural in samples and plural != "pods":
            verb = "apply"  # the audit log uses the same verb for both
        steps += [(verb, plural, subresource, number) for number in range(count)]
    steps += [("create", "secrets", "", "state"), ("apply", "secrets", "", "export"), ("patch", "pods", "status", 0)]
    return [_step(made, *step, samples) for step in sorted(steps, key=lambda step: order[step[0]])]


# At most this many items run: with ten thousand items at once the API server answers only 130 requests a second.
RUNS_MAX = 1000


def _one_by_one(made, controller, rounds=5, runs=30):
    """CPU time per run in ms if each item starts after the previous one has finished, so that runs share no work. Other processes on
    the machine affect the CPU caches, so this is the median of several rounds."""
    used = []
    for turn in range(rounds):
        before = cpu_seconds(controller.pid)
        for number in range(runs):
            made.item(f"alone-{turn}-{number}", target=TARGET)
            made.finished(f"alone-{turn}-{number}")
        made.wait_for_cleanup()
        used.append((cpu_seconds(controller.pid) - before) * 1000 / runs)
    return statistics.median(used)


def _one(count, one_by_one=False):
    runs = min(count, RUNS_MAX)
    with world() as made:
        made.kubelet.close()
        address = f"127.0.0.1:{ports.free_port()}"
        controller = made.start(verbosity="error", arguments=[f"--metrics-address={address}"])
        samples = _samples(made)
        kubelet = load.kubelet(made.apiserver, made.host)
        create_items(made, "item", count)
        # This kubelet does not process the pod of the sample, which started before it. The first item is a warm-up.
        made.kube.delete("pods", samples["pods"]["metadata"]["name"], made.host, gracePeriodSeconds=0)
        made.finished("sample", timeout=120)
        made.item("warm", target=TARGET)
        made.finished("warm")
        made.wait_for_cleanup()
        ended = runs_ended(address)
        mark, cpu, begin = made.apiserver.audit.mark(), cpu_seconds(controller.pid), time.monotonic()
        load.repeat(made.apiserver, [trigger(f"item0-{load.N}", made.namespace, "job-1")], runs, width=8)
        wait_until(lambda: runs_ended(address) >= ended + runs, f"{runs} runs", 1800, 0.1)
        seconds = time.monotonic() - begin
        used = cpu_seconds(controller.pid) - cpu
        made.wait_for_cleanup(timeout=120)
        counts = counted(made, controller, mark)
        peak = memory(controller.pid)["VmHWM"]
        alone = {"cpuMsPerRunOneByOne": _one_by_one(made, controller)} if one_by_one else {}
        controller.stop()
        kubelet.stop()
        per_run = {what: round(number / runs) for what, number in counts.items() if round(number / runs)}
        script = _script(made, per_run, samples)
        # Includes the triggers, which go to the same server while the controller works.
        script.append(trigger(f"item0-{load.N}", made.namespace, "job-2"))
        bare_cpu = children_cpu()
        floor = load.repeat(made.apiserver, script, runs, width=64)
        bare_cpu = children_cpu() - bare_cpu
        floor_runs = runs / floor["seconds"]
        return {"items": count, "runs": runs, "runsPerSecond": runs / seconds, "floorRunsPerSecond": floor_runs,
                "ofTheFloor": runs / seconds / floor_runs, "floorFailed": floor["failed"],
                "requestsPerRun": sum(counts.values()) / runs, "cpuMsPerRun": used * 1000 / runs, "peakBytes": peak,
                "cpuOfBareRequests": (used / sum(counts.values())) / (bare_cpu / floor["requests"]), **alone}


def throughput(quick):
    return [_one(count, count <= 100) for count in ((50,) if quick else (100, 1000, 10000))]
