# SPDX-License-Identifier: Apache-2.0
"""The controller is killed before and after every request to either cluster, and started again: nothing is orphaned and nothing
is deleted that is not ours."""

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_killer import REQUESTS_MAX
from manifest_harness import EXPORTED, managed


def start(world, killer):
    controller = world.start(proxy=world.proxy)
    controller.expected = False
    killer.controller = controller
    controller.wait_until(lambda: "items listed" in controller.output(), "items listed")
    return controller


def export(world, name):
    return {"exports": [{**EXPORTED, "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": f"{name}-a",
                                                      "namespace": world.space}}]}


def objects(world, name, letters, **data):
    return [managed(world.config(f"{name}-{letter}", data={"answer": "42", **data})) for letter in letters]


def is_done(world, name, job):
    return world.status(name).get("jobIDFinished") == job


def has_crashed(killer, number, is_over, what):
    """Waits until the controller was killed or everything is over. The crash may follow the last effect."""
    wait_until(lambda: killer.has_killed.is_set() or is_over(), what)
    if len(killer.seen) < number:
        killer.left = None
        return False
    wait_until(killer.has_killed.is_set, "the crash")
    return True


def check_done(world, name, job, letters, killer):
    status = world.status(name)
    assert status["phase"] == "Succeeded", (killer.seen, status)
    assert world.names() == [*[f"{name}-{letter}" for letter in letters], "theirs"], killer.seen
    assert sorted(world.recorded(name)) == [f"{name}-{letter}" for letter in letters], killer.seen
    assert all(r["resource"].get("uid") for r in status["providerStatus"]["managedResources"])
    assert world.exported(f"{name}-export") == {"answer": "42"}, killer.seen


@pytest.mark.parametrize("kind", ["first", "update"])
def test_a_job_survives_a_crash_at_every_request(world, killer, kind):
    world.create(world.config("theirs"))
    start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        job, letters = ("job-1", "ab") if kind == "first" else ("job-2", "ac")
        if kind == "first":
            killer.arm(number)
            world.deploy(name, objects(world, name, "ab"), exports=export(world, name))
        else:
            world.deploy(name, objects(world, name, "ab"), exports=export(world, name))
            world.succeeded(name)
            killer.arm(number)
            world.update(name, objects(world, name, "ac", more="1"), job=job, exports=export(world, name))
        if not has_crashed(killer, number, lambda: is_done(world, name, job), f"{name} crashed or finished"):
            assert len(killer.seen) >= 6, killer.seen
            check_done(world, name, job, letters, killer)
            break
        start(world, killer)
        wait_until(lambda: is_done(world, name, job), f"{name} to finish after {killer.seen}")
        check_done(world, name, job, letters, killer)
        world.removed(name)
        assert world.names() == ["theirs"], killer.seen
    else:
        pytest.fail("the job did not complete")


def test_a_deletion_survives_a_crash_at_every_request(world, killer):
    world.create(world.config("theirs"))
    start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        world.deploy(name, objects(world, name, "ab"), exports=export(world, name))
        world.succeeded(name)
        killer.arm(number)
        world.delete(name)
        if not has_crashed(killer, number, lambda: world.kube.find(DEPLOYITEMS, name, world.namespace) is None,
                           f"{name} crashed or deleted"):
            assert len(killer.seen) >= 6, killer.seen
            break
        start(world, killer)
        world.wait_until_deleted(name)
        assert world.names() == ["theirs"], killer.seen
        assert world.kube.find("secrets", f"{name}-export", world.namespace) is None, killer.seen
    else:
        pytest.fail("the deletion did not complete")
    assert world.names() == ["theirs"]


def test_a_first_job_that_crashed_is_deleted_without_a_trace(world, killer):
    """F3: killed at every request of a first job; then the item is deleted at once."""
    start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        killer.arm(number)
        world.deploy(name, objects(world, name, "abc"))
        is_killed = has_crashed(killer, number, lambda: is_done(world, name, "job-1"), f"{name} crashed or finished")
        world.delete(name)
        if is_killed:
            start(world, killer)
        world.wait_until_deleted(name)
        assert world.names() == [], killer.seen
        if not is_killed:
            break
    else:
        pytest.fail("the job did not complete")
