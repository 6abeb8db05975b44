# SPDX-License-Identifier: Apache-2.0
"""What the garbage collector takes and what it leaves (the names are those of the Go deployer's own cases)."""

import signal
import time

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OURS, POD_FINALIZER, with_export_and_state
from faults.clock import HOUR, Clock

EVERY_SECOND = {"garbageCollection": {"requeueTimeSeconds": 1}}


def labels(world, name, identity="test", **more):
    return {f"{GROUP}/deployer-id": identity, f"{GROUP}/name": name, **state_labels(world, name), **more}


def state_labels(world, name, **more):
    """State and exports do not say whose they are."""
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
    """Somebody takes the finalizer off by hand."""
    world.kube.patch(DEPLOYITEMS, name, {"metadata": {"finalizers": None}}, world.namespace)
    world.kube.delete(DEPLOYITEMS, name, world.namespace)


def passed(controller):
    """A pass of the collector that took something is over."""
    controller.wait_until(lambda: '"msg":"garbage collected"' in controller.output(), "a pass is over")


def collected(world, left, timeout=30):
    wait_until(lambda: sorted(world.host_objects()) == sorted(left), f"{left} left of {world.host_objects()}", timeout)


def test_gc1_to_gc7_objects_of_gone_items_go_and_all_others_stay(world):
    world.item("alive", job=None)
    gone = labels(world, "gone")
    # GC1, GC2: accounts, roles, bindings and token Secrets of both of the Go deployer's accounts.
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
    # State carries no deployer-id: it goes because the item's other objects say whose it was.
    make(world, "Secret", "state-gone", {LABEL_ITEM_NAME: "gone", LABEL_ITEM_NAMESPACE: world.namespace, f"{GROUP}/type": "state"})
    # N6: another deployer's, whether it says so or not.
    make(world, "Secret", "other-config", {**labels(world, "elsewhere"), f"{GROUP}/deployer-id": "other"})
    make(world, "Secret", "state-elsewhere", {LABEL_ITEM_NAME: "elsewhere", LABEL_ITEM_NAMESPACE: world.namespace,
                                              f"{GROUP}/type": "state"})
    # Exports: ours says which item's it is, the Go deployer's has the name only.
    make(world, "Secret", "gone-own-export", state_labels(world, "gone", **{f"{OURS}/role": "run"}))
    make(world, "Secret", f"{world.namespace}-gone-export", {f"{GROUP}/name": "gone"})
    make(world, "Secret", f"{world.namespace}-alive-export", {f"{GROUP}/name": "alive"})
    world.start()
    collected(world, [f"secrets/{world.namespace}-alive-export",
                      "serviceaccounts/unlabelled", "serviceaccounts/alive-init", "secrets/bare", "secrets/alive-config",
                      "secrets/other-config", "secrets/state-elsewhere"])


def test_an_item_of_the_same_name_of_another_deployer_keeps_everything(world):
    make(world, "Secret", "ours", labels(world, "twin"))
    make(world, "ServiceAccount", "ours", labels(world, "twin"))
    theirs = labels(world, "twin", "other")
    for kind in ("Secret", "ServiceAccount", "Role", "ConfigMap"):
        make(world, kind, "theirs", theirs)
    # Nobody can say whose these are.
    make(world, "Secret", "state-twin", state_labels(world, "twin", **{f"{GROUP}/type": "state"}))
    make(world, "Secret", f"{world.namespace}-twin-export", {f"{GROUP}/name": "twin"})
    passed(world.start())
    assert sorted(world.host_objects()) == sorted([
        "secrets/theirs", "serviceaccounts/theirs", "roles/theirs", "configmaps/theirs", "secrets/state-twin",
        f"secrets/{world.namespace}-twin-export"])


def test_a_regular_deletion_leaves_the_objects_of_another_deployers_twin(world):
    world.kubelet.behaviour = with_export_and_state
    world.start()
    world.item("twin")
    world.finished("twin")
    theirs = labels(world, "twin", "other")
    for kind in ("Secret", "ServiceAccount", "Role", "ConfigMap"):
        make(world, kind, "theirs", theirs)
    world.delete("twin")
    world.gone("twin")
    left = ["secrets/theirs", "serviceaccounts/theirs", "roles/theirs", "configmaps/theirs"]
    wait_until(lambda: sorted(o for o in world.host_objects() if "/state-" not in o) == sorted(left), "ours gone")
    # State does not say whose it is.
    assert any("/state-" in o for o in world.host_objects())


def test_without_an_identity_only_what_is_surely_of_our_landscaper_goes(world):
    """N6: two deployers without an identity share a host namespace; each knows the items of its own Landscaper only."""
    world.kubelet.behaviour = with_export_and_state
    first = world.start(config={"identity": ""})
    world.item("ours")
    world.finished("ours")
    world.quiet()
    first.expected = False
    first.stop()
    vanish(world, "ours")
    assert any("/state-" in o for o in world.host_objects())
    theirs = {**labels(world, "theirs", ""), f"{OURS}/landscaper": "another"}
    unsaid = labels(world, "unsaid", "")  # as the Go deployer makes them
    for kind in ("Secret", "ServiceAccount", "Role"):
        make(world, kind, "theirs", theirs)
        make(world, kind, "unsaid", unsaid)
    for name in ("theirs", "unsaid"):
        make(world, "Secret", f"state-{name}", state_labels(world, name, **{f"{GROUP}/type": "state"}))
    left = [f"{kind}/{name}" for kind in ("secrets", "serviceaccounts", "roles") for name in ("theirs", "unsaid")]
    left += ["secrets/state-theirs", "secrets/state-unsaid"]
    passed(world.start(config={"identity": ""}))
    assert sorted(world.host_objects()) == sorted(left)


