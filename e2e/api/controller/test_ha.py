# SPDX-License-Identifier: Apache-2.0
"""Several controllers at once: ours with a Lease, together with those of the Go deployer with SyncObjects."""

import json
import signal
import threading
import urllib.request

import pytest

from bench.kube import DEPLOYITEMS, SYNCOBJECTS
from bench.ports import free_port
from bench.waiting import wait_until
from controller_harness import (FORCE_CLEANUP, LEASE, WITHOUT_UNINSTALL, hang, leads, now, resume_without_lease, succeed,
                                with_export_and_state, writes)
from faults.proxy import Action, PASS, status as unavailable
from ship import go_chart


def test_the_second_instance_takes_over_when_the_first_one_stops(world):
    first = world.start(config=LEASE)
    first.wait_until(lambda: leads(first), "the first instance to lead")
    second = world.start(config=LEASE)
    world.item("one")
    world.finished("one")
    assert not leads(second)
    first.expected = False
    assert first.stop() == 0
    second.wait_until(lambda: leads(second), "the second instance to lead", timeout=10)
    world.item("two")
    world.finished("two")
    assert len(world.kubelet.ran("one")) == len(world.kubelet.ran("two")) == 1


def test_a_stopped_instance_releases_the_lease_however_long_it_is(world):
    lease = {"leaderElection": {"enabled": True, "leaseDuration": "1h"}}
    first = world.start(config=lease)
    first.wait_until(lambda: leads(first), "the first instance to lead")
    first.expected = False
    assert first.stop() == 0
    [given] = world.kube.items("coordination.k8s.io/v1/leases", world.host)
    assert not given["spec"].get("holderIdentity")
    second = world.start(config=lease)
    second.wait_until(lambda: leads(second), "the second instance to lead")


def is_inputs(request):
    return request.method == "PATCH" and "/secrets/" in request.path and "-in-" in request.path


def is_final_status(request):
    return request.method == "PATCH" and request.path.endswith("/item/status") and b"jobIDFinished" in request.body


def is_pod_delete(request):
    return request.method == "DELETE" and "/pods/" in request.path


# When the first instance is stopped: after a write and before the next one, or after a write was rejected and before the retry.
STOPS = [("the inputs are written", is_inputs, {}),
         *((f"{name} refused for now", at, {"forward": False, "answer": unavailable(503, "ServiceUnavailable")})
           for name, at in (("the inputs", is_inputs), ("the final status", is_final_status), ("the pod's end", is_pod_delete)))]


@pytest.mark.parametrize("at, action", [stop[1:] for stop in STOPS], ids=[stop[0] for stop in STOPS])
def test_an_instance_that_was_suspended_longer_than_its_lease_writes_nothing_afterwards(world, at, action):
    """The first instance is suspended during a run, the second one completes the run, then the first one continues."""
    world.kubelet.behaviour = with_export_and_state
    stopped = threading.Event()

    def stop():
        first.signal(signal.SIGSTOP)
        stopped.set()

    def plan(request):
        if not at(request) or stopped.is_set():
            return PASS
        return Action(**action, **{"after" if action else "applied": stop})

    with world.behind_proxy(plan) as proxy:
        first = world.start(config=LEASE, proxy=proxy)
        first.wait_until(lambda: leads(first), "the first instance to lead")
        second = world.start(config=LEASE)
        world.item("item")
        assert stopped.wait(30)
        try:
            second.wait_until(lambda: leads(second), "the second instance to lead", timeout=60)
            status = world.finished("item")
            assert status["phase"] == "Succeeded"
            world.wait_for_cleanup()
        finally:
            mark = len(proxy.requests)
            first.signal(signal.SIGCONT)
        first.wait_until(lambda: "not leading" in first.output(), "the first instance to notice")
        world.item("marker")
        world.finished("marker")
        world.wait_for_cleanup()
        written = writes(proxy, mark)
    assert written == []
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


