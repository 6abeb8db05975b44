# SPDX-License-Identifier: Apache-2.0
"""The rendered pod on a real kubelet, with a shell instead of init and wait: what each container sees and may do."""

import pytest
from render_harness import PULL, SCRIPT, item, render, state

from bench import images

pytestmark = pytest.mark.node

LOOK = "find /data/ls -mindepth 1 -maxdepth 3 -not -path '*/..*' | sort; id -u; id -g; id -G; touch /x 2>/dev/null && echo writable"
INIT = LOOK + "; cat /data/ls/state_source/*/config; cat /data/ls/internal/configuration.json; touch $STATE_PATH.made"
WAIT = "ls /var/run/secrets/kubernetes.io/serviceaccount; while [ ! -e /data/ls/shared/done ]; do sleep 0.1; done; echo uid=$LONGSHORE_POD_UID"


def config(namespace):
    shell = {"image": images.BUSYBOX, "command": ["/bin/sh", "-c"]}
    return {"namespace": namespace, "initContainer": {**shell, "args": [INIT]}, "waitContainer": {**shell, "args": [WAIT]}}


def run(node, namespace, directory, objects):
    """Creates all objects, waits for the end of the pod and returns its logs."""
    node.kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    for thing in objects[1:]:
        if "state" in thing["metadata"]["name"]:
            node.kube.create({**thing, "metadata": {**thing["metadata"], "namespace": namespace, "creationTimestamp": None}}, namespace)
    made = render(directory, objects, config(namespace))
    for thing in made:
        node.kube.create(thing, namespace)
    name = made[-1]["metadata"]["name"]
    ended = node.kube.wait_for("pods", name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"), namespace)
    logs = {container: node.kube.logs(name, namespace, container) for container in ("init", "main", "wait")}
    assert ended["status"]["phase"] == "Succeeded", logs
    return ended, logs


def test_each_container_of_an_item_sees_only_its_own_files(node, node_namespace, tmp_path):
    program = {"image": images.BUSYBOX, "command": ["/bin/sh", "-c"], "args": [LOOK + "; echo $OPERATION $STATE; touch /data/ls/shared/done"],
               "registryPullSecrets": [{"name": "pull", "namespace": "team"}],
               "componentDescriptor": {"ref": {"componentName": "example.com/c", "version": "v1.0.0"}}}
    ended, logs = run(node, node_namespace, tmp_path, [item("container", program), PULL, *state(2)])
    init = logs["init"].splitlines()
    assert {"/data/ls/internal/configuration.json", "/data/ls/targets/target.json", "/data/ls/registry_secrets/000",
            "/data/ls/state_source/000", "/data/ls/state_source/001"} <= set(init)
    assert ["1000", "3000", "3000 2000"] == init[init.index("1000"):init.index("1000") + 3]
    assert "writable" not in init and any("xx{" in line for line in init)  # both chunks, then the configuration
    main = logs["main"].splitlines()
    assert [line for line in main if line.startswith("/")] == ["/data/ls/shared", "/data/ls/shared/state.made"]
    assert main[-1] == "RECONCILE /data/ls/shared/state"
    assert logs["wait"].split() == ["ca.crt", "namespace", "token", f"uid={ended['metadata']['uid']}"]


def test_a_script_is_executed_by_the_kernel_and_cannot_be_written(node, node_namespace, tmp_path):
    script = ("#!/bin/sh\nstat -L -c '%a %g' $0\n. /data/ls/script/lib.sh\necho x >> $0 || echo read-only\n"
              "find /data/ls -mindepth 1 -maxdepth 1 | sort\ntouch /data/ls/shared/done\n")
    _, logs = run(node, node_namespace, tmp_path, [item("script", {
        **SCRIPT, "script": script, "files": {"lib.sh": "echo from the file beside it"}, "image": images.BUSYBOX})])
    lines = [line for line in logs["main"].splitlines() if "can't create" not in line]
    assert lines == ["555 2000", "from the file beside it", "read-only", "/data/ls/script", "/data/ls/shared"]
