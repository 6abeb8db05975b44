# SPDX-License-Identifier: Apache-2.0
"""Switching between the Go deployer and ours, at any point of a job, in both directions. The test writes the statuses that the
Go deployer leaves behind."""

import json

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import now
from manifest_harness import EXPORTED, LABEL, V1, V2, as_go_writes, check_readable_by_go, managed

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def entry_of_go(thing, policy="manage", **more):
    metadata = thing["metadata"]
    return {"policy": policy, "resource": {**CONFIG_MAP, "name": metadata["name"], "namespace": metadata["namespace"],
                                           "uid": metadata["uid"]}, **more}


def status_of_go(entries):
    return {"apiVersion": V2, "kind": "ProviderStatus", **({"managedResources": entries} if entries else {})}


def old_status_of_go(things):
    return {"apiVersion": V1, "kind": "ProviderStatus", "managedResources": [
        {**CONFIG_MAP, "name": t["metadata"]["name"], "namespace": t["metadata"]["namespace"]} for t in things]}


def leave(world, name, phase, provider_status, **more):
    """The status of a job that the Go deployer has begun and not finished."""
    error = {"operation": "ApplyObjects", "reason": "ApplyNewObject", "message": "x", "lastTransitionTime": now(), "lastUpdateTime": now()}
    world.kube.patch(DEPLOYITEMS, name, {"status": {
        "jobID": "job-1", "jobIDGenerationTime": now(), "observedGeneration": 1, "phase": phase,
        "deployer": {"name": "manifest.deployer.landscaper.gardener.cloud", "identity": "go", "version": "v1.4.0"},
        "transitionTimes": {"triggerTime": now(), "initTime": now()},
        **({"lastError": error, "firstError": error, "lastErrors": [error]} if phase != "Init" else {}),
        **({"providerStatus": provider_status} if provider_status else {}), **more}}, world.namespace, "status")


def test_a_job_that_go_left_in_any_phase_is_finished(world):
    """F38: Go stores Init before it applies and Progressing afterwards. What it recorded is kept, changed or removed."""
    def made(name):
        return world.create(world.config(name, labels={LABEL: name.partition(".")[0]}))

    cases = {  # phase, provider status, names that must be there at the end besides "new"
        "init-first": ("Init", lambda name: None, []),
        "init-again": ("Init", lambda name: status_of_go([entry_of_go(made(f"{name}.old"))]), []),
        "progressing": ("Progressing", lambda name: status_of_go([entry_of_go(made(f"{name}.new")), entry_of_go(made(f"{name}.old"))]), []),
        "empty": ("Progressing", lambda name: status_of_go([]), []),
        "kept": ("Progressing", lambda name: status_of_go([entry_of_go(made(f"{name}.old"), "keep")]), ["old"]),
        # Go stores a policy as it was written, also a wrong one, and acts as for manage.
        "unchecked": ("Progressing", lambda name: status_of_go([entry_of_go(made(f"{name}.old"), "Manage")]), []),
        "version-1": ("Progressing", lambda name: old_status_of_go([made(f"{name}.old")]), []),
        "replaced": ("Progressing", lambda name: status_of_go([{**(e := entry_of_go(made(f"{name}.old"))),
                                                                "resource": {**e["resource"], "uid": "0"}}]), ["old"]),
        "annotated": ("Progressing", lambda name: status_of_go([entry_of_go(
            made(f"{name}.old"), annotateBeforeDelete={"a": "b"}, patchBeforeDelete={"data": {"p": "q"}})]), []),
    }
    for name, (phase, provider_status, _) in cases.items():
        world.deploy(name, [managed(world.config(f"{name}.new"))], job=None)
        leave(world, name, phase, provider_status(name))
    world.start()
    for name, (_, _, left) in cases.items():
        status = world.succeeded(name)
        assert "lastError" not in status, (name, status)
        assert world.recorded(name) == [f"{name}.new"], name
        found = [thing for thing in world.names() if thing.startswith(f"{name}.")]
        assert found == sorted([f"{name}.new", *(f"{name}.{old}" for old in left)]), (name, found)


@pytest.mark.parametrize("phase", ["InitDelete", "Deleting", "DeleteFailed"])
def test_a_deletion_that_go_left_in_any_phase_is_finished(world, phase):
    """Also with what Go stored to be written before the deletion, and with the export Secret that it made."""
    world.deploy("item", [managed(world.config())], job=None)
    things = [world.create(world.config(name, labels={LABEL: "item"})) for name in ("first", "second")]
    world.hold("first")
    world.secret("other-name", {"config": {"answer": "42"}})
    world.kube.delete(DEPLOYITEMS, "item", world.namespace)
    leave(world, "item", phase, status_of_go([entry_of_go(things[0], annotateBeforeDelete={"a": "b"}, patchBeforeDelete={"data": {"p": "q"}}),
                                              entry_of_go(things[1])]), exportRef={"name": "other-name", "namespace": world.namespace})
    world.start()
    if phase == "DeleteFailed":
        world.trigger("item", "job-2")
    found = wait_until(lambda: (t := world.found("first")) and "deletionTimestamp" in t["metadata"] and t, "the deletion")
    assert found["metadata"]["annotations"]["a"] == "b" and found["data"]["p"] == "q"
    assert world.status("item")["phase"] == "Deleting"
    world.release("first")
    world.wait_until_deleted("item")
    assert world.names() == []


def test_go_continues_what_we_left_and_back(world):
    """Ours is stopped while it waits for a check, Go reads the status, drops what it does not know, and stores it; then ours goes
    on. The finalizer that the manifest has, the late patch and the target of the objects are known from our additions only."""
    controller = world.start()
    waits = {"custom": [{"name": "flag", "resourceSelector": [{**CONFIG_MAP, "name": "flag", "namespace": world.space}],
                         "requirements": [{"jsonPath": ".data.ready", "operator": "exists"}]}]}
    exports = {"exports": [{**EXPORTED, "fromResource": {**CONFIG_MAP, "name": "a", "namespace": world.space}}]}
    things = [managed(world.config("a", data={"answer": "42"}, finalizers=["example.com/ours"]), annotateBeforeDelete={"x": "y"},
                      patchBeforeDelete={"metadata": {"finalizers": None}}), managed(world.config("b"), policy="keep")]
    world.deploy("item", things, readinessChecks=waits, exports=exports)
    wait_until(lambda: "flag" in json.dumps(world.status("item").get("conditions", [])), "the check in a condition")
    controller.expected = False
    controller.stop()

    status = world.status("item")
    check_readable_by_go(status["providerStatus"])
    assert status["phase"] == "Progressing" and status["transitionTimes"]["initTime"] and "finishedTime" not in status["transitionTimes"]
    assert [e["policy"] for e in status["providerStatus"]["managedResources"]] == ["manage", "keep"]
    # Go writes the whole status; its export Secret has a name of its own choice only if there is one already.
    world.secret("item-export", {"config": {"answer": "41"}})
    item = world.kube.get(DEPLOYITEMS, "item", world.namespace)
    item["status"].pop("conditions", None)
    item["status"] = {**item["status"], "providerStatus": as_go_writes(status["providerStatus"]),
                      "exportRef": {"name": "item-export", "namespace": world.namespace}}
    world.kube.replace(item, subresource="status")

    world.start()
    world.create(world.config("flag", data={"ready": "yes"}))
    status = world.succeeded("item")
    assert world.exported("item-export") == {"answer": "42"} and world.recorded("item") == ["a", "b"]
    assert world.found("a")["metadata"]["finalizers"] == ["example.com/ours"]
    world.removed("item")
    assert world.names() == ["b", "flag"]
