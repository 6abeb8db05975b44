# SPDX-License-Identifier: Apache-2.0
"""Several controllers at once: of ours by a Lease, beside the Go deployer's by SyncObjects."""

import signal
import threading

import pytest

from bench.kube import DEPLOYITEMS, SYNCOBJECTS
from bench.waiting import wait_until
from controller_harness import FORCE_CLEANUP, WITHOUT_UNINSTALL, now, succeed, with_export_and_state
from faults.proxy import Action, PASS, status as unavailable


# Long enough for a loaded machine to renew it, and a fifth of what others have to wait for.
LEASE = {"leaderElection": {"enabled": True, "leaseDuration": "3s"}}


def leads(controller):
    lines = [line for line in controller.output().splitlines() if '"msg":"leading"' in line or '"msg":"not leading"' in line]
    return bool(lines) and '"msg":"leading"' in lines[-1]


def test_the_second_takes_over_when_the_first_ends_and_at_once_when_it_says_so(world):
    first = world.start(config=LEASE)
    first.wait_until(lambda: leads(first), "the first leads")
    second = world.start(config=LEASE)
    world.item("one")
    world.finished("one")
    assert not leads(second)
    first.expected = False
    assert first.stop() == 0
    second.wait_until(lambda: leads(second), "the second leads", timeout=10)
    world.item("two")
    world.finished("two")
    assert len(world.kubelet.ran("one")) == len(world.kubelet.ran("two")) == 1


def test_who_ends_gives_the_lease_back_however_long_it_is(world):
    lease = {"leaderElection": {"enabled": True, "leaseDuration": "1h"}}
    first = world.start(config=lease)
    first.wait_until(lambda: leads(first), "the first leads")
    first.expected = False
    assert first.stop() == 0
    [given] = world.kube.items("coordination.k8s.io/v1/leases", world.host)
    assert not given["spec"].get("holderIdentity")
    second = world.start(config=lease)
    second.wait_until(lambda: leads(second), "the second leads")


def is_inputs(request):
    return request.method == "PATCH" and "/secrets/" in request.path and "-in-" in request.path


def is_final_status(request):
    return request.method == "PATCH" and request.path.endswith("/item/status") and b"jobIDFinished" in request.body


def is_pod_delete(request):
    return request.method == "DELETE" and "/pods/" in request.path


# When the first is stopped: its write is done and the next one is due, or the write was turned away and waits to be sent again.
STOPS = [("the inputs are written", is_inputs, {}),
         *((f"{name} refused for now", at, {"forward": False, "answer": unavailable(503, "ServiceUnavailable")})
           for name, at in (("the inputs", is_inputs), ("the final status", is_final_status), ("the pod's end", is_pod_delete)))]


@pytest.mark.parametrize("at, action", [stop[1:] for stop in STOPS], ids=[stop[0] for stop in STOPS])
def test_one_that_was_stopped_longer_than_its_lease_writes_nothing_when_it_wakes_up(world, at, action):
    """The first is stopped in the middle of a run; the second finishes it; the first wakes up."""
    world.kubelet.behaviour = with_export_and_state
    stopped = threading.Event()

    def stop():
        first.signal(signal.SIGSTOP)
        stopped.set()

    def plan(request):
        if not at(request) or stopped.is_set():
            return PASS
        return Action(**action, **{"after" if action else "applied": stop})

    with world.behind(plan) as proxy:
        first = world.start(config=LEASE, proxy=proxy)
        first.wait_until(lambda: leads(first), "the first leads")
        second = world.start(config=LEASE)
        world.item("item")
        assert stopped.wait(30)
        try:
            second.wait_until(lambda: leads(second), "the second leads", timeout=60)
            status = world.finished("item")
            assert status["phase"] == "Succeeded"
            world.quiet()
        finally:
            mark = len(proxy.requests)
            first.signal(signal.SIGCONT)
        first.wait_until(lambda: "not leading" in first.output(), "the first knows")
        world.item("marker")
        world.finished("marker")
        world.quiet()
        written = [(r.method, r.path) for r in proxy.requests[mark:] if r.method != "GET" and "/leases" not in r.path]
    assert written == []
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


