# SPDX-License-Identifier: Apache-2.0
"""The node goes and comes back."""

import yaml

from bench.waiting import wait_until


def test_kubelet_and_containerd_restarted_during_a_run(cluster):
    """Nobody told the containers: the run goes on and its end is seen."""
    cluster.shell("through", "until [ -e $STATE_PATH/go ]; do sleep 0.2; done; echo 'done: true' > $EXPORTS_PATH")
    pod = cluster.main_runs("through")
    cluster.node.restart_daemons()
    cluster.node.nest.run("touch", cluster.node.volume_of(pod, "shared-volume") + "/state/go")
    cluster.succeeded("through", timeout=240)
    assert yaml.safe_load(cluster.exports("through")) == {"done": True}


def test_node_rebooted_during_a_run(cluster):
    """Every process of the node is gone in a moment. The job fails and says so; the next one finds the state of before."""
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
    wait_until(lambda: len([o for o in cluster.item_objects("cut-off") if o.startswith("pods/")]) == 0, "no pod is left", 120)