def test_without_an_identity_what_the_go_deployer_made_goes_with_an_item_that_was_seen(world):
    world.item("seen", job=None)
    for kind in ("Secret", "ServiceAccount", "Role"):
        make(world, kind, "seen", labels(world, "seen", ""))
    make(world, "Secret", "state-seen", state_labels(world, "seen", **{f"{GROUP}/type": "state"}))
    world.start(config={"identity": "", **EVERY_SECOND})
    world.item("marker")
    world.finished("marker")
    vanish(world, "seen")
    wait_until(lambda: not [o for o in world.host_objects() if "seen" in o], "all of it gone")


def test_the_collector_goes_on_after_the_lease_was_lost_and_won_back(world):
    lease = {"leaderElection": {"enabled": True, "leaseDuration": "3s"}, **EVERY_SECOND}
    first = world.start(config=lease)
    make(world, "Secret", "one", labels(world, "gone"))
    collected(world, [])
    second = world.start(config=lease)
    first.signal(signal.SIGSTOP)
    second.wait_until(lambda: '"msg":"leading"' in second.output(), "the second leads", timeout=60)
    first.signal(signal.SIGCONT)
    first.wait_until(lambda: '"msg":"not leading"' in first.output(), "the first knows")
    # Its next pass comes due while it does not lead.
    make(world, "Secret", "two", labels(world, "gone"))
    collected(world, [])
    second.expected = False
    second.kill()
    make(world, "Secret", "three", labels(world, "gone"))
    collected(world, [], timeout=60)


def test_other_peoples_finalizers_stay_on_a_collected_pod(world):
    world.kubelet.close()
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": world.host}})
    world.item("alive", job=None)
    make_pod(world, "older", labels(world, "alive"))
    world.kube.patch("pods", "older", {"metadata": {"finalizers": [POD_FINALIZER, "example.com/audit"]}}, world.host)
    time.sleep(1.1)  # creation times have seconds
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
    make_pod(world, "orphan", labels(world, "gone"))                          # its item is gone: goes
    make_pod(world, "other", {**labels(world, "gone"), f"{GROUP}/deployer-id": "other"})  # somebody else's
    time.sleep(1.1)  # creation times have seconds
    make_pod(world, "newer", labels(world, "alive"))                          # GC8, GC12: stays
    world.start()
    collected(world, ["pods/single", "pods/unlabelled", "pods/unlabelled-running", "pods/newer", "pods/other"])


def test_inputs_that_a_crash_left_go_when_they_are_old_enough_to_be_nobodys(world):
    world.item("alive", job=None)
    make(world, "Secret", "fresh-input", labels(world, "alive", **{f"{OURS}/role": "run"}))
    make(world, "Secret", "state-kept", labels(world, "alive", **{f"{GROUP}/type": "state"}))
    world.start()
    world.item("marker")
    world.finished("marker")
    wait_until(lambda: not world.pods(), "the marker's pod gone")
    assert {"secrets/fresh-input", "secrets/state-kept"} <= set(world.host_objects())


def test_old_inputs_go_and_state_stays(world):
    clock = Clock()
    world.item("alive", job=None)
    make(world, "Secret", "old-input", labels(world, "alive", **{f"{OURS}/role": "run"}))
    make(world, "Secret", "their-input", labels(world, "alive", "other", **{f"{OURS}/role": "run"}))
    make(world, "Secret", "state-kept", labels(world, "alive", **{f"{GROUP}/type": "state"}))
    clock.jump(HOUR)
    passed(world.start(env=clock.environment))
    assert sorted(world.host_objects()) == ["secrets/state-kept", "secrets/their-input"]


def test_collecting_can_be_switched_off(world):
    make(world, "Secret", "gone-config", labels(world, "gone"))
    world.start(config={"garbageCollection": {"disable": True}})
    world.item("marker")
    world.finished("marker")
    assert "secrets/gone-config" in world.host_objects()


def test_more_than_one_pass_can_look_at_is_looked_at_right_after_it(world):
    """As many objects as a pass takes, of items that are kept, come before those that are to go; passes are an hour apart."""
    for number in range(255):
        world.item(f"a-{number:03}", job=None, item_type="landscaper.gardener.cloud/other", finalizer=False)
        make(world, "ConfigMap", f"a-{number:03}", labels(world, f"a-{number:03}"))
    for number in range(20):
        make(world, "ConfigMap", f"z-{number:03}", labels(world, f"z-{number:03}"))
    controller = world.start(config={"garbageCollection": {"requeueTimeSeconds": 3600}})
    collected(world, [f"configmaps/a-{number:03}" for number in range(255)], timeout=60)
    passed(controller)
    # And then there is peace: each item was asked for once.
    world.item("marker")
    world.finished("marker")
    asked = [entry for entry in world.apiserver.audit.entries(user=controller.user, verb="get", resource="deployitems")
             if entry["objectRef"]["name"].startswith("a-")]
    assert len(asked) == 255
