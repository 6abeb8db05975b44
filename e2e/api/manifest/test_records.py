# SPDX-License-Identifier: Apache-2.0
"""The list of objects and who owns them: nothing is forgotten, and nothing that belongs to somebody else is deleted."""

import signal
import threading

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import LEASE, writes
from faults.proxy import PASS, Action
from manifest_harness import EXPORTED, LABEL, config_map, managed, thing_definition


def test_what_had_to_be_removed_is_remembered_when_a_job_fails(world):
    """F1: the new object cannot be applied, so the job fails; the old one is removed by a later job."""
    world.start()
    world.deploy("item", [managed(world.config("old"))])
    world.succeeded("item")
    bad = world.config("new")
    bad["metadata"]["namespace"] = "does-not-exist"
    world.update("item", [managed(bad)], job="job-2", spec={"timeout": "2s"})
    status = world.failed("item", "job-2")
    assert sorted(world.recorded("item")) == ["new", "old"] and world.names() == ["old"]
    assert "does-not-exist" in status["lastError"]["message"]
    world.update("item", job="job-3", spec={"timeout": "10m"})
    world.succeeded("item", "job-3")
    assert world.names() == [] and world.recorded("item") == []


def test_an_orphan_that_does_not_go_stays_in_the_list(world):
    """F2, F20: and the error names it with its finalizers."""
    world.start()
    world.deploy("item", [managed(world.config("old"))])
    world.succeeded("item")
    world.hold("old")
    world.update("item", [managed(world.config("new"))], job="job-2", spec={"timeout": "2s"})
    message = world.failed("item", "job-2")["lastError"]["message"]
    assert "old" in message and "example.com/hold" in message, message
    assert sorted(world.recorded("item")) == ["new", "old"]
    world.release("old")
    world.trigger("item", "job-3")
    world.succeeded("item", "job-3")
    assert world.names() == ["new"] and world.recorded("item") == ["new"]


def test_a_refused_deletion_names_the_object_and_the_reason(world):
    """F20: in the words of the server. The object stays recorded; when the permission is back, it is deleted."""
    user, everything = f"limited-{world.space}", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    reading = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch", "create", "update", "patch"]}]
    world.remote.allow(user, reading, namespace=world.space, name="limited")
    world.reach(world.cluster, user=user, groups=())
    world.start()
    world.deploy("item", [managed(world.config("stays"))], spec={"timeout": "3s"})
    world.succeeded("item")
    world.delete("item", job="job-2")
    message = world.failed("item", "job-2")["lastError"]["message"]
    assert f"ConfigMap {world.space}/stays" in message and "cannot delete" in message and user in message, message
    assert world.recorded("item") == ["stays"] and world.names() == ["stays"]
    world.remote.allow(user, everything, namespace=world.space, name="limited")
    world.trigger("item", "job-3")
    world.wait_until_deleted("item")
    assert world.names() == []


def test_an_interrupted_job_leaves_nothing_behind(world):
    """F3, F4, F38: interrupted, or out of time, after some of its objects were made; then the item is deleted."""
    gate = threading.Event()

    def plan(request):
        if request.method == "POST" and "/configmaps" in request.path and b"cm-1" in (request.body or b""):
            return Action(before=lambda: gate.wait(20))
        return PASS

    with world.behind_proxies(plan):
        world.start(proxy=world.proxy)
        for name, timeout in (("interrupted", "10m"), ("late", "1s")):
            gate.clear()
            world.deploy(name, [managed(world.config(f"{name}-cm-{n}")) for n in range(3)], spec={"timeout": timeout})
            wait_until(lambda: world.found(f"{name}-cm-0"), "the first object")
            if name == "interrupted":
                assert world.status(name)["phase"] == "Progressing" and len(world.recorded(name)) == 3
            if name == "interrupted":
                world.interrupt(name, "job-1")
            world.failed(name)
            gate.set()
            world.removed(name)
            assert world.names() == []


