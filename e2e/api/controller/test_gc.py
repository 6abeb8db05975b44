# SPDX-License-Identifier: Apache-2.0
"""What the garbage collector takes and what it leaves (the names are those of the Go deployer's own cases)."""

import time

from bench.waiting import wait_until
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OURS, POD_FINALIZER


def labels(world, name, **more):
    return {f"{GROUP}/deployer-id": "test", f"{GROUP}/name": name, LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: world.namespace, **more}


def make(world, kind, name, given=None, annotations=None, **body):
    version = "rbac.authorization.k8s.io/v1" if kind.startswith("Role") else "v1"
    return world.kube.create({"apiVersion": version, "kind": kind, **body, "metadata": {
        "name": name, "namespace": world.host, "labels": given or {}, "annotations": annotations or {}}})


def make_pod(world, name, given, phase="Succeeded", finalizer=True):
    world.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": name, "namespace": world.host, "labels": given, "finalizers": [POD_FINALIZER] if finalizer else []},
        "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]}})
    world.kube.patch("pods", name, {"status": {"phase": phase}}, world.host, "status")


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
    world.start()
    collected(world, ["serviceaccounts/unlabelled", "serviceaccounts/alive-init", "secrets/bare", "secrets/alive-config",
                      "secrets/other-config", "secrets/state-elsewhere"])


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


def test_collecting_can_be_switched_off(world):
    make(world, "Secret", "gone-config", labels(world, "gone"))
    world.start(config={"garbageCollection": {"disable": True}})
    world.item("marker")
    world.finished("marker")
    assert "secrets/gone-config" in world.host_objects()
