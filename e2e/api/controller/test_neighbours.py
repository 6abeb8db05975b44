# SPDX-License-Identifier: Apache-2.0
"""Another deployer in the same host namespace has an item, or only a pod, with the name that ours would get."""

import hashlib

import pytest

from bench.audit import resource_of
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import (GROUP, HOST_KINDS, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OURS, encode, now, succeed,
                                with_export_and_state)
from faults.clock import HOUR, Clock
from faults.proxy import Action, PASS

# Our configuration, and the labels of the pod of the other deployer.
NEIGHBOURS = {
    "another identity": ({}, {f"{GROUP}/deployer-id": "other"}),
    "no identity": ({}, {f"{GROUP}/deployer-id": ""}),
    "no deployer": ({}, {}),
    "another Landscaper": ({"identity": ""}, {f"{GROUP}/deployer-id": "", f"{OURS}/landscaper": "another"}),
}
# The cases in which the other deployer can have an account, which identifies its owner.
DEPLOYERS = {name: both for name, both in NEIGHBOURS.items() if both[1]}
EVERY_SECOND = {"garbageCollection": {"requeueTimeSeconds": 1}}


def hash_of(world, name):
    return hashlib.sha256(f"{world.namespace}/{name}".encode()).hexdigest()[:16]


def take_name(world, name, said):
    """Creates a running pod that no kubelet processes."""
    world.kubelet.close()
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
    pod = f"{name}-{hash_of(world, name)}"
    world.kube.create({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]},
                       "metadata": {"name": pod, "namespace": world.host,
                                    "annotations": {f"{OURS}/item-uid": "another", f"{OURS}/job": "theirs"},
                                    "labels": {LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: world.namespace, **said}}})
    world.kube.patch("pods", pod, {"status": {"phase": "Running"}}, world.host, "status")
    return world.kube.get("pods", pod, world.host)