@pytest.mark.parametrize("is_restarted", [False, True])
def test_exports_of_an_interrupted_job_are_removed_by_the_next_one(world, is_restarted):
    """Interrupted after the Secret was written, and before the status named it."""
    gate, written = threading.Event(), threading.Event()

    def hold():
        if world.kube.find("secrets", "item-export", world.namespace):
            written.set()
            gate.wait(20)

    def plan(request):
        return Action(before=hold) if request.path.endswith("/status") and not gate.is_set() else PASS

    here = {"apiVersion": "v1", "kind": "ConfigMap", "name": "config", "namespace": world.space}
    with world.behind_proxies(plan):
        controller = world.start(proxy=world.proxy)
        world.deploy("item", [managed(world.config("config", data={"answer": "42"}))],
                     exports={"exports": [{**EXPORTED, "fromResource": here}]})
        assert written.wait(60)
        if is_restarted:
            controller.expected = False
            controller.kill()
        world.interrupt("item", "job-1")
        gate.set()
        if is_restarted:
            world.start(proxy=world.proxy)
        world.update("item", [managed(world.config("config"))], job="job-2")
        world.succeeded("item", "job-2")
        assert not world.kube.find("secrets", "item-export", world.namespace)


def test_a_plan_that_took_long_is_stored_before_anything_is_applied(world):
    """The job is reported as begun while kinds are looked up, so that its time counts; its list follows."""
    known, posted, gate = threading.Event(), threading.Event(), threading.Event()

    def hold():
        posted.set()
        gate.wait(20)

    def plan(request):
        if request.path in ("/apis", f"/apis/{group}/v1"):
            return Action(before=lambda: known.wait(20))
        return Action(before=hold) if request.method == "POST" and request.path.endswith("/configmaps") else PASS

    group = f"{world.space}.example.com"
    definitions = "apiextensions.k8s.io/v1/customresourcedefinitions"
    world.create(thing_definition(group))
    world.remote.wait_for(definitions, f"things.{group}", lambda d: any(
        c["type"] == "Established" and c["status"] == "True" for c in d.get("status", {}).get("conditions") or []))
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing", "namespace": world.space}}
    with world.behind_proxies(plan):
        world.start(proxy=world.proxy)
        world.deploy("item", [managed(world.config()), managed(thing)])
        wait_until(lambda: world.status("item").get("phase") == "Progressing", "the job to begin")
        assert world.recorded("item") == [] and not posted.is_set()
        known.set()
        assert posted.wait(30)
        recorded = world.recorded("item")
        gate.set()
        assert sorted(recorded) == ["cm", "thing"]
        world.succeeded("item")
        world.removed("item")
    world.remote.delete(definitions, f"things.{group}")


def test_what_the_server_refused_to_create_is_not_remembered(world):
    """The user of the Target may not use a namespace: the correction needs no access to it, nor does the deletion."""
    user = f"limited-{world.space}"
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    world.remote.allow(user, everything, namespace=world.space)
    world.reach(world.cluster, user=user, groups=())
    world.start()
    for name, wrong in (("denied", config_map("away", "default")), ("invalid", world.config("bad", labels={"a": "no label!"}))):
        fine = managed(world.config(f"{name}-fine"))
        world.deploy(name, [fine, managed(wrong)], spec={"timeout": "2s"})
        assert wrong["metadata"]["name"] in world.failed(name)["lastError"]["message"]
        assert world.recorded(name) == [f"{name}-fine"]
        world.update(name, [fine], job="job-2", spec={"timeout": "10m"})
        world.succeeded(name, "job-2")
        world.removed(name)
    # All are refused: the Target is read again before each attempt, and the result is the same.
    world.deploy("only", [managed(config_map("away", "default"))], spec={"timeout": "3s"})
    assert "cannot create resource" in world.failed("only")["lastError"]["message"]
    assert world.recorded("only") == []
    world.removed("only")


