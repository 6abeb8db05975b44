# SPDX-License-Identifier: Apache-2.0
"""What the garbage collector removes and what it keeps (GC1 to GC13 and N1 to N6 are the cases of the Go deployer)."""

import signal
import threading
import time

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OURS, POD_FINALIZER, with_export_and_state
from faults.clock import HOUR, Clock
from faults.proxy import Action, PASS, status

EVERY_SECOND = {"garbageCollection": {"requeueTimeSeconds": 1}}


def labels(world, name, identity="test", **more):
    return {f"{GROUP}/deployer-id": identity, f"{GROUP}/name": name, **state_labels(world, name), **more}


def state_labels(world, name, **more):
    """State and exports have no deployer-id label."""
    return {LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: world.namespace, **more}


def make(world, kind, name, given=None, annotations=None, **body):
    version = "rbac.authorization.k8s.io/v1" if kind.startswith("Role") else "v1"
    return world.kube.create({"apiVersion": version, "kind": kind, **body, "metadata": {
        "name": name, "namespace": world.host, "labels": given or {}, "annotations": annotations or {}}})


def make_pod(world, name, given, phase="Succeeded", finalizer=True):
    world.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": name, "namespace": world.host, "labels": given, "finalizers": [POD_FINALIZER] if finalizer else []},
        "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]}})
    world.kube.patch("pods", name, {"status": {"phase": phase}}, world.host, "status")


def vanish(world, name):
    """Removes an item by removing its finalizer manually."""
    world.kube.patch(DEPLOYITEMS, name, {"metadata": {"finalizers": None}}, world.namespace)
    world.kube.delete(DEPLOYITEMS, name, world.namespace)


def passed(controller):
    """Waits until the collector has completed a pass in which it removed something."""
    controller.wait_until(lambda: '"msg":"garbage collected"' in controller.output(), "the end of a pass")


def collected(world, left, timeout=30):
    wait_until(lambda: sorted(world.host_objects()) == sorted(left), f"only {left} to be left of {world.host_objects()}", timeout)


def test_gc1_to_gc7_objects_of_deleted_items_are_removed_and_all_others_are_kept(world):
    world.item("alive", job=None)
    gone = labels(world, "gone")
    # GC1, GC2: accounts, roles, bindings and token Secrets of both accounts of the Go deployer.
    for account in ("gone-init", "gone-wait"):
        make(world, "ServiceAccount", account, gone)
        make(world, "Role", account, gone)
        make(world, "RoleBinding", account, gone, roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account})
        make(world, "Secret", f"{account}-token-x", gone, {"kubernetes.io/service-account.name": account},
             type="kubernetes.io/service-account-token")
    make(world, "ServiceAccount", "unlabelled")                          # GC3
    make(world, "ServiceAccount", "alive-init", labels(world, "alive"))  # GC4
    make(world, "Secret", "gone-config", gone)                           # GC5
    make(world, "Secret", "bare")                                        # GC6
    make(world, "Secret", "alive-config", labels(world, "alive"))        # GC7
    make(world, "ConfigMap", "gone-ocmconfig", gone)                     # N4
    # State has no deployer-id: it is removed because the other objects of the item identify the deployer.
    make(world, "Secret", "state-gone", {LABEL_ITEM_NAME: "gone", LABEL_ITEM_NAMESPACE: world.namespace, f"{GROUP}/type": "state"})
    # N6: objects of another deployer, with or without its deployer-id.
    make(world, "Secret", "other-config", {**labels(world, "elsewhere"), f"{GROUP}/deployer-id": "other"})
    make(world, "Secret", "state-elsewhere", {LABEL_ITEM_NAME: "elsewhere", LABEL_ITEM_NAMESPACE: world.namespace,
                                              f"{GROUP}/type": "state"})
    # Exports: ours have labels that identify the item, those of the Go deployer only the name.
    make(world, "Secret", "gone-own-export", state_labels(world, "gone", **{f"{OURS}/role": "run"}))
    make(world, "Secret", f"{world.namespace}-gone-export", {f"{GROUP}/name": "gone"})
    make(world, "Secret", f"{world.namespace}-alive-export", {f"{GROUP}/name": "alive"})
    world.start()
    collected(world, [f"secrets/{world.namespace}-alive-export",
                      "serviceaccounts/unlabelled", "serviceaccounts/alive-init", "secrets/bare", "secrets/alive-config",
                      "secrets/other-config", "secrets/state-elsewhere"])


