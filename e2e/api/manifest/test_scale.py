# SPDX-License-Identifier: Apache-2.0
"""Many items: the CPU time and the requests of a job, and the memory of items that have finished. `make bench` measures more.

200 items that wait are in test_waiting.py, the cost of many objects in one item in common/apply/tests/scale_test.c."""

import collections
import resource

import pytest

from bench import load, ports
from bench.apiserver import ApiServer
from bench.kube import DEPLOYITEMS
from bench.metrics import runs_ended, samples
from bench.proc import cpu_seconds, memory
from bench.waiting import wait_until
from manifest_harness import ManifestWorld, managed

AT_ONCE = 200
# CPU time of a first job with one object; the Go original needs 9.5 ms. To adjust for the speed of the machine it is compared to the
# time of a bare client for the same requests.
CPU_MS_MAX = 3
BARE_TIMES_MAX = 2
STATUS_WRITES_MAX = 2.2
FINISHED = 2000
# 10,000 finished items may need 16 MiB.
FINISHED_BYTES_MAX = 16 * 2**20 / 10_000
# The memory of a process varies by some pages from start to start.
VARIATION = 512 * 1024


@pytest.fixture
def own_world():
    """A separate API server for both sides, because many items would slow the other tests down."""
    server = ApiServer()
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "items"}})
    world = ManifestWorld(server, "items", server)
    world.kubelet.close()
    yield world
    for controller in world.controllers:
        controller.stop()
    server.close()


def started(world):
    """A controller that has listed all items and has finished a job."""
    address = f"127.0.0.1:{ports.free_port()}"
    controller = world.start(verbosity="info", arguments=[f"--metrics-address={address}"])
    controller.metrics_address = address
    controller.wait_until(lambda: "items listed" in controller.output(), "items listed")
    name = f"warm-{len(world.controllers)}"
    world.deploy(name, [managed(world.config(name))])
    world.succeeded(name)
    return controller


def repeat(world, count, *requests, width=32):
    done = load.repeat(world.apiserver, requests, count, width)
    assert done["failed"] == 0, done


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bare_ms(world, count):
    """CPU time of a client that only sends the requests of a job, for each job."""
    repeat(world, count, world.create_request(f"bare-{load.N}"))
    before = children_seconds()
    repeat(world, count, *world.bare_job(f"bare-{load.N}", f"bare-{load.N}"), width=16)
    return (children_seconds() - before) / count * 1000


def test_the_cpu_time_and_the_requests_of_a_job_are_limited(own_world):
    world = own_world
    controller = started(world)
    name = f"item-{load.N}"
    repeat(world, AT_ONCE, world.create_request(name, [managed(world.config(name))]))
    ended, mark, before = runs_ended(controller.metrics_address), world.apiserver.audit.mark(), cpu_seconds(controller.pid)
    repeat(world, AT_ONCE, world.trigger_request(name))
    wait_until(lambda: runs_ended(controller.metrics_address) >= ended + AT_ONCE, "the end of all jobs", 300, 0.5)
    cpu_ms = (cpu_seconds(controller.pid) - before) / AT_ONCE * 1000
    items = [i for i in world.kube.items(DEPLOYITEMS, world.namespace) if i["metadata"]["name"].startswith("item-")]
    assert len(items) == AT_ONCE and all(i["status"]["phase"] == "Succeeded" for i in items)
    sent = collections.Counter(world.requests(world.apiserver, controller.user, mark) + world.requests(world.apiserver, world.user, mark))
    # A job that is slow to begin is reported once more; test_requests.py has the exact requests of a single job.
    assert 2 * AT_ONCE <= sent.pop("patch deployitems/status") <= STATUS_WRITES_MAX * AT_ONCE
    assert sent == {"get targets": AT_ONCE, "get secrets": AT_ONCE, "create configmaps": AT_ONCE}
    answered = samples(controller.metrics_address, "longshore_target_requests_total")
    [success] = [value for labels, value in answered.items()
                 if f'server="{world.apiserver.server}"' in labels and 'result="success"' in labels]
    assert success > AT_ONCE
    bare = bare_ms(world, AT_ONCE)
    print(f"CPU {cpu_ms:.2f} ms per job, {bare:.2f} ms for as many bare requests")
    assert cpu_ms <= max(CPU_MS_MAX, BARE_TIMES_MAX * bare)


def test_a_finished_item_needs_little_memory_and_no_request(own_world):
    world = own_world
    controller = started(world)
    empty = memory(controller.pid)["VmRSS"]
    controller.expected = False
    controller.stop()
    repeat(world, FINISHED, *world.finished_requests(f"done-{load.N}"))
    mark = world.apiserver.audit.mark()
    controller = started(world)
    full = memory(controller.pid)["VmRSS"]
    print(f"RSS {empty / 2**20:.2f} MiB without items, {full / 2**20:.2f} MiB with {FINISHED}")
    assert full - empty <= FINISHED * FINISHED_BYTES_MAX + VARIATION
    touched = [e["objectRef"]["name"] for e in world.apiserver.audit.entries(mark, user=controller.user)
               if e.get("objectRef", {}).get("name", "").startswith("done-")]
    assert touched == []