def test_what_cannot_be_read_is_not_taken_for_gone(world):
    """An object without a uid in the list: it may exist, so the message says what is missing and what to do."""
    user = f"limited-{world.space}"
    world.remote.allow(user, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], namespace=world.space)
    away = f"{world.space}-away"
    world.remote.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": away}})
    world.start()
    world.deploy("item", [managed(config_map("cm", away))])
    world.succeeded("item")
    status = world.status("item")["providerStatus"]
    del status["managedResources"][0]["resource"]["uid"]
    world.kube.patch(DEPLOYITEMS, "item", {"status": {"providerStatus": status}}, world.namespace, subresource="status")
    world.reach(world.cluster, user=user, groups=())
    world.kube.patch(DEPLOYITEMS, "item", {"spec": {"timeout": "2s"}}, world.namespace)
    world.delete("item")
    message = world.failed("item", "job-delete")["lastError"]["message"]
    for part in (f"ConfigMap {away}/cm", "get, list, watch and delete", f'"{away}"', user, "delete-without-uninstall"):
        assert part in message, message
    assert world.remote.find("configmaps", "cm", away) and world.recorded("item") == ["cm"]
    world.reach(world.cluster)
    world.trigger("item", "job-again")
    world.wait_until_deleted("item")
    assert not world.remote.find("configmaps", "cm", away)
    world.remote.delete("namespaces", away)


def test_an_instance_that_lost_its_lease_during_a_job_writes_nothing_afterwards(world):
    """It is suspended while objects get ready, another one completes the job, then it continues."""
    check = {"name": "flag", "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "flag", "namespace": world.space}],
             "requirements": [{"jsonPath": ".data.a", "operator": "==", "values": [{"value": "1"}]}]}
    with world.behind_proxies(lambda request: PASS) as target:
        first = world.start(config=LEASE, proxy=world.proxy)
        first.wait_until(lambda: '"msg":"leading"' in first.output(), "the first instance to lead")
        second = world.start(config=LEASE)
        world.deploy("item", [managed(world.config(), patchAfterDeployment={"data": {"late": "yes"}})], readinessChecks={"custom": [check]})
        wait_until(lambda: "flag" in str(world.status("item").get("conditions")), "the job to wait")
        first.signal(signal.SIGSTOP)
        try:
            second.wait_until(lambda: '"msg":"leading"' in second.output(), "the second instance to lead", timeout=60)
            world.create(world.config("flag"))
            world.succeeded("item")
            world.update("item", [managed(world.config("other"))], job="job-2")
            world.succeeded("item", "job-2")
        finally:
            marks = len(world.proxy.requests), len(target.requests)
            first.signal(signal.SIGCONT)
        first.wait_until(lambda: '"msg":"not leading"' in first.output(), "the first instance to notice")
        world.trigger("item", "job-3")
        world.succeeded("item", "job-3")
        written = writes(world.proxy, marks[0]) + writes(target, marks[1])
        assert written == [] and world.names() == ["flag", "other"] and world.recorded("item") == ["other"]