def test_a_write_that_waits_for_its_connection_is_not_sent_when_the_lease_is_lost(world):
    """The first instance is suspended between the decision to send a write and the TLS handshake of its connection."""
    is_account_made, stopped = threading.Event(), threading.Event()

    def plan(request):
        if request.method == "POST" and request.path.endswith("/serviceaccounts"):
            return Action(goaway=True, after=is_account_made.set)    # closes the connection: the next write needs a new one
        if stopped.is_set() and "/leases" in request.path:
            return Action(forward=False, answer=unavailable(503, "ServiceUnavailable"))      # it does not lead again
        return PASS if "/leases" in request.path or request.is_watch else Action(goaway=True)

    def admit():
        if is_account_made.is_set() and not stopped.is_set():
            first.signal(signal.SIGSTOP)
            stopped.set()

    with world.behind_proxy(plan) as proxy:
        proxy.admit = admit
        first = world.start(config=LEASE, proxy=proxy)
        first.wait_until(lambda: leads(first), "the first instance to lead")
        second = world.start(config=LEASE)
        world.item("item")
        assert stopped.wait(60)
        mark = len(proxy.requests)
        resume_without_lease(first)
        first.wait_until(lambda: "not leading" in first.output(), "the first instance to notice")
        second.wait_until(lambda: leads(second), "the second instance to lead", timeout=60)
        assert world.finished("item")["phase"] == "Succeeded"
        world.wait_for_cleanup()
        written = writes(proxy, mark)
    assert written == []
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


def test_a_pod_that_is_created_after_the_end_of_its_job_never_starts_and_is_removed(world):
    """The worst case: the create request itself is delayed until another instance has finished the job."""
    held, release = threading.Event(), threading.Event()

    def wait_for_release():
        first.signal(signal.SIGSTOP)
        held.set()
        release.wait(120)

    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods") and not held.is_set():
            return Action(before=wait_for_release)
        return PASS

    with world.behind_proxy(plan) as proxy:
        first = world.start(config=LEASE, proxy=proxy)
        first.wait_until(lambda: leads(first), "the first instance to lead")
        second = world.start(config=LEASE)
        world.item("item")
        assert held.wait(30)
        second.wait_until(lambda: leads(second), "the second instance to lead", timeout=60)
        world.finished("item")
        world.wait_for_cleanup()
        pods = len(world.kubelet.pods)
        release.set()
        wait_until(lambda: len(world.kubelet.pods) > pods, "the late pod")
        world.wait_for_cleanup()
        first.signal(signal.SIGCONT)
        first.wait_until(lambda: "not leading" in first.output(), "the first instance to notice")
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


# --- SyncObjects ---

REPLICAS = {"hpa": {"maxReplicas": 2, "averageCpuUtilization": 80}}


def test_a_run_takes_the_lock_and_releases_it(world):
    go_on = threading.Event()
    world.kubelet.behaviour = lambda pod: (pod.run(), go_on.wait(60), pod.succeed())
    world.start_replica()
    item = world.item("item")
    name = f"container-{item['metadata']['uid']}"
    held = wait_until(lambda: world.kube.find(SYNCOBJECTS, name, world.namespace), "the lock")
    assert held["spec"]["podName"] == "me" and held["spec"]["kind"] == "DeployItem" and held["spec"]["prefix"] == "container"
    go_on.set()
    world.finished("item")
    wait_until(lambda: world.kube.get(SYNCOBJECTS, name, world.namespace)["spec"]["podName"] == "", "the release of the lock")


def test_a_lock_is_respected_if_its_holder_runs_or_cannot_be_checked(world):
    world.living_pod("living")
    for name, holder in (("alive", "living"), ("outside", "nopodname"), ("dead", "died"), ("free", ""), ("mine", "me")):
        world.item(name, job=None)
        world.lock(name, holder)
        world.trigger(name, "job-1")
    world.start_replica()
    for name in ("dead", "free", "mine"):
        assert world.finished(name)["phase"] == "Succeeded"
    assert "phase" not in world.status("alive") and "phase" not in world.status("outside")


def test_an_unreadable_item_that_another_replica_has_locked_is_not_processed(world):
    """The Go deployer can read it and may be running it."""
    world.item("item", config={"importValues": {"text": "a\u0000b"}}, job=None)
    world.lock("item", "nopodname")
    world.trigger("item", "job-1")
    world.start_replica()
    world.item("marker")
    world.finished("marker")
    assert "phase" not in world.status("item")


def test_a_deletion_takes_the_lock_and_respects_the_lock_of_others(world):
    world.item("item", job=None)
    world.item("held", job=None)
    for name in ("item", "held"):
        world.trigger(name, "job-1")
    world.start_replica()
    for name in ("item", "held"):
        assert world.finished(name)["phase"] == "Succeeded"
    world.wait_for_cleanup()
    uid = world.kube.get(DEPLOYITEMS, "held", world.namespace)["metadata"]["uid"]
    wait_until(lambda: world.kube.get(SYNCOBJECTS, f"container-{uid}", world.namespace)["spec"]["podName"] == "", "the release of the lock")
    # The holder cannot be checked, so its lock is never taken over.
    world.kube.patch(SYNCOBJECTS, f"container-{uid}", {"spec": {"podName": "nopodname", "lastUpdateTime": now()}}, world.namespace)
    go_on = threading.Event()
    world.kubelet.behaviour = lambda pod: (pod.run(), go_on.wait(60), pod.succeed())
    world.delete("held")
    uid = world.kube.get(DEPLOYITEMS, "item", world.namespace)["metadata"]["uid"]
    world.delete("item")
    wait_until(lambda: world.kube.get(SYNCOBJECTS, f"container-{uid}", world.namespace)["spec"]["podName"] == "me", "the lock")
    go_on.set()
    world.wait_until_deleted("item")
    assert [start[2] for start in world.kubelet.ran("held")] == ["RECONCILE"]
    assert world.status("held")["phase"] == "Succeeded"


