# SPDX-License-Identifier: Apache-2.0
"""Failures in a real cluster, and how they are reported in the status of the item."""

import contextlib
import signal
import time

import yaml

from bench import images
from bench.sandbox import NODE_NAME
from bench.waiting import wait_until
from cluster.conftest import RELEASE
from ship import helm

SAVE_ON_TERM = "trap 'echo saved > $STATE_PATH/mark; exit 0' TERM; echo up; while :; do sleep 0.1; done"
READ_MARK = 'echo "mark: $(cat $STATE_PATH/mark 2>/dev/null)" > $EXPORTS_PATH'


def reconfigure(cluster, name, script):
    cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", name, {"spec": {"config": {
        "command": ["/bin/sh", "-c", script]}}}, cluster.namespace)


def test_failing_main_reports_exit_code_and_last_lines(cluster):
    cluster.shell("fails", "echo kept > $STATE_PATH/f; echo the crane is out of order >&2; exit 3")
    error = cluster.failed("fails")["lastError"]
    assert error["operation"] == "RunMainContainer"
    assert "3" in error["message"] and "the crane is out of order" in error["message"]
    reconfigure(cluster, "fails", 'echo "f: $(cat $STATE_PATH/f)" > $EXPORTS_PATH')
    cluster.trigger("fails", "job-2")
    cluster.succeeded("fails", "job-2")
    assert yaml.safe_load(cluster.exports("fails")) == {"f": "kept"}, "the state of the failed run was not kept"


def test_failing_init_reports_the_reason(cluster):
    cluster.shell("no-descriptor", "true", componentDescriptor={"ref": {
        "repositoryContext": {"type": "ociRegistry", "baseUrl": f"http://{cluster.node.registry.host}/nothing"},
        "componentName": "example.com/not/there", "version": "1.0.0"}})
    status = cluster.failed("no-descriptor")
    assert "example.com/not/there" in status["lastError"]["message"]
    assert status["lastError"]["operation"] == "RunInitContainer"


def test_image_that_does_not_exist(cluster):
    cluster.item("no-image", config={"image": f"{cluster.node.registry.host}/no/such:1"})
    status = cluster.failed("no-image", timeout=300)
    assert "no/such" in status["lastError"]["message"]
    assert status["lastError"]["operation"] == "RunMainContainer"


def test_registry_is_temporarily_down(cluster):
    registry = cluster.node.start_registry()
    registry.client().push_image("late/image", "1", images.busybox())
    registry.process.signal(signal.SIGSTOP)
    try:
        cluster.item("patient", config={"image": f"{registry.host}/late/image:1", "command": ["/bin/sh", "-c", "true"]})
        pod = cluster.pod_of("patient")
        wait_until(lambda: any(e.get("reason") in ("Failed", "BackOff", "Pulling") for e in
                               cluster.kube.items("events", cluster.host) if e["involvedObject"].get("name") == pod["metadata"]["name"]),
                   "the kubelet tries to pull", 120)
        time.sleep(20)
        assert cluster.status("patient").get("jobIDFinished") != "job-1", "the job failed at once because the registry is down"
    finally:
        registry.process.signal(signal.SIGCONT)
    cluster.succeeded("patient", timeout=300)


def test_out_of_memory(cluster):
    cluster.shell("greedy", "exec tail -c 300000000 /dev/zero", resources={"limits": {"memory": "32Mi"}})
    error = cluster.failed("greedy")["lastError"]
    assert "OOMKilled" in error["reason"] + error["message"]


def never_crashed(cluster):
    """The controller's pod, whose container has not failed. Checked before a test replaces the pod, and after the last of them."""
    pod = cluster.controller_pod()
    [container] = pod["status"]["containerStatuses"]
    last = container.get("lastState", {}).get("terminated")
    # test_reboot.py kills every container of the node; the kubelet reports 137 or 255 then.
    assert last is None or last["exitCode"] in (0, 137, 255), f"the controller crashed: {last}"
    return pod


def evict(cluster, pod):
    name = pod["metadata"]["name"]
    cluster.kube.request("POST", f"/api/v1/namespaces/{cluster.host}/pods/{name}/eviction", body={
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})


def test_eviction_by_node_drain(cluster):
    """Cordon and evict: an evicted run has saved its state, a run without a node waits for one, and nothing is lost when the
    deployer is evicted too."""
    cluster.shell("evicted", SAVE_ON_TERM)
    pod = cluster.main_runs("evicted")
    wait_until(lambda: "up" in cluster.kube.logs(pod["metadata"]["name"], cluster.host, "main"), "the start of main")
    cluster.kube.patch("nodes", NODE_NAME, {"spec": {"unschedulable": True}})
    try:
        evict(cluster, pod)
        cluster.shell("queued", "echo 'ran: true' > $EXPORTS_PATH", timeout="10m")
        queued = cluster.pod_of("queued")
        assert not queued["spec"].get("nodeName"), "the pod was scheduled"
        error = cluster.failed("evicted")["lastError"]
        assert "the pod was stopped" in error["message"] and "state: stored" in error["message"], error
        assert not cluster.status("queued").get("jobIDFinished"), "the job of a pending pod finished"
        evict(cluster, never_crashed(cluster))
    finally:
        cluster.kube.patch("nodes", NODE_NAME, {"spec": {"unschedulable": None}})
    reconfigure(cluster, "evicted", READ_MARK)
    cluster.trigger("evicted", "job-2")
    cluster.succeeded("queued")
    cluster.succeeded("evicted", "job-2")
    assert yaml.safe_load(cluster.exports("evicted")) == {"mark": "saved"}


