# SPDX-License-Identifier: Apache-2.0
"""Several controllers at once that serve manifest items, with a SyncObject for each item."""

from bench.kube import SYNCOBJECTS
from bench.waiting import wait_until
from controller_harness import now
from manifest_harness import managed


def test_a_job_and_a_deletion_hold_the_lock_of_their_item_and_release_it(world):
    """The lock is held while the job waits and while objects are being removed."""
    check = {"name": "flag", "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "flag", "namespace": world.space}],
             "requirements": [{"jsonPath": ".data.a", "operator": "==", "values": [{"value": "1"}]}]}
    world.start_replica()
    world.deploy("item", [managed(world.config())], readinessChecks={"custom": [check]})
    wait_until(lambda: "flag" in str(world.status("item").get("conditions")), "the job to wait")
    found = world.kube.get(SYNCOBJECTS, world.lock_name("item"), world.namespace)["spec"]
    assert found["podName"] == "me" and found["kind"] == "DeployItem" and found["name"] == "item" and found["prefix"] == "manifest"
    world.create(world.config("flag"))
    world.succeeded("item")
    wait_until(lambda: world.lock_holder("item") == "", "the release of the lock")
    world.hold("cm")
    world.delete("item")
    wait_until(lambda: "deletionTimestamp" in world.found("cm")["metadata"], "the deletion of the object")
    assert world.lock_holder("item") == "me"
    world.release("cm")
    world.wait_until_deleted("item")
    assert world.names() == ["flag"]


def test_an_item_that_another_replica_has_locked_is_left_alone(world):
    """A holder that runs or cannot be checked keeps the lock; that of a pod that is gone is taken over. This holds for jobs and
    for deletions."""
    world.living_pod("living")
    holders = {"alive": "living", "outside": "nopodname", "dead": "died", "free": "", "mine": "me"}
    for name, pod in holders.items():
        world.deploy(name, [managed(world.config(f"of-{name}"))], job=None)
        world.lock(name, pod)
        world.trigger(name, "job-1")
    world.start_replica()
    for name in ("dead", "free", "mine"):
        world.succeeded(name)
    assert world.names() == ["of-dead", "of-free", "of-mine"]
    assert all("phase" not in world.status(name) for name in ("alive", "outside"))
    wait_until(lambda: world.lock_holder("free") == "", "the release of the lock")
    world.kube.patch(SYNCOBJECTS, world.lock_name("free"), {"spec": {"podName": "nopodname", "lastUpdateTime": now()}}, world.namespace)
    world.delete("free")
    world.removed("dead")
    assert world.names() == ["of-free", "of-mine"] and world.status("free")["phase"] == "Succeeded"
    assert world.lock_holder("alive") == "living" and world.lock_holder("outside") == world.lock_holder("free") == "nopodname"