DOUBTS = {
    "denied": Action(forward=False, answer=status(403, "Forbidden")),
    "server error": Action(forward=False, answer=status(500, "InternalError")),
    "no such API": Action(forward=False, answer=(404, b"404 page not found\n", {"content-type": "text/plain"})),
    "page of a proxy": Action(forward=False, answer=(404, b"<html>not found</html>", {"content-type": "text/html"})),
    "login page": Action(forward=False, answer=(200, b"<html>log in</html>", {"content-type": "text/html"})),
    "lost": Action(forward=False, lose=True),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_objects_are_kept_while_it_is_uncertain_whether_their_item_is_deleted(world, doubt):
    """Only a NotFound from the API server itself proves that an item is deleted. Otherwise everything is kept, above all state."""
    is_doubtful = threading.Event()
    is_doubtful.set()
    kept = [f"{kind}/gone" for kind in ("secrets", "serviceaccounts", "roles", "configmaps")] + ["secrets/state-gone"]
    for kind in ("Secret", "ServiceAccount", "Role", "ConfigMap"):
        make(world, kind, "gone", labels(world, "gone"))
    make(world, "Secret", "state-gone", state_labels(world, "gone", **{f"{GROUP}/type": "state"}))

    def plan(request):
        return DOUBTS[doubt] if is_doubtful.is_set() and request.path.endswith("/deployitems/gone") else PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy, config=EVERY_SECOND)
        wait_until(lambda: sum(request.path.endswith("/deployitems/gone") for request in list(proxy.requests)) >= 2, "two requests", 60)
        # When a later pass has removed another object, the responses have been processed.
        make(world, "Secret", "marker", labels(world, "marker"))
        collected(world, kept, timeout=60)
        is_doubtful.clear()
        collected(world, [], timeout=60)


def test_an_item_with_the_same_name_of_another_deployer_keeps_all_objects(world):
    make(world, "Secret", "ours", labels(world, "twin"))
    make(world, "ServiceAccount", "ours", labels(world, "twin"))
    theirs = labels(world, "twin", "other")
    for kind in ("Secret", "ServiceAccount", "Role", "ConfigMap"):
        make(world, kind, "theirs", theirs)
    # It is not known to which deployer these belong.
    make(world, "Secret", "state-twin", state_labels(world, "twin", **{f"{GROUP}/type": "state"}))
    make(world, "Secret", f"{world.namespace}-twin-export", {f"{GROUP}/name": "twin"})
    passed(world.start())
    assert sorted(world.host_objects()) == sorted([
        "secrets/theirs", "serviceaccounts/theirs", "roles/theirs", "configmaps/theirs", "secrets/state-twin",
        f"secrets/{world.namespace}-twin-export"])


def test_a_regular_deletion_keeps_the_objects_of_an_item_with_the_same_name_of_another_deployer(world):
    world.kubelet.behaviour = with_export_and_state
    world.start()
    world.item("twin")
    world.finished("twin")
    theirs = labels(world, "twin", "other")
    for kind in ("Secret", "ServiceAccount", "Role", "ConfigMap"):
        make(world, kind, "theirs", theirs)
    world.delete("twin")
    world.wait_until_deleted("twin")
    left = ["secrets/theirs", "serviceaccounts/theirs", "roles/theirs", "configmaps/theirs"]
    wait_until(lambda: sorted(o for o in world.host_objects() if "/state-" not in o) == sorted(left), "deletion of our objects")
    # State does not identify the deployer.
    assert any("/state-" in o for o in world.host_objects())


def test_without_an_identity_only_objects_of_our_own_landscaper_are_removed(world):
    """N6: two deployers without an identity share a host namespace; each one sees only the items of its own Landscaper."""
    world.kubelet.behaviour = with_export_and_state
    first = world.start(config={"identity": ""})
    world.item("ours")
    world.finished("ours")
    world.wait_for_cleanup()
    first.expected = False
    first.stop()
    vanish(world, "ours")
    assert any("/state-" in o for o in world.host_objects())
    theirs = {**labels(world, "theirs", ""), f"{OURS}/landscaper": "another"}
    unsaid = labels(world, "unsaid", "")  # like those of the Go deployer
    for kind in ("Secret", "ServiceAccount", "Role"):
        make(world, kind, "theirs", theirs)
        make(world, kind, "unsaid", unsaid)
    for name in ("theirs", "unsaid"):
        make(world, "Secret", f"state-{name}", state_labels(world, name, **{f"{GROUP}/type": "state"}))
    left = [f"{kind}/{name}" for kind in ("secrets", "serviceaccounts", "roles") for name in ("theirs", "unsaid")]
    left += ["secrets/state-theirs", "secrets/state-unsaid"]
    passed(world.start(config={"identity": ""}))
    assert sorted(world.host_objects()) == sorted(left)


def test_without_an_identity_objects_of_the_go_deployer_are_removed_if_their_item_was_seen_before(world):
    world.item("seen", job=None)
    for kind in ("Secret", "ServiceAccount", "Role"):
        make(world, kind, "seen", labels(world, "seen", ""))
    make(world, "Secret", "state-seen", state_labels(world, "seen", **{f"{GROUP}/type": "state"}))
    world.start(config={"identity": "", **EVERY_SECOND})
    world.item("marker")
    world.finished("marker")
    vanish(world, "seen")
    wait_until(lambda: not [o for o in world.host_objects() if "seen" in o], "deletion of all of its objects")


