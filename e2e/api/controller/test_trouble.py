# SPDX-License-Identifier: Apache-2.0
"""Runs that fail, each with a status that gives the reason."""

import collections
import threading
import time

import pytest

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, ended, hang, running, succeed, waiting
from faults.proxy import Action, PASS, status as refusal

TRIES = 6  # attempts for a request that fails, before the job is put back


def last(world, name="item", job="job-1", phase="Failed"):
    status = world.finished(name, job)
    assert status["phase"] == phase, status
    assert status["firstError"] and status["lastErrors"][-1]["reason"] == status["lastError"]["reason"]
    return status["lastError"]


def test_a_failed_main_is_reported_with_container_reason_exit_code_and_signal(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(137, reason="OOMKilled", signal=9))
    world.item("item")
    error = last(world)
    assert (error["operation"], error["reason"]) == ("RunMainContainer", "OOMKilled")
    assert "main" in error["message"] and "137" in error["message"] and "signal 9" in error["message"]
    status = world.status("item")
    assert status["providerStatus"]["podStatus"]["containerStatus"]["exitCode"] == 137
    assert "lastSuccessfulJobID" not in status["providerStatus"]["podStatus"]
    world.wait_for_cleanup()  # an event is sent after the status
    assert [e["reason"] for e in world.events("item")] == ["OOMKilled"]


def test_a_failed_init_is_reported(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.bind(), pod.status("Failed", init=ended(1, message="no such component"),
                                                                  main=waiting("PodInitializing"), wait=waiting("PodInitializing")))
    world.item("item")
    error = last(world)
    assert error["operation"] == "RunInitContainer" and "no such component" in error["message"]


def test_an_evicted_pod_is_reported(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.status("Failed", reason="Evicted", message="The node was low on memory.",
                                                                 init=ended(), main=ended(137), wait=ended(137)))
    world.item("item")
    error = last(world)
    assert error["reason"] == "Evicted" and "low on memory" in error["message"]


def test_a_drained_node_is_reported_as_an_eviction_not_as_a_failure_of_wait(world):
    """kubectl drain leaves only a condition; main may exit with 0 on SIGTERM while wait cannot save the state in time."""
    def drained(pod):
        pod.run()
        world.kube.request("POST", world.kube.path("pods", pod.name, pod.namespace, "eviction"), body={
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod.name, "namespace": pod.namespace}})
        pod.killed.wait(60)
        kept = world.kube.get("pods", pod.name, pod.namespace)["status"]["conditions"]
        pod.status("Failed", init=ended(), main=ended(), wait=ended(1, message="killed"), conditions=kept)

    world.start()
    world.kubelet.behaviour = drained
    world.item("item")
    error = last(world)
    assert (error["operation"], error["reason"]) == ("RunPod", "EvictionByEvictionAPI")
    assert "evict" in error["message"].lower() and "container wait: Error, exit code 1" in error["message"]
    world.wait_for_cleanup()


def test_a_job_after_a_failure_runs_again(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(1))
    world.item("item")
    last(world)
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-2")
    status = world.finished("item", "job-2")
    assert status["phase"] == "Succeeded" and "lastError" not in status and "firstError" not in status


def test_an_invalid_image_name_fails_at_once(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.bind(), pod.status("Pending", init=ended(), wait=running(),
                                                                  main=waiting("InvalidImageName", "couldn't parse")))
    world.item("item")
    error = last(world)
    assert (error["operation"], error["reason"]) == ("RunMainContainer", "InvalidImageName")
    world.wait_for_cleanup()


def test_a_temporary_pull_error_does_not_fail_the_job_and_is_shown_meanwhile(world):
    world.start()

    def hiccup(pod):
        pod.bind()
        pod.status("Pending", init=ended(), wait=running(), main=waiting("ErrImagePull", "dial tcp: no route to host"))
        wait_until(lambda: world.status("item").get("lastError", {}).get("reason") == "ErrImagePull", "the error in the status")
        pod.status("Pending", init=ended(), wait=running(), main=waiting("ImagePullBackOff", "Back-off pulling image"))
        pod.run()
        pod.succeed()

    world.kubelet.behaviour = hiccup
    world.item("item")
    status = world.finished("item")
    assert status["phase"] == "Succeeded" and "lastError" not in status
    world.wait_for_cleanup()
    assert [e["reason"] for e in world.events("item")] == ["ErrImagePull"]