def test_objects_that_moved_or_were_replaced_stay(world):
    """F5, F6."""
    world.start()
    world.deploy("first", [managed(world.config("moved")), managed(world.config("replaced"))])
    world.succeeded("first")
    world.deploy("second", [managed(world.config("moved"))])
    world.succeeded("second")
    world.remote.delete("configmaps", "replaced", world.space)
    theirs = world.create(world.config("replaced"))
    world.removed("first")
    assert world.names() == ["moved", "replaced"]
    assert world.found("replaced")["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert world.found("moved")["metadata"]["labels"][LABEL] == "second"


def test_an_object_that_moved_is_not_an_orphan_either(world):
    """F5, when it leaves the list."""
    world.start()
    world.deploy("first", [managed(world.config("moved"))])
    world.succeeded("first")
    world.deploy("second", [managed(world.config("moved"))])
    world.succeeded("second")
    world.update("first", job="job-2")
    world.succeeded("first", "job-2")
    assert world.names() == ["moved"] and world.recorded("first") == []


def test_a_policy_that_becomes_ignore_leaves_the_object(world):
    """F7: and fallback compares namespace and name of the item."""
    world.start()
    world.deploy("item", [managed(world.config())])
    world.succeeded("item")
    world.update("item", [managed(world.config(), policy="ignore")], job="job-2")
    world.succeeded("item", "job-2")
    assert world.names() == ["cm"] and world.recorded("item") == []
    assert "ObjectsReleased" in [e["reason"] for e in world.events("item")]

    world.deploy("twin", [managed(world.config("shared", data={"by": "first"}))])
    world.succeeded("twin")
    world.secret("cluster", {"kubeconfig": world.kubeconfig(world.cluster)}, namespace=world.host)
    world.target("cluster", secret="cluster", key="kubeconfig", namespace=world.host)
    try:
        world.deploy("twin", [managed(world.config("shared", data={"by": "second"}), policy="fallback")], namespace=world.host)
        world.succeeded("twin", namespace=world.host)
        assert world.found("shared")["data"] == {"by": "first"}
    finally:
        world.kube.delete(DEPLOYITEMS, "twin", world.host)
        world.trigger("twin", "job-delete", world.host)
        world.wait_until_deleted("twin", world.host)
    assert world.found("shared")["data"] == {"by": "first"}


def test_finalizers_and_owners_of_others_survive(world):
    """F8: those of the manifest are added, and taken back when they leave the manifest."""
    world.start()
    owner = world.create(world.config("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    for strategy in ("update", "patch"):
        name = f"cm-{strategy}"
        world.deploy(name, [managed(world.config(name, finalizers=["example.com/ours"]))], updateStrategy=strategy)
        world.succeeded(name)
        world.remote.patch("configmaps", name, {"metadata": {"finalizers": ["example.com/ours", "example.com/theirs"],
                                                             "ownerReferences": [reference]}}, world.space)
        world.update(name, [managed(world.config(name, data={"a": "2"}, finalizers=["example.com/ours"]))], job="job-2",
                     updateStrategy=strategy)
        world.succeeded(name, "job-2")
        metadata = world.found(name)["metadata"]
        assert sorted(metadata["finalizers"]) == ["example.com/ours", "example.com/theirs"], strategy
        assert len(metadata["ownerReferences"]) == 1, strategy
        world.update(name, [managed(world.config(name, data={"a": "3"}))], job="job-3", updateStrategy=strategy)
        world.succeeded(name, "job-3")
        assert world.found(name)["metadata"]["finalizers"] == ["example.com/theirs"], strategy


def test_a_target_that_changed_is_said_and_nothing_is_deleted_in_the_new_cluster(world):
    """F35."""
    world.start()
    world.deploy("item", [managed(world.config("a")), managed(world.config("b"))])
    world.succeeded("item")
    theirs = world.kube.create(world.config("a"))
    world.kube.create(world.config("b"))
    world.reach(world.apiserver)
    world.update("item", [managed(world.config("b"))], job="job-2")
    world.succeeded("item", "job-2")
    assert world.kube.get("configmaps", "a", world.namespace)["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert world.names() == ["a", "b"]
    assert "TargetChanged" in [e["reason"] for e in world.events("item")]


def test_a_target_that_is_gone_names_the_way_out(world):
    """3.7: the Target object is deleted first."""
    world.start()
    world.deploy("item", [managed(world.config())])
    world.succeeded("item")
    world.kube.delete("landscaper.gardener.cloud/v1alpha1/targets", "cluster", world.namespace)
    world.delete("item")
    error = world.failed("item", "job-delete")["lastError"]
    assert error["reason"] == "NoTargetFound" and "delete-without-uninstall" in error["message"]
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {
        "landscaper.gardener.cloud/delete-without-uninstall": "true"}}}, world.namespace)
    world.trigger("item", "job-2")
    world.wait_until_deleted("item")
    assert world.names() == ["cm"]
