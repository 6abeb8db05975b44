# SPDX-License-Identifier: Apache-2.0
"""Items so large that etcd has no room left for their status: any write to one may be rejected as too large."""

import json

import pytest

from bench.kube import DEPLOYITEMS, ApiError
from bench.waiting import wait_until
from controller_harness import FORCE_CLEANUP, World, with_export_and_state
from faults.proxy import Action, PASS, status as refusal

LARGEST = 1572864  # the default limit of etcd for a request
REFUSED = "etcdserver: request is too large"


@pytest.fixture
def narrow(make_apiserver):
    """A world with the default request limit of etcd, which most clusters have."""
    server = make_apiserver(request_bytes=None)
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "narrow"}})
    made = World(server, "narrow")
    yield made
    made.close()


def set_size(world, name, size):
    """Returns False if the API server rejects it."""
    try:
        world.kube.patch(DEPLOYITEMS, name, {"spec": {"config": {"importValues": {"x": "y" * size}}}}, world.namespace)
    except ApiError as error:
        assert REFUSED in str(error), error
        return False
    return True


def largest_size(world):
    """The largest size of the values of a triggered item: one byte more is rejected."""
    world.item("measure-0")  # as long as the names in the tests
    taken, refused = LARGEST - 8192, LARGEST
    while refused - taken > 1:
        middle = (taken + refused) // 2
        taken, refused = (middle, refused) if set_size(world, "measure-0", middle) else (taken, middle)
    world.kube.patch(DEPLOYITEMS, "measure-0", {"metadata": {"finalizers": None}}, world.namespace)
    world.kube.delete(DEPLOYITEMS, "measure-0", world.namespace)
    return taken


def reasons(world, name):
    return [event["reason"] for event in world.events(name)]


def test_jobs_without_room_for_their_status_are_reported(narrow):
    """Tests from no room at all to enough room. The sizes in between are not fixed, but every failure must be reported."""
    size = largest_size(narrow)
    names = {f"left-{left:04}": left for left in (30, 100, 300, 600, 800, 1000, 1200, 1500, 2000, 5000)}
    for name, left in names.items():
        narrow.item(name)
        assert set_size(narrow, name, size - left), name
    controller = narrow.start()
    ends = {}
    for name in names:
        wait_until(lambda: reasons(narrow, name), f"an Event of {name}")
        status = narrow.status(name)
        ends[name] = status.get("lastError", {}).get("reason")
        if ends[name]:
            assert status["phase"] == "Failed" and status["jobIDFinished"] == "job-1", (name, status)
            assert status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"]
        if ends[name] in (None, "ItemTooLarge"):
            assert reasons(narrow, name) == ["ItemTooLarge"]
        if ends[name] == "ItemTooLarge":
            assert "KiB smaller" in status["lastError"]["message"] and "providerStatus" not in status
    # No room, room for the minimal status, room for the whole status, in this order.
    order = [end if end in (None, "ItemTooLarge") else "whole" for end in ends.values()]
    assert order == sorted(order, key=[None, "ItemTooLarge", "whole"].index), ends
    assert {None, "ItemTooLarge", "whole"} == set(order), ends
    narrow.item("good")
    assert narrow.finished("good")["phase"] == "Succeeded"
    assert '"level":"error"' in controller.output()
    # The remedy: make the item smaller or delete it.
    assert set_size(narrow, "left-0030", 10)
    assert narrow.finished("left-0030")["phase"] == "Succeeded"
    narrow.delete("left-1500")
    narrow.wait_until_deleted("left-1500")


def test_an_item_without_room_for_a_status_can_be_deleted_and_force_cleaned(narrow):
    narrow.start()
    for name in ("run", "forced"):
        narrow.item(name)
        assert narrow.finished(name)["phase"] == "Succeeded"
    size = largest_size(narrow)
    for name in ("run", "forced"):
        narrow.delete(name, job=None)
        if name == "forced":
            narrow.kube.patch(DEPLOYITEMS, name, {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, narrow.namespace)
        while not set_size(narrow, name, size):
            size -= 100
        size += 100
    for name in ("run", "forced"):
        item = narrow.kube.get(DEPLOYITEMS, name, narrow.namespace)
        narrow.kube.patch(DEPLOYITEMS, name, {"status": {"jobID": "job-d"}, "metadata": {"resourceVersion": item["metadata"]["resourceVersion"]}},
                          narrow.namespace, "status")
    narrow.wait_until_deleted("forced")
    # Its inputs no longer fit into a Secret, so the run cannot start: this is reported, without the old details.
    status = narrow.finished("run", "job-d")
    assert status["phase"] == "DeleteFailed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"]


def refuse_details(request):
    """Rejects only status writes with details of the pod as too large."""
    if request.method != "PATCH" or not request.path.endswith("/item/status"):
        return PASS
    if not json.loads(request.body)["status"].get("providerStatus"):
        return PASS
    return Action(forward=False, answer=refusal(500, "InternalError", REFUSED))


def test_a_run_whose_first_status_does_not_fit_fails_and_does_not_run_twice(world):
    """If the first status of the job does not fit, the result will not fit either."""
    with world.behind_proxy(refuse_details) as proxy:
        world.start(proxy=proxy)
        world.item("item")
        status = world.finished("item")
        assert status["phase"] == "Failed" and status["lastError"]["reason"] == "ItemTooLarge"
        world.wait_for_cleanup()
    assert len(world.kubelet.pods) == 1


def test_a_run_whose_first_status_fits_keeps_its_result(world):
    """The details of the pod do not fit, but success and export do."""
    def plan(request):
        body = json.loads(request.body)["status"] if request.path.endswith("/item/status") and request.method == "PATCH" else {}
        return PASS if body.get("phase") == "Progressing" else refuse_details(request)

    world.kubelet.behaviour = with_export_and_state
    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item")
        status = world.finished("item")
        assert status["phase"] == "Succeeded" and status["exportRef"] and "lastError" not in status
        assert "providerStatus" not in status
        controller.wait_until(lambda: "item is too large for its status" in controller.output(), "the log message")
        world.wait_for_cleanup()


def test_a_test_reconcile_without_room_is_reported_and_not_retried_at_once(world):
    def plan(request):
        if request.method == "PATCH" and request.path.endswith("/item/status") and b'"jobID"' in request.body:
            return Action(forward=False, answer=refusal(500, "InternalError", REFUSED))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("item")
        world.finished("item")
        world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {"landscaper.gardener.cloud/operation": "test-reconcile"}}},
                         world.namespace)
        wait_until(lambda: "ItemTooLarge" in reasons(world, "item"), "an Event")
        world.item("marker")
        world.finished("marker")
        tries = [r for r in proxy.requests if r.method == "PATCH" and r.path.endswith("/item/status") and b'"jobID"' in r.body]
    assert len(tries) < 10
    assert world.status("item")["phase"] == "Succeeded"