# --- namespaces that are being deleted ---

@pytest.fixture
def ending(world):
    """A namespace with finished items. ending() deletes it, including the objects that the namespace controller removes first."""
    name = f"{world.namespace}-ending"
    world.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    world.context(namespace=name)

    def end():
        world.kube.delete("namespaces", name)
        for thing in world.kube.items(SYNCOBJECTS, name):
            world.kube.delete(SYNCOBJECTS, thing["metadata"]["name"], name)
    end.namespace = name
    yield end
    for thing in world.kube.items(DEPLOYITEMS, name):  # left by a failed test; the controller of a later test must not find them
        world.kube.patch(DEPLOYITEMS, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, name)


@pytest.mark.parametrize("config", [REPLICAS, {}], ids=["replicas", "alone"])
def test_items_in_a_terminating_namespace_are_deleted_in_the_way_that_they_ask_for(world, ending, config):
    """Nothing can be created in the namespace any more: no lock, no Event. Other replicas cannot create the lock either."""
    controller = world.start(config=config, env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": world.host})
    ways = {"run": {}, "forced": {FORCE_CLEANUP: "true"}, "dropped": {WITHOUT_UNINSTALL: "true"}}
    for name in ways:
        world.item(name, namespace=ending.namespace)
        assert world.finished(name, namespace=ending.namespace)["phase"] == "Succeeded"
    world.wait_for_cleanup()
    ending()
    for name, annotations in ways.items():
        world.kube.delete(DEPLOYITEMS, name, ending.namespace)
        world.kube.patch(DEPLOYITEMS, name, {"metadata": {"annotations": annotations}}, ending.namespace)
        world.trigger(name, "job-delete", ending.namespace)
    for name in ways:
        world.wait_until_deleted(name, ending.namespace)
    wait_until(lambda: not world.host_objects(), "deletion of everything on the host")
    assert [start[2] for start in world.kubelet.ran("run")] == ["RECONCILE", "DELETE"]
    assert [start[2] for name in ("forced", "dropped") for start in world.kubelet.ran(name)] == ["RECONCILE"] * 2
    if config:
        assert "deleting the item without a lock" in controller.output()


def test_an_item_that_is_not_deleted_needs_its_lock_even_in_a_terminating_namespace(world, ending):
    controller = world.start_replica()
    world.item("item", namespace=ending.namespace, job=None)
    ending()
    world.trigger("item", "job-1", ending.namespace)
    controller.wait_until(lambda: "cannot lock the item" in controller.output(), "the log message")
    world.item("marker")
    world.finished("marker")
    assert "phase" not in world.status("item", ending.namespace)
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, ending.namespace)
    world.delete("item", namespace=ending.namespace)
    world.wait_until_deleted("item", ending.namespace)


def test_a_run_in_a_terminating_namespace_ends_although_its_export_cannot_be_created(world, ending):
    go_on = threading.Event()
    world.kubelet.behaviour = lambda pod: (pod.run(), go_on.wait(60), pod.export({"a": 1}), pod.succeed()) if pod.operation == "RECONCILE" else succeed(pod)
    world.start_replica()
    world.item("item", namespace=ending.namespace, timeout="none")
    wait_until(lambda: world.status("item", ending.namespace).get("phase") == "Progressing", "phase Progressing")
    ending()
    world.kube.delete(DEPLOYITEMS, "item", ending.namespace)
    go_on.set()
    status = world.finished("item", namespace=ending.namespace)
    assert status["phase"] == "Succeeded" and "exportRef" not in status
    world.trigger("item", "job-delete", ending.namespace)
    world.wait_until_deleted("item", ending.namespace)


# --- shutting down ---