def test_a_permanent_pull_error_fails_the_job_after_the_grace_period(world):
    world.start(config={"imageGracePeriod": "1s"})
    world.kubelet.behaviour = lambda pod: (pod.bind(), pod.status("Pending", init=ended(), wait=running(),
                                                                  main=waiting("ImagePullBackOff", "Back-off pulling image")))
    world.item("item")
    assert last(world)["reason"] == "ImagePullBackOff"
    world.wait_for_cleanup()


def test_unschedulable_is_shown_and_ends_with_the_timeout_of_the_item(world):
    world.start()
    world.kubelet.behaviour = lambda pod: pod.status("Pending", conditions=[
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}])
    world.item("item", timeout="4s")
    wait_until(lambda: world.status("item").get("lastError", {}).get("reason") == "Unschedulable", "the reason Unschedulable")
    error = last(world)
    assert error["codes"] == ["ERR_TIMEOUT"] and "0/3 nodes" in error["message"]
    world.wait_for_cleanup()


def test_a_timeout_ends_the_pod_with_its_grace_period_and_reports_the_container(world):
    world.start()
    world.kubelet.behaviour = hang
    world.item("item", timeout="2s")
    error = last(world)
    assert error["operation"] == "StandardTimeoutChecker.TimeoutExceeded" and error["reason"] == "ProgressingTimeout"
    assert error["message"].startswith('timeout at: "container deployer: start reconcile"')
    assert error["codes"] == ["ERR_TIMEOUT"]
    [pod] = world.kubelet.pods.values()
    assert pod.killed.wait(10)
    world.wait_for_cleanup()
    deletes = world.apiserver.audit.entries(verb="delete", resource="pods", namespace=world.host)
    assert deletes


def test_timeout_none_disables_the_timeout(world):
    world.start()
    seen = {}

    def slow(pod):
        seen["deadline"] = pod.object["spec"].get("activeDeadlineSeconds")
        pod.run()
        time.sleep(2)
        pod.succeed()

    world.kubelet.behaviour = slow
    world.item("item", timeout="none")
    assert world.finished("item")["phase"] == "Succeeded"
    assert seen["deadline"] is None


def test_a_delete_run_that_times_out_keeps_the_item(world):
    world.start()
    world.item("item", timeout="3s")
    world.finished("item")
    world.wait_for_cleanup()
    world.kubelet.behaviour = hang
    world.delete("item")
    error = last(world, job="job-delete", phase="DeleteFailed")
    assert error["message"].startswith('timeout at: "container deployer: start delete"')
    assert world.kube.get(DEPLOYITEMS, "item", world.namespace)["metadata"]["finalizers"]


def test_an_interrupt_ends_the_pod_and_does_not_change_the_status(world):
    world.start()
    world.kubelet.behaviour = hang
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    world.interrupt("item", "job-1")
    [pod] = wait_until(lambda: list(world.kubelet.pods.values()), "the pod")
    assert pod.killed.wait(10)
    world.wait_for_cleanup()
    status = world.status("item")
    assert status["phase"] == "Failed" and status["lastError"]["reason"] == "InterruptOperation"
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Succeeded"


