# SPDX-License-Identifier: Apache-2.0
"""longshore-wait in real pods: a real kubelet reports main's end, or, when the pod is stopped, does not."""

import base64
import pathlib
import re
import subprocess

import pytest

from bench import images
from wait.harness import PROGRAM, our_rules
from wait.reader import whole_generations

pytestmark = pytest.mark.node

IMAGE = "longshore.test/wait:1"
SHARED = "/data/ls/shared"
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"


def _with_libraries(program):
    """The program and the shared libraries that it names, if any, as files of an image."""
    found = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    libraries = re.findall(r"(/\S+) \(0x", found.stdout) if found.returncode == 0 else []
    files = {f"{library[1:]}": (pathlib.Path(library).read_bytes(), 0o755) for library in libraries}
    return {**files, "longshore-wait": (pathlib.Path(program).read_bytes(), 0o755)}


@pytest.fixture(scope="module")
def wait_image(node):
    node.load(images.busybox(_with_libraries(PROGRAM), entrypoint=["/longshore-wait"]), IMAGE)
    return IMAGE


class Pod:
    """One pod with a main of our own and longshore-wait, as the controller makes it."""

    def __init__(self, node, namespace, script, **spec):
        self.node, self.kube, self.namespace = node, node.kube, namespace
        self.kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
        self.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "wait"}}, namespace)
        self.kube.allow(f"{namespace}:wait", our_rules("pod", "ns-item-export"), namespace, kind="ServiceAccount")
        env = [{"name": name, "value": value} for name, value in {
            "STATE_PATH": f"{SHARED}/state", "EXPORTS_PATH": f"{SHARED}/exports/values",
            "DEPLOY_ITEM_NAME": "item", "DEPLOY_ITEM_NAMESPACE": "ns", "LONGSHORE_JOB_ID": "job",
            "LONGSHORE_STATE_SEQUENCE": "", "LONGSHORE_STATE_SHA256": "", "LONGSHORE_STATE_NEXT_SEQUENCE": "7"}.items()]
        env += [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{path}"}}} for name, path in (
            ("POD_NAME", "name"), ("POD_NAMESPACE", "namespace"), ("LONGSHORE_POD_UID", "uid"))]
        safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        shared = {"name": "shared", "mountPath": SHARED}
        self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {
            "restartPolicy": "Never", "serviceAccountName": "wait", "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 300,
            "securityContext": {"runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000, "runAsNonRoot": True,
                                "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [
                {"name": "shared", "emptyDir": {}},
                {"name": "token", "projected": {"sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}],
            "initContainers": [{"name": "init", "image": images.BUSYBOX, "imagePullPolicy": "Never", "securityContext": safe,
                                "args": [f"mkdir -p {SHARED}/state {SHARED}/exports"], "volumeMounts": [shared]}],
            "containers": [
                {"name": "main", "image": images.BUSYBOX, "imagePullPolicy": "Never", "securityContext": safe, "env": env,
                 "args": [script], "volumeMounts": [shared]},
                {"name": "wait", "image": IMAGE, "imagePullPolicy": "Never", "env": env,
                 "args": ["-v", "debug"],
                 "securityContext": {**safe, "readOnlyRootFilesystem": True},
                 "resources": {"limits": {"memory": "32Mi"}, "requests": {"memory": "8Mi"}},
                 "terminationMessagePolicy": "FallbackToLogsOnError",
                 "volumeMounts": [shared, {"name": "token", "mountPath": TOKEN, "readOnly": True}]}],
            **spec}}, namespace)

    def wait_for_log(self, text):
        self.kube.wait_for("pods", "pod", lambda pod: text in self.logs(), self.namespace, what=f"'{text}' in wait's log")

    def logs(self):
        return self.kube.logs("pod", self.namespace, "wait")

    def wait_for_end(self):
        return self.kube.wait_for("pods", "pod", lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"),
                                  self.namespace, what="the pod's end")

    def wait_until_gone(self, timeout=200):
        # Far less than the grace time: a wait that sat it out would not do.
        self.kube.wait_for("pods", "pod", lambda pod: pod is None, self.namespace, what="the pod to be gone", timeout=timeout)

    def state(self):
        whole = whole_generations(self.kube.items("secrets", self.namespace, labelSelector=(
            "container.deployer.landscaper.gardener.cloud/type=state")))
        return whole[0].files if whole else None

    def export(self):
        secret = self.kube.find("secrets", "ns-item-export", self.namespace)
        return secret and base64.b64decode(secret["data"]["config"])


@pytest.fixture
def make_pod(node, node_namespace, wait_image):
    return lambda script, **spec: Pod(node, node_namespace, script, **spec)


def container_status(pod, name):
    return next(status for status in pod["status"]["containerStatuses"] if status["name"] == name)["state"]["terminated"]


def test_a_whole_run(make_pod):
    pod = make_pod('echo 1 > $STATE_PATH/count; echo "a: 1" > $EXPORTS_PATH')
    assert pod.wait_for_end()["status"]["phase"] == "Succeeded", pod.logs()
    assert pod.state() == {"count": b"1\n"}
    assert pod.export() == b"a: 1\n"


def test_a_failed_main_is_named_in_the_termination_message(make_pod):
    pod = make_pod("echo 1 > $STATE_PATH/count; exit 3")
    ended = pod.wait_for_end()
    assert ended["status"]["phase"] == "Failed"
    said = container_status(ended, "wait")
    assert said["exitCode"] == 1
    assert said["message"] == "main ended with code 3 (Error); state: stored as 7 (1 files, 2 bytes); exports: not due"
    assert pod.state() == {"count": b"1\n"}


def test_main_is_killed_for_its_memory(make_pod):
    """The kernel kills main, not us; the state of before is kept."""
    pod = make_pod("echo 1 > $STATE_PATH/count; kill -9 $$ || exit 137")
    ended = pod.wait_for_end()
    assert "main ended with code 137" in container_status(ended, "wait")["message"]
    assert pod.state() == {"count": b"1\n"}


def test_a_deleted_pod_saves_what_main_wrote_last_and_does_not_sit_out_the_grace_time(make_pod):
    """The kubelet does not report that main has ended as long as we have not: its silence must do."""
    pod = make_pod('trap "echo last > $STATE_PATH/count; exit 0" TERM; echo 1 > $STATE_PATH/count; '
                   'while true; do sleep 1; done')
    pod.wait_for_log("the pod was seen")
    pod.kube.delete("pods", "pod", pod.namespace)
    pod.wait_until_gone()
    assert pod.state() == {"count": b"last\n"}
    assert pod.export() is None


def test_a_main_that_is_at_work_after_sigterm_is_waited_for(make_pod):
    pod = make_pod('trap "for i in 1 2 3 4 5; do sleep 8; date > $STATE_PATH/progress; done; echo last > $STATE_PATH/count; '
                   'exit 0" TERM; echo 1 > $STATE_PATH/count; while true; do sleep 1; done')
    pod.wait_for_log("the pod was seen")
    pod.kube.delete("pods", "pod", pod.namespace)
    pod.wait_until_gone()
    assert pod.state()["count"] == b"last\n"


def test_a_deadline_saves_the_state(make_pod):
    pod = make_pod('trap "echo last > $STATE_PATH/count; exit 0" TERM; echo 1 > $STATE_PATH/count; while true; do sleep 1; done',
                   activeDeadlineSeconds=15)
    ended = pod.wait_for_end()
    assert ended["status"]["phase"] == "Failed"
    pod.kube.wait_for("pods", "pod", lambda found: "terminated" in found["status"]["containerStatuses"][1]["state"],
                      pod.namespace, what="wait's end", timeout=200)
    assert pod.state() == {"count": b"last\n"}
