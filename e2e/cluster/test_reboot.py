# SPDX-License-Identifier: Apache-2.0
"""The node restarts during a run."""

import yaml

from bench.waiting import wait_until


def test_kubelet_and_containerd_restarted_during_a_run(cluster):
    """The containers keep running: the run continues and its end is noticed."""
    cluster.shell("through", "until [ -e $STATE_PATH/go ]; do sleep 0.2; done; echo 'done: true' > $EXPORTS_PATH")
    pod = cluster.main_runs("through")
    cluster.node.restart_daemons()
    cluster.node.sandbox.run("touch", cluster.node.volume_of(pod, "shared-volume") + "/state/go")
    cluster.succeeded("through", timeout=240)
    assert yaml.safe_load(cluster.exports("through")) == {"done": True}


def test_node_rebooted_during_a_run(cluster):
    """All processes of the node are killed at once. The job fails with a reason; the next job finds the previous state."""
    cluster.shell("cut-off", '[ "$(cat $STATE_PATH/f 2>/dev/null)" ] && sleep 600; echo before > $STATE_PATH/f')
    cluster.succeeded("cut-off")
    cluster.trigger("cut-off", "job-2")
    cluster.main_runs("cut-off")
    cluster.node.reboot()
    status = cluster.failed("cut-off", "job-2", timeout=240)
    assert status["lastError"]["operation"] == "RunMainContainer", status
    cluster.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "cut-off", {"spec": {"config": {
        "command": ["/bin/sh", "-c", 'echo "f: $(cat $STATE_PATH/f)" > $EXPORTS_PATH']}}}, cluster.namespace)
    cluster.trigger("cut-off", "job-3")
    cluster.succeeded("cut-off", "job-3", timeout=240)
    assert yaml.safe_load(cluster.exports("cut-off")) == {"f": "before"}
    wait_until(lambda: len([o for o in cluster.item_objects("cut-off") if o.startswith("pods/")]) == 0, "deletion of the pod", 120)