def test_an_error_whose_numbers_change_is_one_event_and_one_of_the_last_errors(world):
    """A quota counts the pods of others: each attempt is rejected with different numbers, but for the same reason."""
    tries = []

    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods") and len(tries) < 3:
            tries.append(request)
            return Action(forward=False, answer=refusal(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: q, requested: '
                                                        f"pods=1, used: pods={99 + len(tries)}, limited: pods=100"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("item")
        wait_until(lambda: "pods=102" in world.status("item").get("lastError", {}).get("message", ""), "the report of the third attempt")
        status = world.finished("item")
        world.wait_for_cleanup()
    assert status["phase"] == "Succeeded" and len(tries) == 3
    assert len(status["lastErrors"]) == 1 and "pods=102" in status["lastErrors"][0]["message"]
    assert "pods=100" in status["firstError"]["message"]
    assert len(world.events("item")) == 1


def test_a_new_job_waits_for_the_interrupted_pod_to_end(world):
    world.start()

    seen = threading.Event()

    def stubborn(pod):
        pod.run()
        pod.killed.wait(60)
        seen.wait(60)
        pod.status("Failed", init=ended(), main=ended(143), wait=ended(0))

    world.kubelet.behaviour = stubborn
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing" and world.pods()[0]["status"]["phase"] == "Running", "main runs")
    world.kubelet.behaviour = succeed
    world.interrupt("item", "job-1")
    world.trigger("item", "job-2")
    wait_until(lambda: world.status("item").get("phase") == "Init", "phase Init while the old pod ends")
    assert len(world.pods()) == 1
    assert world.status("item")["lastError"]["reason"] == "PreviousPodRuns"
    wait_until(lambda: [e["reason"] for e in world.events("item")] == ["PreviousPodRuns"], "the event for the new lastError")
    seen.set()
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
    assert [job for _, job, _ in world.kubelet.ran("item")] == ["job-1", "job-2"]


def test_a_pod_that_is_deleted_by_others_fails_the_job_at_once(world):
    world.start()
    world.kubelet.behaviour = hang
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    [pod] = wait_until(lambda: [p for p in world.pods() if p["status"]["phase"] == "Running"], "main to run")
    world.kube.delete("pods", pod["metadata"]["name"], world.host)
    error = last(world)
    assert error["operation"] == "RunMainContainer" and "143" in error["message"]
    world.wait_for_cleanup()


def test_a_pod_that_disappears_is_reported_as_lost(world):
    world.start()
    world.kubelet.behaviour = hang
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    [pod] = world.pods()
    world.kube.patch("pods", pod["metadata"]["name"], {"metadata": {"finalizers": None}}, world.host)
    world.kube.delete("pods", pod["metadata"]["name"], world.host, gracePeriodSeconds=0)
    assert last(world)["reason"] == "PodLost"
    world.wait_for_cleanup()


def test_a_pod_of_another_job_is_removed_and_never_adopted(world):
    controller = world.start()
    world.kubelet.behaviour = hang
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    controller.kill()
    controller.expected = False
    world.interrupt("item", "job-1")
    world.trigger("item", "job-2")
    world.kubelet.behaviour = succeed
    world.start()
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
    assert [job for _, job, _ in world.kubelet.ran("item")] == ["job-1", "job-2"]
    world.wait_for_cleanup()


def test_the_pod_of_a_crashed_controller_is_finished_by_the_next_one(world):
    controller = world.start()
    world.kubelet.behaviour = hang
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    controller.kill()
    controller.expected = False
    [pod] = wait_until(lambda: list(world.kubelet.pods.values()), "the kubelet to see the pod")
    pod.export({"a": 1})
    pod.succeed()
    world.start()
    status = world.finished("item")
    assert status["phase"] == "Succeeded" and status["exportRef"]
    assert len(world.kubelet.ran("item")) == 1


def test_the_end_of_the_log_of_main_is_in_the_status_without_inputs(world):
    def plan(request):
        if request.path.endswith("/log"):
            asked.append(request.query)
            return Action(forward=False, answer=(200, b"loading imports\npassword is canary-4711\nno such host\n"))
        return PASS

    asked = []
    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(3))
        world.item("item", config={"importValues": {"password": "canary-4711"}})
        error = last(world)
    # Without limitBytes, which would return the first bytes of the last lines.
    assert asked == [{"container": "main", "tailLines": "20"}]
    assert "exit code 3" in error["message"] and "canary" not in error["message"]
    assert error["message"].endswith("loading imports\npassword is ***\nno such host")
    tail = world.status("item")["providerStatus"]["podStatus"]["mainLogTail"]
    assert "no such host" in tail and "canary" not in tail


@pytest.mark.parametrize("length", [200, 16 * 1024])
@pytest.mark.parametrize("has_message", [True, False])
def test_of_long_log_lines_the_last_ones_are_reported(world, length, has_message):
    """Twenty lines may be 20 bytes or 320 KiB, and the error is at their end."""
    lines = [f"{i:04} " + "x" * (length - 6) for i in range(20)] + ["the last line"]
    text = "\n".join(lines) + "\n"

    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, text.encode()))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(3, message=text[-2048:] if has_message else ""))
        world.item("item")
        message = last(world)["message"]
    tail = world.status("item")["providerStatus"]["podStatus"]["mainLogTail"]
    assert message.endswith("\nthe last line") and message.count("the last line") == 1
    assert tail.rstrip().endswith("the last line")
    assert len(tail) <= 2048 and len(message) <= 4096
    if length == 200:
        assert tail.startswith("00") and "0019 " in tail  # whole lines