def test_a_pod_that_arrives_after_the_job_never_starts_and_is_removed(world):
    """The worst case: the write itself is held up on its way until the job has long been done by another."""
    held, release = threading.Event(), threading.Event()

    def wait_for_release():
        first.signal(signal.SIGSTOP)
        held.set()
        release.wait(120)

    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods") and not held.is_set():
            return Action(before=wait_for_release)
        return PASS

    with world.behind(plan) as proxy:
        first = world.start(config=LEASE, proxy=proxy)
        first.wait_until(lambda: leads(first), "the first leads")
        second = world.start(config=LEASE)
        world.item("item")
        assert held.wait(30)
        second.wait_until(lambda: leads(second), "the second leads", timeout=60)
        world.finished("item")
        world.quiet()
        pods = len(world.kubelet.pods)
        release.set()
        wait_until(lambda: len(world.kubelet.pods) > pods, "the late pod")
        world.quiet()
        first.signal(signal.SIGCONT)
        first.wait_until(lambda: "not leading" in first.output(), "the first knows")
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


# --- SyncObjects ---

REPLICAS = {"hpa": {"maxReplicas": 2, "averageCpuUtilization": 80}}


def lock(world, name, holder):
    uid = world.kube.get(DEPLOYITEMS, name, world.namespace)["metadata"]["uid"]
    world.kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "SyncObject",
                       "metadata": {"name": f"container-{uid}", "namespace": world.namespace},
                       "spec": {"podName": holder, "kind": "DeployItem", "name": name, "prefix": "container", "lastUpdateTime": now()}})


def start_replica(world):
    return world.start(config=REPLICAS, env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": world.host})


def test_a_run_takes_the_lock_and_gives_it_back(world):
    go_on = threading.Event()
    world.kubelet.behaviour = lambda pod: (pod.run(), go_on.wait(60), pod.succeed())
    start_replica(world)
    item = world.item("item")
    name = f"container-{item['metadata']['uid']}"
    held = wait_until(lambda: world.kube.find(SYNCOBJECTS, name, world.namespace), "the lock")
    assert held["spec"]["podName"] == "me" and held["spec"]["kind"] == "DeployItem" and held["spec"]["prefix"] == "container"
    go_on.set()
    world.finished("item")
    wait_until(lambda: world.kube.get(SYNCOBJECTS, name, world.namespace)["spec"]["podName"] == "", "the lock given back")


def test_a_lock_of_a_living_pod_or_of_nobody_one_can_ask_for_is_respected(world):
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
    world.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "living", "namespace": world.host},
                       "spec": {"containers": [{"name": "c", "image": "i"}]}})
    for name, holder in (("alive", "living"), ("outside", "nopodname"), ("dead", "died"), ("free", ""), ("mine", "me")):
        world.item(name, job=None)
        lock(world, name, holder)
        world.trigger(name, "job-1")
    start_replica(world)
    for name in ("dead", "free", "mine"):
        assert world.finished(name)["phase"] == "Succeeded"
    assert "phase" not in world.status("alive") and "phase" not in world.status("outside")


def test_an_unreadable_item_that_another_replica_holds_is_left_to_it(world):
    """The Go deployer can read it, and may be running it."""
    world.item("item", config={"importValues": {"text": "a\u0000b"}}, job=None)
    lock(world, "item", "nopodname")
    world.trigger("item", "job-1")
    start_replica(world)
    world.item("marker")
    world.finished("marker")
    assert "phase" not in world.status("item")


def test_a_deletion_takes_the_lock_and_respects_anothers(world):
    world.item("item", job=None)
    world.item("held", job=None)
    for name in ("item", "held"):
        world.trigger(name, "job-1")
    start_replica(world)
    for name in ("item", "held"):
        assert world.finished(name)["phase"] == "Succeeded"
    world.quiet()
    uid = world.kube.get(DEPLOYITEMS, "held", world.namespace)["metadata"]["uid"]
    wait_until(lambda: world.kube.get(SYNCOBJECTS, f"container-{uid}", world.namespace)["spec"]["podName"] == "", "the lock given back")
    # Nobody one can ask for: never taken from.
    world.kube.patch(SYNCOBJECTS, f"container-{uid}", {"spec": {"podName": "nopodname", "lastUpdateTime": now()}}, world.namespace)
    go_on = threading.Event()
    world.kubelet.behaviour = lambda pod: (pod.run(), go_on.wait(60), pod.succeed())
    world.delete("held")
    uid = world.kube.get(DEPLOYITEMS, "item", world.namespace)["metadata"]["uid"]
    world.delete("item")
    wait_until(lambda: world.kube.get(SYNCOBJECTS, f"container-{uid}", world.namespace)["spec"]["podName"] == "me", "the lock")
    go_on.set()
    world.gone("item")
    assert [start[2] for start in world.kubelet.ran("held")] == ["RECONCILE"]
    assert world.status("held")["phase"] == "Succeeded"


