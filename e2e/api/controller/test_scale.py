# SPDX-License-Identifier: Apache-2.0
"""Many items: those that are finished cost nothing, those that are not are not held up by us."""

import concurrent.futures
import os
import pathlib

import pytest

from bench.audit import resource_of
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, TYPE, World, now, with_export_and_state

FINISHED = 10_000
AT_ONCE = 1_000


def resident_bytes(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(world, **options):
    controller = world.start(verbosity="info", **options)
    controller.wait_until(lambda: "items listed" in controller.output(), "items listed")
    return controller


def body(world, number):
    return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": f"item-{number:05d}", "namespace": world.namespace},
            "spec": {"type": TYPE, "config": {
                "apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderConfiguration", "image": "example.com/main:1",
                "importValues": {"text": "some import of an ordinary size " * 20}}}}


def in_parallel(function, things):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(function, things))


@pytest.fixture
def own_world(private_apiserver):
    """An API server of its own: ten thousand items would slow the other tests down."""
    private_apiserver.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "items"}})
    world = World(private_apiserver, "items")
    yield world
    for controller in world.controllers:
        controller.stop()
    world.kubelet.close()


def test_ten_thousand_finished_items_cost_no_request_and_at_most_16_mib(own_world):
    world = own_world
    controller = started(world)
    world.item("marker")
    world.finished("marker")
    empty = resident_bytes(controller)
    controller.expected = False
    controller.stop()

    world.kube.create_many([body(world, number) for number in range(FINISHED)])
    finished = {"status": {"phase": "Succeeded", "observedGeneration": 1, "jobID": "old", "jobIDFinished": "old",
                           "lastReconcileTime": now(), "deployer": {"identity": "test", "name": GROUP, "version": "v1"}}}
    in_parallel(lambda number: world.kube.patch(DEPLOYITEMS, f"item-{number:05d}", finished, world.namespace, "status"), range(FINISHED))

    mark = world.apiserver.audit.mark()
    controller = started(world)
    world.item("new")
    assert world.finished("new")["phase"] == "Succeeded"
    world.quiet()
    full = resident_bytes(controller)
    print(f"RSS {empty / 2**20:.1f} MiB without items, {full / 2**20:.1f} MiB with {FINISHED}")
    assert full - empty <= 16 * 2**20
    requests = [f"{e['verb']} {resource_of(e)}" for e in world.apiserver.audit.entries(mark, user=controller.user)
                if e["verb"] != "watch" and e.get("objectRef", {}).get("name") != "new"]
    pages = requests.count("list deployitems")
    # Beside the pages of the list: the pods' list, the collector's five, and the run of "new".
    assert len(requests) - pages <= 1 + 5 + 17, requests
    assert not [e for e in world.apiserver.audit.entries(mark, user=controller.user)
                if e.get("objectRef", {}).get("name", "").startswith("item-")]


def test_a_thousand_items_at_once_each_get_one_pod(own_world):
    world = own_world
    world.kubelet.close()
    controller = started(world)
    world.kube.create_many([{**body(world, number), "metadata": {
        "name": f"item-{number:05d}", "namespace": world.namespace, "finalizers": ["finalizer.landscaper.gardener.cloud"]}}
        for number in range(AT_ONCE)])
    before = cpu_seconds(controller)
    trigger = {"status": {"jobID": "job-1", "jobIDGenerationTime": now(), "observedGeneration": 0, "transitionTimes": {"triggerTime": now()}}}
    in_parallel(lambda number: world.kube.patch(DEPLOYITEMS, f"item-{number:05d}", trigger, world.namespace, "status"), range(AT_ONCE))

    def pods_made():
        page = world.kube.list("pods", world.host, limit=1)
        return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    wait_until(lambda: pods_made() == AT_ONCE, "all pods", 600, 1)
    wait_until(lambda: all(i["status"].get("phase") == "Progressing" for i in world.kube.items(DEPLOYITEMS, world.namespace)),
               "all Progressing", 120, 5)
    pods = world.kube.items("pods", world.host)
    assert len(pods) == AT_ONCE and len({p["metadata"]["labels"][f"deployitem.{GROUP}/name"] for p in pods}) == AT_ONCE
    assert '"level":"error"' not in controller.output()
    print(f"CPU {(cpu_seconds(controller) - before) / AT_ONCE * 1000:.2f} ms an item to its pod")


def test_cpu_of_a_run_is_flat_however_many_secrets_there_are(own_world):
    world = own_world
    world.kubelet.behaviour = with_export_and_state
    controller = started(world)

    def runs(count, label):
        before = cpu_seconds(controller)
        for number in range(count):
            world.item(f"{label}-{number}")
        for number in range(count):
            world.finished(f"{label}-{number}")
        world.quiet()
        return (cpu_seconds(controller) - before) / count * 1000

    few = runs(50, "few")
    world.kube.create_many([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"other-{n}", "namespace": world.host},
                             "data": {"x": "eA=="}} for n in range(2000)])
    world.quiet = lambda: wait_until(lambda: not world.pods(), "the pods gone")
    many = runs(50, "many")
    print(f"CPU {few:.2f} ms a run, {many:.2f} ms beside 2000 other Secrets")
    # Sanitizers and busy machines take their share; a controller that reads them all would take hundreds.
    assert many < 2 * few + 5
