# SPDX-License-Identifier: Apache-2.0
"""longshore-wait in real pods with a real kubelet, which does not report main's end while the pod is being stopped."""

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
    """The program and its shared libraries, if any, as files of an image."""
    found = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    libraries = re.findall(r"(/\S+) \(0x", found.stdout) if found.returncode == 0 else []
    files = {f"{library[1:]}": (pathlib.Path(library).read_bytes(), 0o755) for library in libraries}
    return {**files, "longshore-wait": (pathlib.Path(program).read_bytes(), 0o755)}


@pytest.fixture(scope="module")
def wait_image(node):
    node.load(images.busybox(_with_libraries(PROGRAM), entrypoint=["/longshore-wait"]), IMAGE)
    return IMAGE


class Pod:
    """A pod with a main container of the test and longshore-wait, as the controller creates it."""

    def __init__(self, node, namespace, script, *, main_image=images.BUSYBOX, main_grace=30, **spec):
        self.node, self.kube, self.namespace = node, node.kube, namespace
        self.kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
        self.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "wait"}}, namespace)
        self.kube.allow(f"{namespace}:wait", our_rules("pod", "ns-item-export", "ns-item-report"), namespace, kind="ServiceAccount")
        env = [{"name": name, "value": value} for name, value in {
            "STATE_PATH": f"{SHARED}/state", "EXPORTS_PATH": f"{SHARED}/exports/values",
            "DEPLOY_ITEM_NAME": "item", "DEPLOY_ITEM_NAMESPACE": "ns", "LONGSHORE_JOB_ID": "job",
            "LONGSHORE_STATE_SEQUENCE": "", "LONGSHORE_STATE_SHA256": "", "LONGSHORE_STATE_NEXT_SEQUENCE": "7",
            "LONGSHORE_MAIN_GRACE_SECONDS": str(main_grace)}.items()]
        env += [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{path}"}}} for name, path in (
            ("POD_NAME", "name"), ("POD_NAMESPACE", "namespace"), ("LONGSHORE_POD_UID", "uid"))]
        safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        shared = {"name": "shared", "mountPath": SHARED}
        self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {
            "restartPolicy": "Never", "serviceAccountName": "wait", "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": main_grace + 600,
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
                {"name": "main", "image": main_image, "imagePullPolicy": "Never", "securityContext": safe, "env": env,
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
        # Far less than the pod's grace period.
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


def state_of(pod, name):
    return next(status for status in pod["status"]["containerStatuses"] if status["name"] == name)["state"]


def container_status(pod, name):
    return state_of(pod, name)["terminated"]


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
    assert said["message"] == "main ended with code 3 (Error); state: stored as generation 7 (1 file, 2 bytes); exports: skipped"
    assert pod.state() == {"count": b"1\n"}


def test_main_is_killed(make_pod):
    """Main is killed with SIGKILL; its state is stored."""
    pod = make_pod("echo 1 > $STATE_PATH/count; kill -9 $$ || exit 137")
    ended = pod.wait_for_end()
    assert "main ended with code 137" in container_status(ended, "wait")["message"]
    assert pod.state() == {"count": b"1\n"}


def test_a_deleted_pod_stores_the_last_state_before_the_end_of_the_grace_period(make_pod):
    """The kubelet does not report main's end before wait has ended: that main is idle must suffice."""
    pod = make_pod('trap "echo last > $STATE_PATH/count; exit 0" TERM; echo 1 > $STATE_PATH/count; '
                   'while true; do sleep 1; done')
    pod.wait_for_log("the pod was seen")
    pod.kube.delete("pods", "pod", pod.namespace)
    pod.wait_until_gone()
    assert pod.state() == {"count": b"last\n"}
    assert pod.export() is None


def test_a_main_that_is_active_after_sigterm_is_waited_for(make_pod):
    pod = make_pod('trap "for i in 1 2 3 4 5; do sleep 8; date > $STATE_PATH/progress; done; echo last > $STATE_PATH/count; '
                   'exit 0" TERM; echo 1 > $STATE_PATH/count; while true; do sleep 1; done', main_grace=300)
    pod.wait_for_log("the pod was seen")
    pod.kube.delete("pods", "pod", pod.namespace)
    pod.wait_until_gone()
    assert pod.state()["count"] == b"last\n"


def test_a_main_that_ignores_sigterm_keeps_its_state(make_pod):
    """wait stores the state and exits after main's grace period. The controller, which is not used here, then deletes the pod."""
    pod = make_pod("trap '' TERM; while true; do date > $STATE_PATH/date; sleep 1; done", main_grace=5)
    pod.wait_for_log("the pod was seen")
    pod.kube.delete("pods", "pod", pod.namespace)
    pod.wait_for_log("snapshot of the state")
    pod.wait_for_log("main did not end within 5 s of SIGTERM")
    assert set(pod.state()) == {"date"}
    pod.kube.delete("pods", "pod", pod.namespace, gracePeriodSeconds=0)
    pod.wait_until_gone()


def test_a_main_that_was_never_started_does_not_delay_the_deletion(make_pod):
    pod = make_pod("true", main_image="longshore.test/absent:1", main_grace=3000)
    pod.wait_for_log("main is not started")
    pod.kube.patch("pods", "pod", {"metadata": {"finalizers": ["example.com/kept"]}}, pod.namespace)
    pod.kube.delete("pods", "pod", pod.namespace)
    ended = pod.kube.wait_for("pods", "pod", lambda found: "terminated" in state_of(found, "wait"), pod.namespace,
                              what="wait's end", timeout=200)
    assert container_status(ended, "wait")["message"].startswith("the pod was stopped before main was started (ErrImageNeverPull)")
    pod.kube.patch("pods", "pod", {"metadata": {"finalizers": None}}, pod.namespace)
    pod.wait_until_gone()


def test_a_deadline_saves_the_state(make_pod):
    pod = make_pod('trap "echo last > $STATE_PATH/count; exit 0" TERM; echo 1 > $STATE_PATH/count; while true; do sleep 1; done',
                   activeDeadlineSeconds=15)
    ended = pod.wait_for_end()
    assert ended["status"]["phase"] == "Failed"
    pod.kube.wait_for("pods", "pod", lambda found: "terminated" in found["status"]["containerStatuses"][1]["state"],
                      pod.namespace, what="wait's end", timeout=200)
    assert pod.state() == {"count": b"last\n"}