@pytest.mark.parametrize("config, said", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_pod_name_in_use_by_another_deployer_is_reported_and_its_pod_is_not_touched(world, config, said):
    theirs = take_name(world, "item", said)
    controller = world.start(config=config)
    world.item("item")
    error = wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
    assert "belongs to another deployer" in error["message"]
    # The controller retries, but not without a pause.
    controller.wait_until(lambda: controller.output().count('"action":"start"') > 1, "the next attempt")
    assert controller.output().count('"action":"start"') < 20
    assert world.kube.get("pods", theirs["metadata"]["name"], world.host) == theirs
    world.kube.delete("pods", theirs["metadata"]["name"], world.host, gracePeriodSeconds=0)
    wait_until(lambda: [p for p in world.pods() if f"{OURS}/job" in p["metadata"].get("annotations", {})], "a pod of ours")


@pytest.mark.parametrize("config, said", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_pod_of_another_deployer_is_not_mistaken_for_a_lost_pod(world, config, said):
    theirs = take_name(world, "item", said)
    world.item("item")
    begun = {"phase": "Progressing", "observedGeneration": 1, "transitionTimes": {"initTime": now()},
             "providerStatus": {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderStatus",
                                "podStatus": {"podName": theirs["metadata"]["name"]}}}
    world.kube.patch(DEPLOYITEMS, "item", {"status": begun}, world.namespace, "status")
    world.start(config=config)
    status = world.finished("item")
    assert (status["phase"], status["lastError"]["reason"]) == ("Failed", "PodLost")
    assert world.kube.get("pods", theirs["metadata"]["name"], world.host) == theirs


# --- an item, with its account ---

class Neighbour:
    """An item of another deployer with all objects of a run, and with enough old state to be worth a cleanup."""

    def __init__(self, world, name, said, generations=8):
        self.world, self.hash, self.made = world, hash_of(world, name), []
        self.account = f"{name}-{self.hash}-run"
        of_item = {LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: world.namespace, f"{OURS}/item": self.hash}
        theirs, run = {**of_item, f"{GROUP}/name": name, **said}, {f"{OURS}/role": "run"}
        self.make("ServiceAccount", self.account, theirs)
        self.make("Role", self.account, theirs, rules=[])
        self.make("RoleBinding", self.account, theirs, roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": self.account})
        self.make("Secret", f"{name}-{self.hash}-in-0123456789", {**theirs, **run})
        self.make("Secret", f"{name}-{self.hash}-pull-0123456789", {**theirs, **run})
        self.make("Secret", f"{world.namespace}-{name}-export", {**of_item, f"{GROUP}/name": name, **run})
        for number in range(generations):
            group = f"00000000-0000-0000-0000-00000000000{number}"
            self.make("Secret", f"state-{world.namespace}-{name}-{group}-0", {**of_item, f"{GROUP}/type": "state"}, {
                f"{GROUP}/uuid": group, f"{GROUP}/num": "0", f"{OURS}/chunks": "1", f"{OURS}/sha256": "0" * 64,
                f"{OURS}/sequence": str(1000 + number), f"{OURS}/item-name": name, f"{OURS}/item-namespace": world.namespace},
                data={"config": encode(b"theirs")})
        self.before = self.now()

    def make(self, kind, name, labels, annotations=None, **body):
        version = "rbac.authorization.k8s.io/v1" if kind.startswith("Role") else "v1"
        self.take(self.world.kube.create({"apiVersion": version, "kind": kind, **body, "metadata": {
            "name": name, "namespace": self.world.host, "labels": labels, "annotations": {f"{OURS}/item-uid": "another", **(annotations or {})}}}))

    def take(self, thing):
        self.made.append((next(k for k in HOST_KINDS if k.endswith(thing["kind"].lower() + "s")), thing["metadata"]["name"]))
        self.before = self.now()

    def now(self):
        """The resourceVersion of every object of the other deployer, None if it was deleted."""
        found = {(kind, name): self.world.kube.find(kind, name, self.world.host) for kind, name in self.made}
        return {key: thing and thing["metadata"]["resourceVersion"] for key, thing in found.items()}

    def is_untouched(self):
        assert self.now() == self.before
        return True

    def leave(self):
        """Cleans up like a deployer: the account last."""
        for kind, name in reversed(self.made):
            self.world.kube.delete(kind, name, self.world.host, gracePeriodSeconds=0)


def error_with(world, text):
    return wait_until(lambda: (e := world.status("item").get("lastError")) and text in e["message"] and e, "the error in the status")


def collect(world, controller):
    """Waits for a complete pass of the collector: until two more passes have started."""
    mark = world.apiserver.audit.mark()

    def begun():
        return [e for e in world.apiserver.audit.entries(mark, user=controller.user) if (e["verb"], resource_of(e)) == ("list", "configmaps")]
    controller.wait_until(lambda: len(begun()) > 1, "the end of a pass", timeout=180)


@pytest.fixture
def late():
    """Sets the clock of the controller ahead, so that new objects are old enough for the collector."""
    clock = Clock()
    clock.jump(HOUR)
    return {"env": clock.environment}


@pytest.mark.parametrize("config, said", DEPLOYERS.values(), ids=DEPLOYERS)
def test_a_name_in_use_by_an_item_of_another_deployer_is_reported_and_its_objects_are_not_touched(world, config, said):
    theirs = Neighbour(world, "item", said)
    controller = world.start(config=config)
    world.item("item")
    error = error_with(world, "another deployer")
    assert (error["operation"], error["reason"]) == ("DeployPod", "EnsurePodRBAC")
    for part in (f'"{theirs.account}"', f'"{world.host}"', said[f"{GROUP}/deployer-id"], "host namespace of its own", "delete"):
        assert part in error["message"]
    # The controller retries, but not without a pause.
    controller.wait_until(lambda: controller.output().count('"action":"start"') > 2, "the next attempt")
    assert controller.output().count('"action":"start"') < 20
    assert theirs.is_untouched() and world.kubelet.ran() == []
    theirs.leave()
    assert world.finished("item")["phase"] == "Succeeded"
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]


@pytest.mark.parametrize("is_running", [False, True])
@pytest.mark.parametrize("config, said", DEPLOYERS.values(), ids=DEPLOYERS)
def test_a_job_rejected_for_its_name_is_interrupted_and_deleted_without_touching_the_other_deployer(world, late, config, said, is_running):
    theirs = Neighbour(world, "item", said)
    if is_running:
        theirs.take(take_name(world, "item", said))
    controller = world.start(config={**config, **EVERY_SECOND}, **late)
    world.item("item")
    error_with(world, "another deployer")
    world.interrupt("item", "job-1")
    collect(world, controller)
    assert theirs.is_untouched()
    # Now delete it while it is blocked.
    world.trigger("item", "job-2")
    wait_until(lambda: world.status("item").get("phase") == "Init" and world.status("item").get("lastError"), "the rejection of the second job")
    world.delete("item", job=None)  # the open job performs the deletion at once
    world.wait_until_deleted("item", timeout=180)
    collect(world, controller)
    assert theirs.is_untouched() and world.kubelet.ran() == []
    left = {o.rpartition("/")[2] for o in world.host_objects()}
    assert left == {name for _, name in theirs.made}, "objects of ours are left, or objects of the other deployer are missing"


@pytest.mark.parametrize("config, said", DEPLOYERS.values(), ids=DEPLOYERS)
def test_a_name_that_another_deployer_took_over_unnoticed_is_not_touched_once_that_is_detected(world, late, config, said):
    """The status says that our account exists, so it is not checked; but it was deleted manually and the other deployer created its own."""
    controller = world.start(config={**config, **EVERY_SECOND}, **late)
    world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    world.wait_for_cleanup()
    for kind in ("serviceaccounts", "rbac.authorization.k8s.io/v1/roles", "rbac.authorization.k8s.io/v1/rolebindings"):
        world.kube.delete(kind, f"item-{hash_of(world, 'item')}-run", world.host)
    theirs = Neighbour(world, "item", said, generations=1)
    theirs.take(take_name(world, "item", said))
    world.trigger("item", "job-2")
    error_with(world, f'"{theirs.account}"')
    world.interrupt("item", "job-2")
    collect(world, controller)
    assert theirs.is_untouched()
    assert [job for _, job, _ in world.kubelet.ran("item")] == ["job-1"]


# --- our own deployer with another identity ---

# The configurations before and after. The proxy gives the same Landscaper another address.
MOVES = {
    "another identity": ({}, {"identity": "other"}, False),
    "no identity any more": ({}, {"identity": ""}, False),
    "an identity at last": ({"identity": ""}, {}, False),
    "another address of the API server": ({"identity": ""}, {"identity": ""}, True),
}


def run_and_stop(world, config):
    """Runs an item with a deployer of this configuration and stops that deployer."""
    world.kubelet.behaviour = with_export_and_state
    controller = world.start(config=config)
    world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    world.wait_for_cleanup()
    controller.expected = False
    controller.stop()


@pytest.mark.parametrize("before, after, has_proxy", MOVES.values(), ids=MOVES)
def test_the_account_of_an_item_is_ours_whatever_our_identity_was_when_it_was_created(world, before, after, has_proxy):
    run_and_stop(world, before)
    sequences = []

    def again(pod):
        sequences.append(int(pod.env["LONGSHORE_STATE_SEQUENCE"]))
        succeed(pod)

    world.kubelet.behaviour = again
    with world.behind_proxy(lambda request: PASS) as proxy:
        world.start(config=after, proxy=proxy if has_proxy else None)
        world.trigger("item", "job-2")
        assert world.finished("item", "job-2")["phase"] == "Succeeded"
        world.delete("item")
        world.wait_until_deleted("item")
        wait_until(lambda: not world.host_objects(), "deletion of everything on the host")
    assert [operation for _, _, operation in world.kubelet.ran("item")] == ["RECONCILE", "RECONCILE", "DELETE"]
    assert all(sequences), "a run did not get the state of the previous one"


@pytest.mark.parametrize("before, after, has_proxy", MOVES.values(), ids=MOVES)
def test_objects_created_with_another_identity_are_deleted_with_the_item_without_a_run(world, before, after, has_proxy):
    run_and_stop(world, before)
    with world.behind_proxy(lambda request: PASS) as proxy:
        world.start(config={**after, "deleteOperation": "skip"}, proxy=proxy if has_proxy else None)
        world.delete("item")
        world.wait_until_deleted("item")
        wait_until(lambda: not world.host_objects(), "deletion of everything on the host")
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded", "the name cannot be used again"


@pytest.mark.parametrize("config", [{}, {"identity": ""}])
def test_an_account_without_a_deployer_id_is_taken_over(world, config):
    account = f"item-{hash_of(world, 'item')}-run"
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": world.host}})
    world.start(config=config)
    made = world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    account = world.kube.get("serviceaccounts", account, world.host)
    assert account["metadata"]["annotations"][f"{OURS}/item-uid"] == made["metadata"]["uid"]
    assert account["metadata"]["labels"][f"{OURS}/item"] == hash_of(world, "item") and account["automountServiceAccountToken"] is False


@pytest.mark.parametrize("becomes_theirs", ["in our place", "by our side", None])
@pytest.mark.parametrize("verb", ["POST", "GET"])
def test_an_account_that_changes_its_owner_during_the_check_is_not_taken_over(world, verb, becomes_theirs):
    """Changes it between our failed create and the read, or between the read and the apply."""
    account, theirs = f"item-{hash_of(world, 'item')}-run", []
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": world.host}})
    said = {f"{GROUP}/deployer-id": "other"}

    def change():
        if becomes_theirs != "by our side":
            world.kube.delete("serviceaccounts", account, world.host)
        if becomes_theirs == "in our place":
            theirs.append(Neighbour(world, "item", said))
        elif becomes_theirs:
            theirs.append(world.kube.patch("serviceaccounts", account, {"metadata": {"labels": said}}, world.host))

    def plan(request):
        # The collector lists accounts too.
        if request.method == verb and request.path.endswith("/serviceaccounts" if verb == "POST" else account) and not injected:
            injected.append(request)
            return Action(applied=change)
        return PASS

    injected = []
    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("item")
        if not becomes_theirs:
            assert world.finished("item")["phase"] == "Succeeded"
            return
        assert error_with(world, 'another deployer ("other")')["reason"] == "EnsurePodRBAC"
        assert world.status("item")["phase"] == "Init"
        if becomes_theirs == "in our place":
            assert theirs[0].is_untouched()
        else:
            assert world.kube.get("serviceaccounts", account, world.host) == theirs[0]
        assert world.kubelet.ran() == []
