# SPDX-License-Identifier: Apache-2.0
"""Flux in control: it reconciles on its own; the item provides the objects, looks into the second cluster and cleans up."""

from flux_harness import wait_until


def test_a_later_revision_needs_no_job_and_a_deletion_waits_until_flux_has_pruned(world):
    world.put(world.example("flux-control.yaml")["app"], "job-1")
    world.succeeded("app")
    world.publish("main@sha1:0001", "blue")
    wait_until(lambda: world.deployed() == "blue", "the first revision")
    before = world.item("app")
    world.publish("main@sha1:0002", "green")
    wait_until(lambda: world.deployed() == "green", "the second revision")
    assert world.item("app") == before
    world.removed("app")
    world.assert_nothing_left()


def test_checks_exports_and_deletion_in_the_second_cluster(world):
    world.put(world.example("two-clusters.yaml")["app"], "job-1")
    world.publish("main@sha1:0001", "blue")
    wait_until(lambda: world.deployed() == "blue", "the first revision")
    wait_until(lambda: "two ConfigMaps of app in the second cluster" in world.shown("app"), "the check to miss an object")
    assert world.status("app")["phase"] == "Progressing"
    world.publish("main@sha1:0002", "green", "other")
    world.succeeded("app")
    assert world.exported("app-export") == {"colour": "green"}

    # Flux does not wait until what it deletes is gone; the item does.
    world.kube.patch("configmaps", "pre-other", {"metadata": {"finalizers": ["example.com/hold"]}}, world.namespace)
    world.delete("app")
    wait_until(lambda: world.kustomization() is None, "deletion of the Kustomization")
    wait_until(lambda: "pre-other" in world.shown("app"), "the object that the deletion waits for")
    assert world.status("app")["phase"] == "Deleting"
    world.kube.patch("configmaps", "pre-other", {"metadata": {"finalizers": None}}, world.namespace)
    world.wait_until_deleted("app")
    assert world.deployed("pre-other") is None
    world.assert_nothing_left()
