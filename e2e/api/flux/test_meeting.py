# SPDX-License-Identifier: Apache-2.0
"""Landscaper in control and Flux in control meet on the same Kustomization: in a person's hands, in two items, in an item that changes sides."""

import pytest

from bench.flux import FINALIZER, KUSTOMIZATIONS
from flux_harness import wait_until

BLUE, GREEN, RED = ("main@sha1:0001", "blue"), ("main@sha1:0002", "green"), ("main@sha1:0003", "red")


def run(world, number, revision, item=None):
    """A job of one-item.yaml, or of another item with the same Flux objects."""
    token = f"t-{number}"
    item = item or world.example("one-item.yaml", token)["app"]
    world.put(item, f"job-{number}")
    world.requested(token)
    world.publish(*revision)
    world.succeeded(item["metadata"]["name"], f"job-{number}")


def suspend(world, value):
    """As `flux suspend` and `flux resume` do."""
    world.remote.patch(KUSTOMIZATIONS, "app", {"spec": {"suspend": value}}, world.space)


def follows(world, revision):
    world.publish(*revision)
    wait_until(lambda: world.deployed() == revision[1], f"Flux to apply {revision[1]}")


def is_suspended(world):
    return world.kustomization()["spec"].get("suspend", False)


def test_a_resumed_kustomization_follows_flux_until_the_next_job(world):
    run(world, 1, BLUE)
    suspend(world, False)
    follows(world, GREEN)
    assert world.exported("app-export") == {"colour": "blue"}, "an export changed without a job"
    run(world, 2, RED)
    assert is_suspended(world) and world.deployed() == "red" and world.exported("app-export") == {"colour": "red"}
    world.removed("app")
    world.assert_nothing_left()


def test_two_items_with_the_same_kustomization_the_last_job_decides_and_owns_it(world):
    other = world.example("flux-control.yaml")["app"]
    other["metadata"]["name"] = "other"
    run(world, 1, BLUE)
    assert is_suspended(world)
    world.put(other, "job-1")
    world.succeeded("other")
    assert not is_suspended(world)
    follows(world, GREEN)
    run(world, 2, BLUE)
    assert is_suspended(world) and world.deployed() == "blue"
    # Deleting the item that does not own the objects leaves them alone.
    world.removed("other")
    assert is_suspended(world) and FINALIZER in world.kustomization()["metadata"]["finalizers"] and world.deployed() == "blue"
    world.put(other, "job-1")
    world.succeeded("other")
    world.removed("app")
    assert not is_suspended(world)
    follows(world, RED)
    world.removed("other")
    world.assert_nothing_left()


@pytest.mark.parametrize("strategy", ["update", "mergeOverwrite"])
def test_an_item_changes_from_one_strategy_to_the_other_and_back(world, strategy):
    def item(name, token="T"):
        made = world.example(name, token)["app"]
        made["spec"]["config"]["updateStrategy"] = strategy
        return made

    run(world, 1, BLUE, item("one-item.yaml", "t-1"))
    world.put(item("flux-control.yaml"), "job-2")
    world.succeeded("app", "job-2")
    assert not is_suspended(world)
    follows(world, GREEN)
    run(world, 3, RED, item("one-item.yaml", "t-3"))
    assert is_suspended(world) and world.deployed() == "red"
    # Back to Flux, where somebody suspends the Kustomization: the next job and the deletion resume it.
    for job in ("job-4", "job-5"):
        world.put(item("flux-control.yaml"), job)
        world.succeeded("app", job)
        assert not is_suspended(world)
        suspend(world, True)
    world.removed("app")
    world.assert_nothing_left()