def test_an_export_that_cannot_be_written_is_reported_and_retried(world):
    refused = [True]

    def plan(request):
        if refused[0] and request.method == "PATCH" and request.path.endswith("/item-export"):
            return Action(forward=False, answer=refusal(403, "Forbidden", "secrets is forbidden"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.export({"a": 1}), pod.succeed())
        world.item("item")
        error = wait_until(lambda: world.status("item").get("lastError"), "the error in the status")
        assert (error["operation"], error["reason"]) == ("Complete", "SyncExport")
        refused[0] = False
        status = world.finished("item")
        assert status["phase"] == "Succeeded" and status["exportRef"]
    assert len(world.kubelet.ran("item")) == 1


def test_a_container_that_cannot_be_created_is_shown_and_fails_after_the_grace_period(world):
    world.start(config={"imageGracePeriod": "1s"})
    world.kubelet.behaviour = lambda pod: (pod.bind(), pod.status("Pending", init=ended(), wait=running(), main=waiting(
        "CreateContainerConfigError", "container has runAsNonRoot and image will run as root")))
    world.item("item")
    error = last(world)
    assert error["reason"] == "CreateContainerConfigError" and "runAsNonRoot" in error["message"]


def test_old_generations_of_state_are_removed(world):
    world.start()
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.save_state(), pod.succeed())
    world.item("item")
    for number in range(2, 9):
        world.finished("item", f"job-{number - 1}")
        world.wait_for_cleanup()
        world.trigger("item", f"job-{number}")
    world.finished("item", "job-8")
    world.wait_for_cleanup()
    left = world.kube.items("secrets", world.host, labelSelector=f"{GROUP}/type=state")
    # Two generations are kept; they are removed when there are four more, so that it is worth a request.
    assert 2 <= len(left) <= 2 + 4
    newest = max(left, key=lambda secret: int(secret["metadata"]["annotations"][f"longshore.{GROUP}/sequence"]))
    assert newest["metadata"]["annotations"][f"longshore.{GROUP}/job"] == "job-8"


def test_many_items_whose_requests_are_retried_do_not_delay_others(world):
    """More items than the controller processes at a time. An item that waits for a retry makes room for others before its last attempt."""
    tries, crowd, is_broken = collections.Counter(), 40, threading.Event()
    tries_when_all_had_begun = []
    is_broken.set()

    def plan(request):
        if request.method != "POST" or not request.path.endswith("/serviceaccounts"):
            return PASS
        account = request.json["metadata"]["name"]
        if not is_broken.is_set() or not account.startswith("slow-"):
            return PASS
        tries[account] += 1
        if len(tries) == crowd and not tries_when_all_had_begun:
            tries_when_all_had_begun.append(max(tries.values()))
        return Action(forward=False, answer=refusal(503, "ServiceUnavailable"))

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        for number in range(crowd):
            world.item(f"slow-{number}")
        wait_until(lambda: tries_when_all_had_begun, "all of the items to start")
        assert tries_when_all_had_begun[0] < TRIES
        world.item("fast")
        assert world.finished("fast")["phase"] == "Succeeded"
        is_broken.clear()
        for number in range(crowd):
            assert world.finished(f"slow-{number}")["phase"] == "Succeeded"


