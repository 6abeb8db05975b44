# SPDX-License-Identifier: Apache-2.0
"""Landscaper in control: Flux acts only while a job runs, and a job that has succeeded has applied the wanted revision."""

import os

import pytest

from bench.flux import FINALIZER, KUSTOMIZATIONS
from flux_harness import REQUESTED_AT, wait_until

# make bench runs more.
JOBS = int(os.environ.get("LONGSHORE_FLUX_JOBS", "10"))
STRATEGIES = ("update", "mergeOverwrite")


def assert_applied(world, revision, colour):
    found = world.kustomization()
    assert (world.exported("app-export"), world.deployed(), found["status"]["lastAppliedRevision"]) == (
        {"colour": colour}, colour, revision)
    assert found["spec"]["suspend"] is True and FINALIZER in found["metadata"]["finalizers"]


def with_strategy(items, strategy):
    for item in items.values():
        item["spec"]["config"]["updateStrategy"] = strategy
    return items


def run_two_items(world, number, strategy):
    token, job = f"t-{number}", f"job-{number}"
    items = with_strategy(world.example("landscaper-control.yaml", token), strategy)
    world.put(items["source"], job)
    world.requested(token)
    world.publish(*wanted(number))
    world.succeeded("source", job)
    world.put(items["app"], job)
    world.succeeded("app", job)


def run_one_item(world, number, strategy):
    token, job = f"t-{number}", f"job-{number}"
    world.put(with_strategy(world.example("one-item.yaml", token), strategy)["app"], job)
    world.requested(token)
    world.publish(*wanted(number))
    world.succeeded("app", job)


def wanted(number):
    """The revisions alternate."""
    return (("main@sha1:0001", "blue"), ("main@sha1:0002", "green"))[number % 2]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("run", [run_two_items, run_one_item], ids=["two-items", "one-item"])
def test_every_job_applies_and_exports_its_revision(world, strategy, run):
    for number in range(JOBS):
        run(world, number, strategy)
        assert_applied(world, *wanted(number))
    if run is run_two_items:
        # A suspended Kustomization ignores a new revision, and even a request to reconcile.
        world.publish("main@sha1:0003", "red")
        world.remote.patch(KUSTOMIZATIONS, "app", {"metadata": {"annotations": {REQUESTED_AT: "now"}}}, world.space)
        wait_until(lambda: world.kustomization()["status"].get("lastHandledReconcileAt") == "now", "Flux to see the request")
        assert_applied(world, *wanted(JOBS - 1))
    world.removed("app")
    assert world.deployed() is None and world.kustomization() is None
    if run is run_two_items:
        world.removed("source")
    world.assert_nothing_left()


def test_a_deletion_waits_for_flux_and_says_so(world, flux):
    run_one_item(world, 1, "update")
    item = world.item("app")
    item["spec"]["timeout"] = "3s"
    world.kube.replace(item)
    flux.stop()
    try:
        world.delete("app", "delete-1")
        status = world.failed("app", "delete-1")
        message = status["lastError"]["message"]
        assert status["phase"] == "DeleteFailed" and status["lastError"]["codes"] == ["ERR_TIMEOUT"], status
        assert "Kustomization" in message and "app" in message and FINALIZER in message, message
        assert world.deployed() == "green"
        item = world.item("app")
        item["spec"]["timeout"] = "5m"
        world.kube.replace(item)
        world.trigger("app", "delete-2")
        wait_until(lambda: world.status("app")["phase"] == "Deleting" and FINALIZER in world.shown("app"),
                   "what the deletion waits for")
    finally:
        flux.start()
    world.wait_until_deleted("app")
    world.assert_nothing_left()


def test_strict_rules_for_flux(world):
    items = world.example("one-item.yaml", "t-1")
    kustomization = items["app"]["spec"]["config"]["manifests"][1]
    # An application that cannot be built is named with its condition; the next revision can.
    world.put(items["app"], "job-1")
    world.requested("t-1")
    world.artifacts.publish("app", {"other/readme": "nothing here"}, "main@sha1:0000", world.space)
    wait_until(lambda: "condition Ready is False (" in world.shown("app"), "the reason of the Kustomization")
    world.publish(*wanted(1))
    world.succeeded("app")
    assert_applied(world, *wanted(1))
    # A Kustomization that is meant to be suspended can never be applied.
    kustomization["manifest"]["spec"]["suspend"] = True
    world.put(items["app"], "job-2")
    error = world.failed("app", "job-2")["lastError"]
    assert error["reason"] == "ReadinessFailed" and "suspended" in error["message"], error
