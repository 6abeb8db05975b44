# SPDX-License-Identifier: Apache-2.0
"""Tests the node of the bench: it runs pods as Longshore needs it."""

import pytest

from bench import images
from bench.kube import ApiError

pytestmark = pytest.mark.node

RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def container(name, script, security=None, image=images.BUSYBOX):
    return {"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "args": [script],
            "securityContext": security or RESTRICTED, "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}


def pod(name, containers, init=()):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "initContainers": list(init), "containers": containers,
        "terminationGracePeriodSeconds": 0, "volumes": [{"name": "shared", "emptyDir": {}}],
        "securityContext": {"runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000, "runAsNonRoot": True,
                            "seccompProfile": {"type": "RuntimeDefault"}}}}


def phase_of(node, name, namespace):
    ended = node.kube.wait_for("pods", name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"), namespace)
    return ended["status"]["phase"]


def restrict(node, namespace):
    node.kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})


def test_init_main_and_sidecar_share_a_volume(node, node_namespace):
    restrict(node, node_namespace)
    node.kube.create(pod("run", [
        container("main", "id -u; id -g; id -G; cat /shared/from-init && touch /shared/done"),
        container("wait", "while [ ! -e /shared/done ]; do sleep 0.1; done; stat -c %g /shared/done"),
    ], [container("init", "echo hello > /shared/from-init")]), node_namespace)
    assert phase_of(node, "run", node_namespace) == "Succeeded"
    assert node.kube.logs("run", node_namespace, "main").split() == ["1000", "3000", "3000", "2000", "hello"]
    # The volume belongs to fsGroup and has the set-group-ID bit, so new files belong to the group too.
    assert node.kube.logs("run", node_namespace, "wait").split() == ["2000"]


def test_pod_security_rejects_a_privileged_pod(node, node_namespace):
    restrict(node, node_namespace)
    with pytest.raises(ApiError) as error:
        node.kube.create(pod("bad", [container("main", "true", {"privileged": True})]), node_namespace)
    assert error.value.status == 403 and "PodSecurity" in error.value.message


def test_a_pod_pulls_from_the_registry_and_reaches_the_api(node, node_namespace):
    node.registry.client().push_image("tools/shell", "1", images.busybox())
    script = ("nc $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && "
              "head -c 3 /var/run/secrets/kubernetes.io/serviceaccount/token")
    node.kube.create(pod("pulled", [container("main", script, image=f"{node.registry.host}/tools/shell:1")]), node_namespace)
    assert phase_of(node, "pulled", node_namespace) == "Succeeded"
    assert node.kube.logs("pulled", node_namespace, "main") == "eyJ"
