# SPDX-License-Identifier: Apache-2.0
"""What the watches miss: lists that break off half-way, items that go unseen, an etcd that was put back."""

import re
import threading

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import World, hang
from faults.proxy import Action, PASS, status


def is_list(request):
    """Of all items, not the single one that only asks how far the server is."""
    return request.method == "GET" and request.path.endswith("/deployitems") and not request.is_watch and request.query["limit"] != "1"


def is_item_watch(request):
    return request.is_watch and request.path.endswith("/deployitems")


def is_of_item(request):
    return request.path.endswith(("/deployitems/item", "/deployitems/item/status"))


def remove(world, name):
    """Behind the controller's back: its finalizer is taken off by somebody else."""
    world.kube.delete(DEPLOYITEMS, name, world.namespace)
    world.kube.patch(DEPLOYITEMS, name, {"metadata": {"finalizers": None}}, world.namespace)
    world.gone(name)


def test_an_item_that_goes_while_a_list_starts_over_is_not_kept(world):
    """The first try lists it, and breaks off; the second one has it no more."""
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
    with world.behind(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item", timeout="none")
        wait_until(lambda: world.status("item").get("phase") == "Progressing", "the job is under way")
        is_expired.set()
        proxy.cut()
        assert is_broken.wait(60), "the list was never begun"
        remove(world, "item")
        is_removed.set()
        wait_until(lambda: not world.pods(), "the pod of an item that is gone has gone")
        assert "the status can't be written" not in controller.output()


def test_an_item_that_the_server_no_longer_has_is_gone_whatever_the_watch_says(world):
    """The watch is silent, and the first that we hear is that the status has nowhere to go."""
    is_deaf, is_over = threading.Event(), threading.Event()

    def plan(request):
        if is_item_watch(request) and is_deaf.is_set():
            return Action(forward=False, hang=True)
        return PASS

    world.kubelet.behaviour = lambda pod: (pod.run(), is_over.wait(60), pod.succeed())
    with world.behind(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item", timeout="none")
        wait_until(lambda: world.status("item").get("phase") == "Progressing", "the job is under way")
        is_deaf.set()
        proxy.cut()
        wait_until(lambda: [r for r in proxy.requests if is_item_watch(r)][1:], "the silent watch")
        remove(world, "item")
        mark = len(proxy.requests)
        is_over.set()
        world.quiet()
        asked = [r.method for r in proxy.requests[mark:] if is_of_item(r)]
        # The collector may ask for an item of which it finds things, too.
        assert asked[:2] == ["PATCH", "GET"] and "PATCH" not in asked[2:], asked
        assert "retryMs" not in controller.output()


def held_up(controller, words):
    """How often the item was held up for this."""
    return sum(words in line and "retryMs" in line for line in controller.output().splitlines())


def test_an_item_is_not_gone_while_the_server_serves_no_items_at_all(world):
    """404 as well: a server that has just started may not know the CRD yet."""
    is_lost = threading.Event()

    def plan(request):
        if is_of_item(request) and is_lost.is_set():
            return Action(forward=False, answer=status(404, "NotFound", "the server could not find the requested resource"))
        return PASS

    with world.behind(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), is_lost.set(), pod.export({"a": 1}), pod.succeed())
        world.item("item")
        wait_until(lambda: held_up(controller, "could not find the requested resource"), "the item is held up")
        is_lost.clear()
        assert world.finished("item")["phase"] == "Succeeded"
        assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


def test_a_server_that_was_put_back_is_not_asked_in_a_loop(world):
    """The status is refused, as the item is another, and the item that is there is older than the one that we know."""
    is_older = threading.Event()

    def age(headers, body):
        return re.sub(rb'"resourceVersion":"[0-9]+"', b'"resourceVersion":"1"', body)

    def plan(request):
        if not is_of_item(request) or not is_older.is_set():
            return PASS
        return Action(alter=age) if request.method == "GET" else Action(forward=False, answer=status(409, "Conflict"))

    with world.behind(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), is_older.set(), pod.succeed())
        world.item("item")
        wait_until(lambda: held_up(controller, "older than what it told") >= 2, "the item is held up")
        held = held_up(controller, "older than what it told")
        refused = sum(r.method == "PATCH" for r in list(proxy.requests) if is_of_item(r))
        assert refused <= held + 3, (refused, held)  # the one of the job's beginning, and one under way
        is_older.clear()
        assert world.finished("item")["phase"] == "Succeeded"


def test_after_etcd_was_put_back_to_an_older_state_all_goes_on(private_apiserver):
    """A watch from a version that is still to come is no error to the server: it opens the stream and says nothing."""
    server = private_apiserver
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "items"}})
    world = World(server, "items")
    try:
        controller = world.start()
        world.item("old")
        world.finished("old")
        world.quiet()
        server.kill()
        backup = server.etcd.backup()
        server.start()
        world.trigger("old", "job-2")
        world.finished("old", "job-2", timeout=90)
        for number in range(300):
            server.kube.patch("namespaces", "items", {"metadata": {"annotations": {"number": str(number)}}})
        # The last thing that the watches hear has a version that is far ahead of the backup's.
        world.trigger("old", "job-3")
        world.item("lost")
        world.finished("old", "job-3")
        world.finished("lost")
        world.quiet()
        server.kill()
        server.etcd.restore(backup)
        server.start()
        assert world.status("old")["jobIDFinished"] == "job-1"
        world.trigger("old", "job-9")
        world.item("new")
        assert world.finished("old", "job-9", timeout=120)["phase"] == "Succeeded"
        assert world.finished("new", timeout=120)["phase"] == "Succeeded"
        assert controller.output().count("older state") == 2  # of both watches, once
    finally:
        world.close()
