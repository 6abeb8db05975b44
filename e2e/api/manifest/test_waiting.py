# SPDX-License-Identifier: Apache-2.0
"""Readiness checks, removal groups and second clusters: waiting costs no requests and delays nobody."""

import json
import time

from bench.waiting import wait_until
from faults.proxy import PASS, Action, status
from manifest_harness import EXPORTED, managed

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def is_ready(value, operator="=="):
    return [{"jsonPath": ".data.ready", "operator": operator, "values": [{"value": value}]}]


def waiting_check(world, name="flag", **more):
    return {"custom": [{"name": "flag is up", "requirements": is_ready("yes"),
                        "resourceSelector": [{**CONFIG_MAP, "name": name, "namespace": world.space}], **more}]}


def deployment(world, name, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": world.space},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, **spec,
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


def test_200_waiting_items_delay_nobody_and_send_nothing(world):
    """F11, F12, F13."""
    controller = world.start()
    world.create(world.config("flag", data={"ready": "no"}))
    for number in range(200):
        world.deploy(f"waiting-{number}", [managed(world.config(f"cm-{number}"))], readinessChecks=waiting_check(world))
    wait_until(lambda: len(world.names()) == 201, "all objects")
    world.deploy("quick", [managed(world.config("quick"))])
    world.succeeded("quick")
    # Everything that is shown of the waiting has been written.
    seen = None
    while seen != (seen := world.apiserver.audit.count(0, user=controller.user)):
        time.sleep(6)
    marks = world.apiserver.audit.mark(), world.cluster.audit.mark()
    time.sleep(3)
    assert world.requests(world.apiserver, controller.user, marks[0]) == []
    assert world.requests(world.cluster, world.user, marks[1]) == []
    world.remote.patch("configmaps", "flag", {"data": {"ready": "yes"}}, world.space)
    for number in range(200):
        world.succeeded(f"waiting-{number}")
    # Each wrote its end, and nothing else.
    assert set(world.requests(world.apiserver, controller.user, marks[0])) == {"patch deployitems/status"}
    assert world.requests(world.cluster, world.user, marks[1]) == []


def test_a_selected_object_that_is_replaced_counts(world):
    """F12, F33: what the labels select is listed once, in pages, and then watched; nothing else is read."""
    world.start()
    mark = world.cluster.audit.mark()
    world.create(world.config("flag", data={"ready": "no"}, labels={"flag": world.space}))
    world.deploy("item", [managed(world.config())], readinessChecks={"custom": [
        {"name": "labelled", "labelSelector": {**CONFIG_MAP, "matchLabels": {"flag": world.space}}, "requirements": is_ready("yes")}]})
    wait_until(lambda: "labelled" in json.dumps(world.status("item").get("conditions", [])), "the check in a condition")
    world.remote.delete("configmaps", "flag", world.space)
    world.create(world.config("other", data={"ready": "yes"}, labels={"flag": world.space}))
    world.succeeded("item")
    lists = [e["requestURI"] for e in world.cluster.audit.entries(mark, user=world.user, verb="list")]
    assert len(lists) == 1 and "labelSelector=" in lists[0] and "limit=" in lists[0], lists


def test_many_selected_objects_are_listed_in_pages_and_once(world):
    """F33: only objects with the labels, in pages, with one watch afterwards, and none is read by its name."""
    controller = world.start()
    labels = {"page": world.space}
    world.remote.create_many([world.config(f"cm-{n}", data={"ready": "yes", "noise": "x" * 500}, labels=labels) for n in range(1100)],
                             world.space)
    last = world.create(world.config("last", data={"ready": "no"}, labels=labels))
    mark = world.cluster.audit.mark()
    world.deploy("item", [managed(world.config())], readinessChecks={"custom": [
        {"name": "all", "labelSelector": {**CONFIG_MAP, "matchLabels": labels}, "requirements": is_ready("yes")}]})
    wait_until(lambda: f"{world.space}/last" in json.dumps(world.status("item").get("conditions", [])), "the check in a condition")
    world.remote.patch("configmaps", "last", {"data": {"ready": "yes"}}, world.space)
    world.succeeded("item")
    lists = [e["requestURI"] for e in world.cluster.audit.entries(mark, user=world.user, verb="list")]
    assert 1 < len(lists) == len(set(lists)), lists
    assert all("labelSelector=" in uri and "limit=" in uri for uri in lists) and sum("continue=" not in uri for uri in lists) == 1, lists
    assert world.requests(world.cluster, world.user, mark) == ["create configmaps"], "objects were read one by one"
    assert last["metadata"]["uid"] not in controller.output()


def test_default_readiness_and_its_timeout(world):
    """F28: the message names the object and what is missing."""
    world.start()
    world.deploy("item", [managed(deployment(world, "d"))], spec={"timeout": "2s"})
    error = world.failed("item")["lastError"]
    assert error["codes"] == ["ERR_TIMEOUT"] and "d" in error["message"] and "Deployment" in error["message"], error
    world.create(world.config("flag", data={"ready": "c4n4ry"}))
    world.deploy("custom", [managed(world.config())], spec={"timeout": "2s"}, readinessChecks=waiting_check(world))
    message = world.failed("custom")["lastError"]["message"]
    for part in ("flag is up", f"ConfigMap {world.space}/flag", ".data.ready", "a string", '"=="'):
        assert part in message, (part, message)
    assert "c4n4ry" not in message
    world.update("item", [managed(deployment(world, "d"))], job="job-2", spec={"timeout": "10m"})
    wait_until(lambda: world.remote.get("apps/v1/deployments", "d", world.space).get("status", {}).get("observedGeneration"),
               "the deployment controller")
    [replica_set] = world.remote.items("apps/v1/replicasets", world.space)
    world.remote.patch("apps/v1/replicasets", replica_set["metadata"]["name"], {"status": {
        "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "fullyLabeledReplicas": 1, "observedGeneration": 1}},
        world.space, "status")
    for pod in world.remote.items("pods", world.space):
        world.remote.patch("pods", pod["metadata"]["name"], {"status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}}, world.space, "status")
    world.succeeded("item", "job-2")


def test_strict_readiness_fails_early(world):
    """F18 and the extension readinessChecks.strict: a Deployment that makes no progress ends the job at once."""
    world.start()
    world.deploy("item", [managed(deployment(world, "d", progressDeadlineSeconds=1))], readinessChecks={"strict": True})
    error = world.failed("item")["lastError"]
    assert error["reason"] == "ReadinessFailed" and "Deployment" in error["message"], error


def test_the_pods_of_a_job_go_with_it(world):
    """F17."""
    world.start()
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": world.space}, "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
    world.deploy("item", [managed(job)])
    world.succeeded("item")
    wait_until(lambda: world.remote.items("pods", world.space), "the pod of the job")
    world.removed("item")
    wait_until(lambda: not [p for p in world.remote.items("pods", world.space) if "deletionTimestamp" not in p["metadata"]],
               "deletion of the pod")


def test_a_stateful_set_with_a_partition_gets_ready(world):
    """F18: updated 1 of 3 with partition 2."""
    world.start()
    thing = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": world.space}, "spec": {
        "replicas": 3, "serviceName": "s", "selector": {"matchLabels": {"app": "s"}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
        "template": {"metadata": {"labels": {"app": "s"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    # Without the controller of StatefulSets the test writes its status.
    thing["spec"]["selector"]["matchLabels"] = thing["spec"]["template"]["metadata"]["labels"] = {"app": "s"}
    world.deploy("item", [managed(thing)])

    def write_status():
        world.remote.patch("apps/v1/statefulsets", "s", {"status": {
            "observedGeneration": 9, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 1,
            "currentReplicas": 2, "currentRevision": "a", "updateRevision": "b"}}, world.space, "status")
        return world.status("item").get("phase") == "Succeeded"

    wait_until(lambda: world.found("s", "apps/v1/statefulsets"), "the StatefulSet")
    wait_until(write_status, "readiness in spite of the partition", interval=0.2)


def test_a_late_patch_that_fails_is_repeated_alone(world):
    """F19: the object was applied once."""
    refused = []

    def plan(request):
        if request.method == "PUT" and b"suspend" in (request.body or b"") and len(refused) < 2:
            refused.append(request)
            return Action(forward=False, answer=status(403, "Forbidden", "denied by a webhook"))
        return PASS

    with world.behind_proxies(plan) as second:
        world.start(proxy=world.proxy)
        world.deploy("item", [managed(world.config(), patchAfterDeployment={"data": {"suspend": "true"}})])
        world.succeeded("item")
        assert len(refused) == 2
        assert world.found()["data"]["suspend"] == "true"
        assert len([r for r in second.requests if r.method == "POST" and r.path.endswith("/configmaps")]) == 1


def test_deletion_groups_run_in_order_and_on_a_second_cluster(world):
    """F16: also if no managed object is left; with deleteAllResources and selectedResourceGroup."""
    world.start()
    world.reach(world.apiserver, "second")
    for name, labels in (("by-name", {}), ("by-label", {"take": "yes"}), ("other", {})):
        world.kube.create({**CONFIG_MAP, "metadata": {"name": name, "namespace": world.namespace, "labels": labels}})
    groups = [
        {"customResourceGroup": {"resources": [{**CONFIG_MAP, "names": ["first"]}]}},
        {"customResourceGroup": {"deleteAllResources": True, "targetName": "second", "resources": [
            {**CONFIG_MAP, "names": ["by-name"], "namespaces": [world.namespace]}]}},
        {"predefinedResourceGroup": {"type": "empty"}, "selectedResourceGroup": {
            "matchLabels": {"take": "yes"}, "targetName": "second",
            "resources": [{**CONFIG_MAP, "namespaces": [world.namespace]}]}},
        {"predefinedResourceGroup": {"type": "namespaced-resources"}},
    ]
    world.deploy("item", [managed(world.config("first")), managed(world.config("last"))], deletionGroups=groups)
    world.succeeded("item")
    world.hold("first")
    world.delete("item")
    wait_until(lambda: "deletionTimestamp" in world.found("first")["metadata"], "deletion of the first group")
    assert "deletionTimestamp" not in world.found("last")["metadata"]
    assert world.status("item")["phase"] == "Deleting"     # F38
    world.release("first")
    world.wait_until_deleted("item")
    assert world.names() == []
    assert {"by-name", "by-label"}.isdisjoint(c["metadata"]["name"] for c in world.kube.items("configmaps", world.namespace))

    world.kube.create({**CONFIG_MAP, "metadata": {"name": "by-name", "namespace": world.namespace}})
    world.deploy("kept", [managed(world.config("kept"), policy="keep")], deletionGroups=groups[1:])
    world.succeeded("kept")
    world.removed("kept")
    assert world.names() == ["kept"]
    left = [c["metadata"]["name"] for c in world.kube.items("configmaps", world.namespace)]
    assert "by-name" not in left and "other" in left


def test_checks_and_exports_on_a_second_cluster(world):
    world.start()
    world.reach(world.apiserver, "second")
    here = {**CONFIG_MAP, "name": "remote", "namespace": world.namespace}
    world.deploy("item", [managed(world.config())], exports={"exports": [{**EXPORTED, "fromResource": here, "targetName": "second"}]},
                 readinessChecks={"custom": [{"name": "remote", "targetName": "second", "resourceSelector": [here],
                                              "requirements": is_ready("yes")}]})
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    world.kube.create({**here, "metadata": {"name": "remote", "namespace": world.namespace},
                       "data": {"ready": "yes", "answer": "42"}})
    world.succeeded("item")
    assert world.exported("item-export") == {"answer": "42"}


def test_a_second_target_that_comes_later_is_used(world):
    world.start()
    here = {**CONFIG_MAP, "name": "cm", "namespace": world.space}
    world.deploy("item", [managed(world.config(data={"ready": "yes"}))], readinessChecks={"custom": [
        {"name": "remote", "targetName": "later", "resourceSelector": [here], "requirements": is_ready("yes")}]})
    wait_until(lambda: "later" in world.status("item").get("lastError", {}).get("message", ""), "the error names the target")
    world.reach(world.cluster, "later")
    assert "lastError" not in world.succeeded("item")