def test_the_metrics_endpoint_is_closed_before_the_watches_it_reports_on_are_freed(world):
    """A scrape that arrives while the lease is being released used to read freed watches."""
    port = free_port()
    scrapes, releasing = [], threading.Event()

    def scrape():
        releasing.set()
        for _ in range(3):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2).read()
                scrapes.append("answered")
            except OSError as error:
                scrapes.append(type(getattr(error, "reason", error)).__name__)

    def plan(request):
        if request.method == "PUT" and "/leases/" in request.path and b'"holderIdentity":""' in request.body.replace(b" ", b""):
            return Action(before=scrape)
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(config=LEASE, proxy=proxy, arguments=[f"--metrics-address=127.0.0.1:{port}"])
        controller.wait_until(lambda: leads(controller), "the controller to lead")
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
        controller.expected = False
        assert controller.stop() == 0
    assert releasing.is_set() and scrapes == ["ConnectionRefusedError"] * 3


# --- the rules of the chart of the Go deployer ---

def test_the_rules_of_the_go_chart_are_sufficient(world):
    """They do not include Leases: each item is locked separately, and the log reports the missing rule once."""
    world.kubelet.behaviour = with_export_and_state
    controller = world.start(config=LEASE, rules=go_chart.RULES, env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": world.host})
    item = world.item("item")
    held = wait_until(lambda: world.kube.find(SYNCOBJECTS, f"container-{item['metadata']['uid']}", world.namespace), "the lock")
    assert held["spec"]["podName"] == "me"
    assert world.finished("item")["phase"] == "Succeeded"
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(3))
    world.item("broken")
    assert world.finished("broken")["phase"] == "Failed"
    world.kubelet.behaviour = hang
    world.item("interrupted")
    wait_until(lambda: [pod for pod in world.pods() if pod["status"]["phase"] == "Running"], "main runs")
    world.interrupt("interrupted", "job-1")
    [pod] = [pod for pod in world.kubelet.pods.values() if pod.item()[1] == "interrupted"]
    assert pod.requested.wait(60), "wait is not asked to save the state before the pod is deleted"
    world.wait_for_cleanup()
    world.kubelet.behaviour = succeed
    world.delete("item")
    world.wait_until_deleted("item")
    world.wait_for_cleanup()
    assert world.kube.items("coordination.k8s.io/v1/leases", world.host) == []
    [line] = [json.loads(line) for line in controller.output().splitlines() if "missingRule" in line]
    assert line["level"] == "error" and "leases" in line["missingRule"] and line["namespace"] == world.host


def test_a_former_leader_that_loses_the_permission_for_the_lease_waits_for_it(world):
    """Another replica may still have the permission and be the leader, and a leader does not check locks."""
    denied = threading.Event()

    def plan(request):
        if "/leases" in request.path and denied.is_set():
            return Action(forward=False, answer=unavailable(403, "Forbidden", "leases is forbidden"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(config=LEASE, proxy=proxy)
        controller.wait_until(lambda: leads(controller), "the controller to lead")
        denied.set()
        controller.wait_until(lambda: not leads(controller) and controller.output().count("leases is forbidden") > 4, "several denied requests")
        world.item("item")
        controller.wait_until(lambda: controller.output().count("leases is forbidden") > 6, "more denied requests")
        assert "phase" not in world.status("item")
        denied.clear()
        assert world.finished("item")["phase"] == "Succeeded"
    assert world.kube.items(SYNCOBJECTS, world.namespace) == []


# --- a lock that was taken over ---

def test_a_lock_that_another_replica_has_taken_over_is_not_released(world):
    """Between the end of our run and the release, another replica took it over as the lock of a dead pod."""
    taken = threading.Event()

    def steal():
        [found] = world.kube.items(SYNCOBJECTS, world.namespace)
        world.kube.patch(SYNCOBJECTS, found["metadata"]["name"], {"spec": {"podName": "another"}}, world.namespace)
        taken.set()

    def plan(request):
        if not taken.is_set() and is_final_status(request):
            return Action(applied=steal)
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(config=REPLICAS, proxy=proxy, env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": world.host})
        world.item("item")
        world.finished("item")
        world.wait_for_cleanup()
        # Once to take it, once to release it.
        wait_until(lambda: len([r for r in proxy.requests if r.method == "GET" and "/syncobjects/" in r.path]) >= 2, "the lock is read again")
        world.item("marker", job="job-1")
        world.finished("marker")
        written = [r for r in proxy.requests if r.method == "PUT" and "/syncobjects/" in r.path and b'"me"' in r.body]
    item = world.kube.get(DEPLOYITEMS, "item", world.namespace)
    assert world.kube.get(SYNCOBJECTS, f"container-{item['metadata']['uid']}", world.namespace)["spec"]["podName"] == "another"
    assert taken.is_set() and not written
