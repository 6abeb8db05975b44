# SPDX-License-Identifier: Apache-2.0
"""Flux in control: it reconciles on its own; the item provides the objects, looks into the second cluster and cleans up. Both real
controllers of Flux, with a git server."""

from flux_harness import wait_until


def example(world, name):
    item = world.example(name)["app"]
    # Not a minute: the test would have to wait for it.
    item["spec"]["config"]["manifests"][0]["manifest"]["spec"]["interval"] = "1s"
    return item


def test_a_commit_needs_no_job_and_a_deletion_waits_until_flux_has_pruned(git_world):
    world = git_world
    world.commit("blue")
    world.put(example(world, "flux-control.yaml"), "job-1")
    world.succeeded("app")
    wait_until(lambda: world.deployed() == "blue", "the first commit")
    before = world.item("app")
    world.commit("green")
    wait_until(lambda: world.deployed() == "green", "the second commit")
    assert world.item("app") == before
    world.removed("app")
    world.assert_nothing_left()


def test_checks_exports_and_deletion_in_the_second_cluster(git_world):
    world = git_world
    world.commit("blue")
    item = example(world, "two-clusters.yaml")
    item["spec"]["config"]["watch"] = {"level": "report", "quietPeriod": "1s"}
    world.put(item, "job-1")
    wait_until(lambda: world.deployed() == "blue", "the first commit")
    wait_until(lambda: "two ConfigMaps of app in the second cluster" in world.shown("app"), "the check to miss an object")
    assert world.status("app")["phase"] == "Progressing"
    world.commit("green", "other")
    world.succeeded("app")
    assert world.exported("app-export") == {"colour": "green"}

    # Flux applies another revision on its own: the item reports that its export is out of date.
    def is_up_to_date():
        return [c["status"] for c in world.status("app")["conditions"] if c["type"] == "ExportsUpToDate"]
    wait_until(lambda: is_up_to_date() == ["True"], "the end of the job to be observed")
    world.commit("red", "other")
    wait_until(lambda: is_up_to_date() == ["False"], "the change of the exported value")
    assert "colour" in world.shown("app")

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
