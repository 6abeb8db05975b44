# SPDX-License-Identifier: Apache-2.0
"""A main container that ignores SIGTERM, as every shell without a trap does as process 1, does not block anything: it is killed after wait
has saved the state, and the next job runs. Otherwise the kubelet would let it run for the whole grace period of the pod (more than
10 minutes), which is far longer than the timeouts of these tests."""

import yaml

from bench.waiting import wait_until
from cluster.test_trouble import reconfigure

IGNORES_TERM = "trap '' TERM; echo kept > $STATE_PATH/mark; echo up; while :; do sleep 1; done"
READ_MARK = 'echo "mark: $(cat $STATE_PATH/mark 2>/dev/null)" > $EXPORTS_PATH'
# Much shorter than the grace period of the pod. The machine may be busy with other tests.
POD_GONE_SECONDS = 120


def is_up(cluster, name):
    pod = cluster.main_runs(name)
    wait_until(lambda: "up" in cluster.kube.logs(pod["metadata"]["name"], cluster.host, "main"), "the start of main")
    return pod


def pod_is_gone(cluster, name, uid=None):
    """Waits for the deletion of the pod with this uid, or of all pods of the item."""
    def check():
        pods = [o for o in cluster.item_objects(name) if o.startswith("pods/")]
        return not pods if uid is None else uid not in [p["metadata"]["uid"] for p in cluster.pods()]
    wait_until(check, f"deletion of the pod of {name}", POD_GONE_SECONDS)


def next_job_reads_the_state(cluster, name, job="job-2"):
    """The timeout is shorter than the grace period of the previous pod."""
    reconfigure(cluster, name, READ_MARK)
    cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", name, {"spec": {"timeout": "45s"}}, cluster.namespace)
    cluster.trigger(name, job)
    cluster.succeeded(name, job, timeout=240)
    assert yaml.safe_load(cluster.exports(name)) == {"mark": "kept"}


def test_after_an_interrupt(cluster):
    cluster.shell("interrupted", IGNORES_TERM)
    is_up(cluster, "interrupted")
    cluster.interrupt("interrupted", "job-1")
    pod_is_gone(cluster, "interrupted")
    next_job_reads_the_state(cluster, "interrupted")


def test_after_a_timeout(cluster):
    cluster.shell("late", IGNORES_TERM, timeout="10s")
    assert cluster.failed("late")["lastError"]["codes"] == ["ERR_TIMEOUT"]
    pod_is_gone(cluster, "late")
    next_job_reads_the_state(cluster, "late")


def test_a_superseding_job_starts_after_the_old_pod_is_deleted_and_its_timeout_counts_from_then(cluster):
    cluster.shell("superseded", IGNORES_TERM)
    pod = is_up(cluster, "superseded")
    next_job_reads_the_state(cluster, "superseded")
    pod_is_gone(cluster, "superseded", uid=pod["metadata"]["uid"])


def test_a_deletion(cluster):
    cluster.shell("deleted", f'if [ "$OPERATION" = DELETE ]; then test "$(cat $STATE_PATH/mark)" = kept; exit; fi; {IGNORES_TERM}')
    is_up(cluster, "deleted")
    cluster.interrupt("deleted", "job-1")
    cluster.delete("deleted")
    cluster.deleted("deleted", timeout=240)


def test_an_image_that_cannot_be_pulled_leaves_no_pod_behind(cluster):
    """wait runs although main never started; it finds this in the status of the pod and does not wait for main."""
    cluster.item("never-started", config={"image": f"{cluster.node.registry.host}/no/such:1"})
    cluster.failed("never-started", timeout=300)
    pod_is_gone(cluster, "never-started")
