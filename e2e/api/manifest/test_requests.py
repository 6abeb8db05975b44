# SPDX-License-Identifier: Apache-2.0
"""The number of requests, counted by the API servers. Watches and discovery are not counted."""

from manifest_harness import EXPORTED, managed

READ = ["get targets", "get secrets"]


def test_a_job_sends_as_few_requests_as_documented(world):
    """F15, F10: 5 for a first job, an unchanged one and a deletion; 6 for a changed one."""
    controller = world.start()
    world.deploy("marker", [managed(world.config("marker"))])
    world.succeeded("marker")

    def counted(begin, job):
        def run():
            begin()
            world.succeeded("item", job)
        return world.count(controller, run)

    write = ["patch deployitems/status"]
    ours, theirs = counted(lambda: world.deploy("item", [managed(world.config())]), "job-1")
    assert (ours, theirs) == (READ + write * 2, ["create configmaps"])
    ours, theirs = counted(lambda: world.trigger("item", "job-2"), "job-2")
    assert (ours, theirs) == (READ + write * 2, ["get configmaps"])
    ours, theirs = counted(lambda: world.update("item", [managed(world.config(data={"answer": "42"}))], job="job-3"), "job-3")
    assert (ours, theirs) == (READ + write * 2, ["get configmaps", "update configmaps"])
    export = {**EXPORTED, "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}}
    ours, theirs = counted(lambda: world.update("item", [managed(world.config(data={"answer": "43"}))], job="job-4",
                                                exports={"exports": [export]}), "job-4")
    assert (ours, theirs) == (READ + write + ["patch secrets"] + write, ["get configmaps", "update configmaps"])
    world.update("item", [managed(world.config())], job="job-5")
    world.succeeded("item", "job-5")
    ours, theirs = world.count(controller, lambda: world.removed("item"))
    assert (ours, theirs) == (READ + write + ["patch deployitems"], ["delete configmaps"])


def test_a_further_object_costs_one_request(world):
    """F9, F10: 100 objects of a kind are 100 requests, applied and deleted. A later job reads all of them with one list."""
    controller = world.start()
    mark = world.cluster.audit.mark()
    world.deploy("item", [managed(world.config(f"cm-{n}")) for n in range(100)])
    world.succeeded("item", timeout=120)
    assert world.requests(world.cluster, world.user, mark) == ["create configmaps"] * 100
    assert world.cluster.audit.count(mark, user=world.user, verb="get") <= 2

    def again(job, changed):
        manifests = [managed(world.config(f"cm-{n}", **({"data": {"answer": job}} if n < changed else {}))) for n in range(100)]
        mark = world.cluster.audit.mark()
        world.update("item", manifests, job=job)
        world.succeeded("item", job, timeout=120)
        sent = world.requests(world.cluster, world.user, mark)
        return world.cluster.audit.count(mark, user=world.user, verb="list"), sent

    assert again("job-2", 0) == (1, [])
    assert again("job-3", 7) == (1, ["update configmaps"] * 7)
    ours, theirs = world.count(controller, lambda: world.removed("item"))
    assert theirs == ["delete configmaps"] * 100 and len(ours) == 4, ours