# --- namespaces that are going ---

@pytest.fixture
def ending(world):
    """A namespace with finished items that is deleted by ending(); what the namespace's controller would take first goes with it."""
    name = f"{world.namespace}-ending"
    world.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    world.context(namespace=name)

    def end():
        world.kube.delete("namespaces", name)
        for thing in world.kube.items(SYNCOBJECTS, name):
            world.kube.delete(SYNCOBJECTS, thing["metadata"]["name"], name)
    end.namespace = name
    yield end
    for thing in world.kube.items(DEPLOYITEMS, name):  # what a failed test left, before a later one's controller finds it
        world.kube.patch(DEPLOYITEMS, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, name)


@pytest.mark.parametrize("config", [REPLICAS, {}], ids=["replicas", "alone"])
def test_items_of_a_namespace_that_is_going_are_deleted_each_in_its_way(world, ending, config):
    """Nothing can be created in it any more: no lock, no Event. Nobody else can have the lock either."""
    controller = world.start(config=config, env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": world.host})
    ways = {"run": {}, "forced": {FORCE_CLEANUP: "true"}, "dropped": {WITHOUT_UNINSTALL: "true"}}
    for name in ways:
        world.item(name, namespace=ending.namespace)
        assert world.finished(name, namespace=ending.namespace)["phase"] == "Succeeded"
    world.quiet()
    ending()
    for name, annotations in ways.items():
        world.kube.delete(DEPLOYITEMS, name, ending.namespace)
        world.kube.patch(DEPLOYITEMS, name, {"metadata": {"annotations": annotations}}, ending.namespace)
        world.trigger(name, "job-delete", ending.namespace)
    for name in ways:
        world.gone(name, ending.namespace)
    wait_until(lambda: not world.host_objects(), "nothing left on the host")
    assert [start[2] for start in world.kubelet.ran("run")] == ["RECONCILE", "DELETE"]
    assert [start[2] for name in ("forced", "dropped") for start in world.kubelet.ran(name)] == ["RECONCILE"] * 2
    if config:
        assert "can't be locked, as its namespace is going" in controller.output()


def test_an_item_that_is_not_deleted_waits_for_its_lock_also_in_a_namespace_that_is_going(world, ending):
    controller = start_replica(world)
    world.item("item", namespace=ending.namespace, job=None)
    ending()
    world.trigger("item", "job-1", ending.namespace)
    controller.wait_until(lambda: "the item can't be locked" in controller.output(), "a line in the log")
    world.item("marker")
    world.finished("marker")
    assert "phase" not in world.status("item", ending.namespace)
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, ending.namespace)
    world.delete("item", namespace=ending.namespace)
    world.gone("item", ending.namespace)


def test_a_run_whose_namespace_goes_ends_though_its_export_has_no_place(world, ending):
    go_on = threading.Event()
    world.kubelet.behaviour = lambda pod: (pod.run(), go_on.wait(60), pod.export({"a": 1}), pod.succeed()) if pod.operation == "RECONCILE" else succeed(pod)
    start_replica(world)
    world.item("item", namespace=ending.namespace, timeout="none")
    wait_until(lambda: world.status("item", ending.namespace).get("phase") == "Progressing", "Progressing")
    ending()
    world.kube.delete(DEPLOYITEMS, "item", ending.namespace)
    go_on.set()
    status = world.finished("item", namespace=ending.namespace)
    assert status["phase"] == "Succeeded" and "exportRef" not in status
    world.trigger("item", "job-delete", ending.namespace)
    world.gone("item", ending.namespace)
