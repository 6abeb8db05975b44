# SPDX-License-Identifier: Apache-2.0
"""Failures of watches: lists that break, items that are deleted unnoticed, an etcd that was restored from a backup."""

import re
import threading

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import World, hang
from faults.proxy import Action, PASS, status


def is_list(request):
    """Whether the request lists all items, unlike a list of one item that only asks for the current resourceVersion."""
    return request.method == "GET" and request.path.endswith("/deployitems") and not request.is_watch and request.query["limit"] != "1"


def is_item_watch(request):
    return request.is_watch and request.path.endswith("/deployitems")


def is_of_item(request):
    return request.path.endswith(("/deployitems/item", "/deployitems/item/status"))


def remove(world, name):
    """Deletes the item by removing its finalizer, without the controller."""
    world.kube.delete(DEPLOYITEMS, name, world.namespace)
    world.kube.patch(DEPLOYITEMS, name, {"metadata": {"finalizers": None}}, world.namespace)
    world.wait_until_deleted(name)


def test_an_item_that_is_deleted_while_a_list_is_retried_is_not_kept(world):
    """The first attempt lists the item and breaks; the second attempt does not contain it any more."""
    is_expired, is_broken, is_removed = threading.Event(), threading.Event(), threading.Event()

    def plan(request):
        if is_item_watch(request) and is_expired.is_set() and not is_removed.is_set():
            return Action(forward=False, answer=status(410, "Expired"))
        if not is_list(request) or not is_expired.is_set() or is_removed.is_set():
            return PASS
        if is_broken.is_set():
            return Action(forward=False, answer=status(503, "ServiceUnavailable"))
        return Action(alter=lambda headers, body: body[:-10], after=is_broken.set)

    world.kubelet.behaviour = hang
    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item", timeout="none")
        wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
        is_expired.set()
        proxy.cut()
        assert is_broken.wait(60), "the list was not requested"
        remove(world, "item")
        is_removed.set()
        wait_until(lambda: not world.pods(), "deletion of the pod of the deleted item")
        assert "cannot write the status" not in controller.output()


def test_an_item_that_does_not_exist_any_more_is_forgotten_even_without_a_watch_event(world):
    """The watch is silent, and the first sign of the deletion is the 404 for a status write."""
    is_deaf, is_over = threading.Event(), threading.Event()

    def plan(request):
        if is_item_watch(request) and is_deaf.is_set():
            return Action(forward=False, hang=True)
        return PASS

    world.kubelet.behaviour = lambda pod: (pod.run(), is_over.wait(60), pod.succeed())
    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item", timeout="none")
        wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
        is_deaf.set()
        proxy.cut()
        wait_until(lambda: [r for r in proxy.requests if is_item_watch(r)][1:], "the silent watch")
        remove(world, "item")
        mark = len(proxy.requests)
        is_over.set()
        world.wait_for_cleanup()
        asked = [r.method for r in proxy.requests[mark:] if is_of_item(r)]
        # The collector may also request an item for which it finds objects.
        assert asked[:2] == ["PATCH", "GET"] and "PATCH" not in asked[2:], asked
        assert "retryMs" not in controller.output()


def delays(controller, text):
    """The number of log lines with this reason for a delay."""
    return sum(text in line and "retryMs" in line for line in controller.output().splitlines())


def test_an_item_is_not_considered_deleted_while_the_server_does_not_serve_items_at_all(world):
    """This is a 404 as well: a server that has just started may not know the CRD yet."""
    is_lost = threading.Event()

    def plan(request):
        if is_of_item(request) and is_lost.is_set():
            return Action(forward=False, answer=status(404, "NotFound", "the server could not find the requested resource"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), is_lost.set(), pod.export({"a": 1}), pod.succeed())
        world.item("item")
        wait_until(lambda: delays(controller, "could not find the requested resource"), "the item to be delayed")
        is_lost.clear()
        assert world.finished("item")["phase"] == "Succeeded"
        assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


def test_a_server_restored_from_a_backup_does_not_cause_a_request_loop(world):
    """The status write conflicts because the item differs, and the item on the server is older than the one that we know."""
    is_older = threading.Event()

    def age(headers, body):
        return re.sub(rb'"resourceVersion":"[0-9]+"', b'"resourceVersion":"1"', body)

    def plan(request):
        if not is_of_item(request) or not is_older.is_set():
            return PASS
        return Action(alter=age) if request.method == "GET" else Action(forward=False, answer=status(409, "Conflict"))

    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), is_older.set(), pod.succeed())
        world.item("item")
        wait_until(lambda: delays(controller, "older than the one it sent before") >= 2, "the item to be delayed")
        held = delays(controller, "older than the one it sent before")
        refused = sum(r.method == "PATCH" for r in list(proxy.requests) if is_of_item(r))
        assert refused <= held + 3, (refused, held)  # one at the start of the job, and one pending
        is_older.clear()
        assert world.finished("item")["phase"] == "Succeeded"


def test_the_controller_continues_after_etcd_was_restored_from_a_backup(private_apiserver):
    """A watch from a future version is not an error for the server: it opens the stream and sends nothing."""
    server = private_apiserver
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "items"}})
    world = World(server, "items")
    try:
        controller = world.start()
        world.item("old")
        world.finished("old")
        world.wait_for_cleanup()
        server.kill()
        backup = server.etcd.backup()
        server.start()
        world.trigger("old", "job-2")
        world.finished("old", "job-2", timeout=90)
        for number in range(300):
            server.kube.patch("namespaces", "items", {"metadata": {"annotations": {"number": str(number)}}})
        # The last event of the watches has a version far ahead of the backup.
        world.trigger("old", "job-3")
        world.item("lost")
        world.finished("old", "job-3")
        world.finished("lost")
        world.wait_for_cleanup()
        server.kill()
        server.etcd.restore(backup)
        server.start()
        assert world.status("old")["jobIDFinished"] == "job-1"
        world.trigger("old", "job-9")
        world.item("new")
        assert world.finished("old", "job-9", timeout=120)["phase"] == "Succeeded"
        assert world.finished("new", timeout=120)["phase"] == "Succeeded"
        assert controller.output().count("older state") == 2  # once for each watch
    finally:
        world.close()