def test_the_collector_continues_after_the_lease_was_lost_and_regained(world):
    lease = {"leaderElection": {"enabled": True, "leaseDuration": "3s"}, **EVERY_SECOND}
    first = world.start(config=lease)
    make(world, "Secret", "one", labels(world, "gone"))
    collected(world, [])
    second = world.start(config=lease)
    first.signal(signal.SIGSTOP)
    second.wait_until(lambda: '"msg":"leading"' in second.output(), "the second instance to lead", timeout=60)
    first.signal(signal.SIGCONT)
    first.wait_until(lambda: '"msg":"not leading"' in first.output(), "the first instance to notice")
    # Its next pass is due while it is not the leader.
    make(world, "Secret", "two", labels(world, "gone"))
    collected(world, [])
    second.expected = False
    second.kill()
    make(world, "Secret", "three", labels(world, "gone"))
    collected(world, [], timeout=60)


def test_finalizers_of_others_stay_on_a_collected_pod(world):
    world.kubelet.close()
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
    world.item("alive", job=None)
    make_pod(world, "older", labels(world, "alive"))
    world.kube.patch("pods", "older", {"metadata": {"finalizers": [POD_FINALIZER, "example.com/audit"]}}, world.host)
    time.sleep(1.1)  # creation times have a resolution of one second
    make_pod(world, "newer", labels(world, "alive"))
    passed(world.start())
    assert world.kube.get("pods", "older", world.host)["metadata"]["finalizers"] == ["example.com/audit"]


def test_gc8_to_gc13_pods(world):
    world.kubelet.close()
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
    world.item("alive", job=None)
    world.item("single", job=None)
    make_pod(world, "older", labels(world, "alive"))                          # GC8: goes
    make_pod(world, "single", labels(world, "single"))                        # GC10: stays
    make_pod(world, "unlabelled", {})                                         # GC9: stays
    make_pod(world, "unlabelled-running", {}, "Running")                      # GC11: stays
    make_pod(world, "released", labels(world, "single"), finalizer=False)     # GC13: goes
    make_pod(world, "orphan", labels(world, "gone"))                          # its item is deleted: goes
    make_pod(world, "other", {**labels(world, "gone"), f"{GROUP}/deployer-id": "other"})  # of another deployer: stays
    time.sleep(1.1)  # creation times have a resolution of one second
    make_pod(world, "newer", labels(world, "alive"))                          # GC8, GC12: stays
    world.start()
    collected(world, ["pods/single", "pods/unlabelled", "pods/unlabelled-running", "pods/newer", "pods/other"])


def test_inputs_that_a_crash_left_are_not_removed_while_they_are_recent(world):
    world.item("alive", job=None)
    make(world, "Secret", "fresh-input", labels(world, "alive", **{f"{OURS}/role": "run"}))
    make(world, "Secret", "state-kept", labels(world, "alive", **{f"{GROUP}/type": "state"}))
    world.start()
    world.item("marker")
    world.finished("marker")
    wait_until(lambda: not world.pods(), "deletion of the pod that marks the end of a pass")
    assert {"secrets/fresh-input", "secrets/state-kept"} <= set(world.host_objects())


def test_old_inputs_are_removed_and_state_is_kept(world):
    clock = Clock()
    world.item("alive", job=None)
    make(world, "Secret", "old-input", labels(world, "alive", **{f"{OURS}/role": "run"}))
    make(world, "Secret", "their-input", labels(world, "alive", "other", **{f"{OURS}/role": "run"}))
    make(world, "Secret", "state-kept", labels(world, "alive", **{f"{GROUP}/type": "state"}))
    clock.jump(HOUR)
    passed(world.start(env=clock.environment))
    assert sorted(world.host_objects()) == ["secrets/state-kept", "secrets/their-input"]


def test_garbage_collection_can_be_disabled(world):
    make(world, "Secret", "gone-config", labels(world, "gone"))
    world.start(config={"garbageCollection": {"disable": True}})
    world.item("marker")
    world.finished("marker")
    assert "secrets/gone-config" in world.host_objects()


def test_items_beyond_the_limit_of_a_pass_are_checked_right_after_it(world):
    """As many objects of existing items as a pass checks come before those to be removed; the interval is an hour."""
    for number in range(255):
        world.item(f"a-{number:03}", job=None, item_type="landscaper.gardener.cloud/other", finalizer=False)
        make(world, "ConfigMap", f"a-{number:03}", labels(world, f"a-{number:03}"))
    for number in range(20):
        make(world, "ConfigMap", f"z-{number:03}", labels(world, f"z-{number:03}"))
    controller = world.start(config={"garbageCollection": {"requeueTimeSeconds": 3600}})
    collected(world, [f"configmaps/a-{number:03}" for number in range(255)], timeout=60)
    passed(controller)
    # Then it stops: each item was requested only once.
    world.item("marker")
    world.finished("marker")
    asked = [entry for entry in world.apiserver.audit.entries(user=controller.user, verb="get", resource="deployitems")
             if entry["objectRef"]["name"].startswith("a-")]
    assert len(asked) == 255