def test_timeout_ends_the_pod_and_saves_state(cluster):
    cluster.shell("slow", SAVE_ON_TERM, timeout="8s")
    status = cluster.failed("slow")
    assert status["lastError"]["codes"] == ["ERR_TIMEOUT"]
    wait_until(lambda: not [o for o in cluster.item_objects("slow") if o.startswith("pods/")], "deletion of the pod", 120)
    reconfigure(cluster, "slow", READ_MARK)
    cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "slow", {"spec": {"timeout": "5m"}}, cluster.namespace)
    cluster.trigger("slow", "job-2")
    cluster.succeeded("slow", "job-2")
    assert yaml.safe_load(cluster.exports("slow")) == {"mark": "saved"}


def test_interrupt_ends_the_pod_and_saves_state(cluster):
    cluster.shell("interrupted", f"echo before > $STATE_PATH/first; {SAVE_ON_TERM}")
    pod = cluster.main_runs("interrupted")
    wait_until(lambda: "up" in cluster.kube.logs(pod["metadata"]["name"], cluster.host, "main"), "the start of main")
    cluster.interrupt("interrupted", "job-1")
    wait_until(lambda: not [o for o in cluster.item_objects("interrupted") if o.startswith("pods/")], "deletion of the pod", 120)
    assert cluster.status("interrupted")["lastError"]["reason"] == "InterruptOperation"
    reconfigure(cluster, "interrupted", f'{READ_MARK}; echo "first: $(cat $STATE_PATH/first)" >> $EXPORTS_PATH')
    cluster.trigger("interrupted", "job-2")
    cluster.succeeded("interrupted", "job-2")
    assert yaml.safe_load(cluster.exports("interrupted")) == {"mark": "saved", "first": "before"}


@contextlib.contextmanager
def keep_pods(cluster):
    def upgrade(is_kept):
        never_crashed(cluster)
        helm.run("upgrade", RELEASE, helm.CHART, "--reuse-values", "--set", f"deployer.debug.keepPod={is_kept}", "--wait", "--timeout", "3m",
                 kubeconfig=cluster.node.kubeconfig, namespace=cluster.host)

    upgrade("true")
    try:
        yield
    finally:
        upgrade("false")


def test_a_kept_pod_ends_in_time_and_has_saved_its_state(cluster):
    with keep_pods(cluster):
        cluster.shell("kept", SAVE_ON_TERM, timeout="8s")
        assert cluster.failed("kept")["lastError"]["codes"] == ["ERR_TIMEOUT"]
        pod = wait_until(lambda: (p := cluster.pod_of("kept"))["status"]["phase"] == "Failed" and not p["metadata"].get("finalizers") and p,
                         "the pod is over and let go of", 120)
        assert "deletionTimestamp" not in pod["metadata"]
        assert pod["status"]["reason"] == "DeadlineExceeded"
        assert "up" in cluster.kube.logs(pod["metadata"]["name"], cluster.host, "main"), "the log of the kept pod is not available"
        reconfigure(cluster, "kept", READ_MARK)
        cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "kept", {"spec": {"timeout": "5m"}}, cluster.namespace)
        cluster.trigger("kept", "job-2")
        cluster.succeeded("kept", "job-2")
        assert yaml.safe_load(cluster.exports("kept")) == {"mark": "saved"}
    cluster.delete("kept")
    cluster.deleted("kept")


def kill_controller(cluster):
    pod = never_crashed(cluster)
    cluster.kube.delete("pods", pod["metadata"]["name"], cluster.host, gracePeriodSeconds=0)
    wait_until(lambda: (p := cluster.controller_pod()) and p["metadata"]["uid"] != pod["metadata"]["uid"], "a new controller", 120)


def test_controller_killed_in_each_phase(cluster):
    script = 'n=$(cat $STATE_PATH/n 2>/dev/null || echo 0); echo $((n+1)) > $STATE_PATH/n; sleep 2; cp $STATE_PATH/n $EXPORTS_PATH.n; ' \
             'echo "runs: $(cat $STATE_PATH/n)" > $EXPORTS_PATH'
    cluster.shell("survivor", script)
    kill_controller(cluster)  # before or just after the pod is created
    cluster.succeeded("survivor", timeout=180)
    cluster.trigger("survivor", "job-2")
    cluster.main_runs("survivor")
    kill_controller(cluster)  # while main runs
    cluster.succeeded("survivor", "job-2", timeout=180)
    cluster.trigger("survivor", "job-3")
    cluster.pod_of("survivor")
    wait_until(lambda: [p for p in cluster.pods() if p["metadata"]["name"] == cluster.pod_of("survivor")["metadata"]["name"]
                        and p["status"].get("phase") in ("Succeeded", "Running")] or
               cluster.status("survivor").get("jobIDFinished") == "job-3", "the pod runs or is over")
    kill_controller(cluster)
    cluster.succeeded("survivor", "job-3", timeout=180)
    assert yaml.safe_load(cluster.exports("survivor")) == {"runs": 3}, "not every job ran exactly once"


def test_api_server_restarted_during_a_run(cluster):
    cluster.shell("through", "echo 1 > $STATE_PATH/f; sleep 5; echo 'done: true' > $EXPORTS_PATH")
    cluster.main_runs("through")
    cluster.node.api.restart()
    cluster.succeeded("through", timeout=240)
    assert yaml.safe_load(cluster.exports("through")) == {"done": True}


def test_the_controller_is_ready_and_has_never_crashed(cluster):
    """The tests above replaced its pod several times and checked each pod before."""
    wait_until(lambda: (p := cluster.controller_pod()) and all(s["ready"] for s in p["status"].get("containerStatuses", [])),
               f"{RELEASE} ready", 120)
    never_crashed(cluster)