def test_a_conflict_response_without_a_new_event_does_not_leave_the_pod_behind(world):
    """The API server rejects a write after too many internal retries; all watch events have arrived before the response."""
    injected = set()

    def plan(request):
        if request.method in ("DELETE", "PATCH") and "/pods/" in request.path and request.method not in injected:
            injected.add(request.method)
            return Action(forward=False, answer=refusal(409, "Conflict"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        world.wait_for_cleanup()
        assert injected == {"DELETE", "PATCH"}

        # The same for a pod that is ended but not removed.
        world.kubelet.behaviour = hang
        world.trigger("item", "job-2")
        wait_until(lambda: world.status("item").get("phase") == "Progressing" and world.pods(), "the second job to run")
        injected.clear()
        world.interrupt("item", "job-2")
        world.wait_for_cleanup()
        assert injected == {"DELETE", "PATCH"}


def test_a_pod_that_is_removed_by_others_at_the_same_time_counts_as_removed(world):
    """A 404 response to our DELETE is a success."""
    gone = []

    def remove(name):
        gone.append(name)
        world.kube.patch("pods", name, {"metadata": {"finalizers": None}}, world.host)
        world.kube.delete("pods", name, world.host, gracePeriodSeconds=0)

    def plan(request):
        if request.method == "DELETE" and "/pods/" in request.path and not gone:
            return Action(before=lambda: remove(request.path.rpartition("/")[2]))
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        wait_until(lambda: gone and not world.pods(), "deletion of the pod")
        world.trigger("item", "job-2")
        assert world.finished("item", "job-2")["phase"] == "Succeeded"
        world.wait_for_cleanup()
        assert '"level":"error"' not in controller.output()
    assert [job for _, job, _ in world.kubelet.ran("item")] == ["job-1", "job-2"]


def test_final_phase_and_finished_job_are_written_together_however_a_job_ends(world):
    """Checks every version of every item with a watch: between two writes Landscaper would start a new job."""
    behaviours = {
        "good": succeed, "late": hang,
        "bad": lambda pod: (pod.run(), pod.fail(3)),
        "image": lambda pod: (pod.bind(), pod.status("Pending", init=ended(), main=waiting("InvalidImageName"), wait=running())),
        "gone": lambda pod: (pod.run(), world.kube.patch("pods", pod.name, {"metadata": {"finalizers": None}}, world.host), pod.remove())}
    world.kubelet.behaviour = lambda pod: behaviours[pod.item()[1]](pod)
    since = world.kube.list(DEPLOYITEMS, world.namespace)["metadata"]["resourceVersion"]
    world.start()
    for name in behaviours:
        world.item(name, timeout="4s" if name == "late" else "5m")
    world.item("wrong", config={"image": 5})
    world.item("nowhere", target="nowhere")
    wanted = {"good": "Succeeded", **dict.fromkeys(("late", "bad", "image", "gone", "wrong", "nowhere"), "Failed")}
    assert {name: world.finished(name)["phase"] for name in wanted} == wanted
    seen = set()
    for _, item in world.kube.watch(DEPLOYITEMS, world.namespace, timeout=2, resourceVersion=since, timeoutSeconds=2):
        name, status = item["metadata"]["name"], item.get("status", {})
        is_final = status.get("phase") in ("Succeeded", "Failed")
        assert is_final == (status.get("jobIDFinished") == "job-1"), (name, status)
        assert is_final == ("finishedTime" in status.get("transitionTimes", {})), (name, status)
        if is_final:
            seen.add(name)
    assert seen == set(wanted)
