# SPDX-License-Identifier: Apache-2.0
"""A main container that ignores SIGTERM, as every shell without a trap does as process 1, does not block anything: its pod is
deleted with a grace period of at most 40 seconds, its state is saved, and the next job, whose timeout is shorter than the grace period in the spec of the pod (630 seconds),
succeeds."""

import pytest
import yaml

from api.controller.harness import FORCE_CLEANUP, GROUP, LABEL_ITEM_NAME, OURS
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from cluster.test_trouble import reconfigure

SETUP = "trap '' TERM; echo kept > $STATE_PATH/mark; echo up"
IDLE = f"{SETUP}; while :; do sleep 1; done"
# wait lets a main that changes files run for all of its 30 seconds. Otherwise it exits earlier; main runs on in both cases.
ACTIVE = f"{SETUP}; while :; do date > $STATE_PATH/date; sleep 1; done"
READ_MARK = 'echo "mark: $(cat $STATE_PATH/mark 2>/dev/null)" > $EXPORTS_PATH'
# Much shorter than the grace period in the spec of the pod. The machine may be busy with other tests.
POD_GONE_SECONDS = 120


def is_up(cluster, name):
    pod = cluster.main_runs(name)
    wait_until(lambda: "up" in cluster.kube.logs(pod["metadata"]["name"], cluster.host, "main"), "the start of main")
    return pod


def find_pod(cluster, uid):
    return next((pod for pod in cluster.pods() if pod["metadata"]["uid"] == uid), None)


def pod_is_ended(cluster, pod):
    """Waits until the pod is deleted, and then until it is gone. The kubelet kills main at the end of the grace period."""
    uid = pod["metadata"]["uid"]
    deleted = wait_until(lambda: (found := find_pod(cluster, uid)) and "deletionTimestamp" in found["metadata"] and found,
                         "deletion of the pod")
    assert 30 < deleted["metadata"]["deletionGracePeriodSeconds"] <= 40
    wait_until(lambda: find_pod(cluster, uid) is None, "the end of the pod", POD_GONE_SECONDS)


def set_timeout(cluster, name):
    cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", name, {"spec": {"timeout": "45s"}}, cluster.namespace)


def trigger_next_job(cluster, name):
    reconfigure(cluster, name, READ_MARK)
    set_timeout(cluster, name)
    cluster.trigger(name, "job-2")


def next_job_finds_the_state(cluster, name):
    cluster.succeeded(name, "job-2", timeout=240)
    assert yaml.safe_load(cluster.exports(name)) == {"mark": "kept"}


@pytest.mark.parametrize("script", [IDLE, ACTIVE], ids=["idle", "active"])
def test_after_an_interrupt(cluster, script):
    cluster.shell("interrupted", script)
    pod = is_up(cluster, "interrupted")
    cluster.interrupt("interrupted", "job-1")
    pod_is_ended(cluster, pod)
    trigger_next_job(cluster, "interrupted")
    next_job_finds_the_state(cluster, "interrupted")


def test_after_a_timeout(cluster):
    cluster.shell("late", ACTIVE, timeout="10s")
    pod = cluster.pod_of("late")
    assert cluster.failed("late")["lastError"]["codes"] == ["ERR_TIMEOUT"]
    pod_is_ended(cluster, pod)
    trigger_next_job(cluster, "late")
    next_job_finds_the_state(cluster, "late")


def test_a_superseding_job_starts_after_the_old_pod_is_deleted_and_its_timeout_counts_from_then(cluster):
    cluster.shell("superseded", ACTIVE)
    pod = is_up(cluster, "superseded")
    trigger_next_job(cluster, "superseded")
    pod_is_ended(cluster, pod)
    next_job_finds_the_state(cluster, "superseded")


def test_a_deletion(cluster):
    cluster.shell("deleted", f'if [ "$OPERATION" = DELETE ]; then test "$(cat $STATE_PATH/mark)" = kept; exit; fi; {ACTIVE}')
    pod = is_up(cluster, "deleted")
    set_timeout(cluster, "deleted")
    cluster.delete("deleted")
    pod_is_ended(cluster, pod)
    cluster.deleted("deleted", timeout=240)


LARGE_MIB = 150
WRITE_LARGE = (f"trap '' TERM; cd $STATE_PATH; dd if=/dev/urandom of=large bs=1M count={LARGE_MIB} && sha256sum large > sum && echo up; "
               "while :; do sleep 1; done")


def chunks_of(cluster, name):
    """The number of chunks that the generation of each chunk of the item's state has."""
    return [int(chunk["annotations"][f"{OURS}/chunks"])
            for chunk in cluster.kube.metadata("secrets", cluster.host, labelSelector=f"{GROUP}/type=state,{LABEL_ITEM_NAME}={name}")]


def test_a_large_state_of_the_interrupted_run_is_not_cut_off(cluster):
    """It is not known to the controller when the run is interrupted: wait saves it first, and the pod is deleted then."""
    cluster.shell("large", WRITE_LARGE)
    pod = cluster.main_runs("large")
    wait_until(lambda: "up" in cluster.kube.logs(pod["metadata"]["name"], cluster.host, "main"), "the large state", 240)
    cluster.interrupt("large", "job-1")
    uid = pod["metadata"]["uid"]
    deleted = wait_until(lambda: (found := find_pod(cluster, uid)) and "deletionTimestamp" in found["metadata"] and found,
                         "deletion of the pod", 600)
    chunks = chunks_of(cluster, "large")
    assert len(chunks) > LARGE_MIB and set(chunks) == {len(chunks)}, "the pod was deleted before the state was saved"
    assert deleted["metadata"]["deletionGracePeriodSeconds"] >= 38
    wait_until(lambda: find_pod(cluster, uid) is None, "the end of the pod",
               deleted["metadata"]["deletionGracePeriodSeconds"] + POD_GONE_SECONDS)
    assert chunks_of(cluster, "large") == chunks, "the unchanged state was saved a second time"
    reconfigure(cluster, "large", 'cd $STATE_PATH; sha256sum -c sum && echo "size: $(stat -c %s large)" > $EXPORTS_PATH')
    cluster.trigger("large", "job-2")
    cluster.succeeded("large", "job-2", timeout=600)
    assert yaml.safe_load(cluster.exports("large")) == {"size": LARGE_MIB << 20}
    cluster.kube.patch(DEPLOYITEMS, "large", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, cluster.namespace)
    cluster.delete("large")
    cluster.deleted("large", timeout=240)


def test_an_image_that_cannot_be_pulled_leaves_no_pod_behind(cluster):
    """wait runs although main never started; it finds this in the status of the pod and does not wait for main."""
    # Longer than POD_GONE_SECONDS: if wait waited for main, the pod would not be gone in time.
    cluster.item("never-started", config={"image": f"{cluster.node.registry.host}/no/such:1", "terminationGracePeriodSeconds": 300})
    cluster.failed("never-started", timeout=300)
    wait_until(lambda: not [o for o in cluster.item_objects("never-started") if o.startswith("pods/")], "the end of the pod",
               POD_GONE_SECONDS)
