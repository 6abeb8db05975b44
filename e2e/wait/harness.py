# SPDX-License-Identifier: Apache-2.0
"""Runs longshore-wait as in a pod. The test takes the part of the kubelet and patches the status of a pod object. A directory
replaces the shared volume, and the token has the permissions that the controller (ours or Go's) grants."""

import base64
import json
import os
import pathlib
import uuid

from bench import paths
from bench.process import Process
from bench.waiting import wait_until

GROUP = "container.deployer.landscaper.gardener.cloud"
OURS = f"longshore.{GROUP}"
BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
PROGRAM = BUILD / "wait" / "longshore-wait"


def our_rules(pod, export, report):
    """The rules of the Role that our controller creates."""
    return [{"apiGroups": [""], "resources": ["pods"], "resourceNames": [pod], "verbs": ["get", "watch"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [export, report], "verbs": ["get", "update"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]


# The rules of the Role of the Go controller: no watch on pods.
GO_RULES = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "update", "get", "list"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


class Item:
    """A DeployItem as wait sees it: a name, an account and objects in the host namespace. It may have several runs in a row."""

    def __init__(self, apiserver, namespace, *, name=None, item_namespace="team", is_go=False):
        self.apiserver, self.kube, self.namespace = apiserver, apiserver.kube, namespace
        self.name = name or f"item-{uuid.uuid4().hex[:8]}"
        self.item_namespace = item_namespace
        self.is_go = is_go
        self.export_name = f"{item_namespace}-{self.name}-export"
        self.report_name = f"{self.name}-report"
        self.account = f"{self.name}-wait"[-60:].strip("-.")
        self.pod = f"{self.name}-pod"[-60:].strip("-.")
        self.user = f"system:serviceaccount:{namespace}:{self.account}"
        self.directory = paths.fresh_directory("wait")
        self.token_directory = self.directory / "serviceaccount"
        self.token_directory.mkdir()
        self.shared = self.directory / "shared"
        for part in ("state", "exports"):
            (self.shared / part).mkdir(parents=True)
        self.state = self.shared / "state"
        self.exports = self.shared / "exports" / "values"
        self.sequence = 0
        self.runs = 0
        self.give_token()
        rules = GO_RULES if is_go else our_rules(self.pod, self.export_name, self.report_name)
        self.kube.allow(f"{namespace}:{self.account}", rules, namespace, kind="ServiceAccount")

    def give_token(self, **request):
        token = self.apiserver.service_account(self.account, self.namespace, **request)
        (self.token_directory / "ca.crt").write_bytes(pathlib.Path(self.apiserver.authority.certificate).read_bytes())
        new = self.token_directory / ".token"
        new.write_text(token)
        new.rename(self.token_directory / "token")

    # --- the pod ---

    def create_pod(self, grace=630):
        container = {"image": "example.com/none:1", "terminationMessagePolicy": "FallbackToLogsOnError"}
        created = self.kube.create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.pod, "namespace": self.namespace},
            "spec": {"restartPolicy": "Never", "serviceAccountName": self.account, "automountServiceAccountToken": False,
                     "terminationGracePeriodSeconds": grace,
                     "containers": [{"name": "main", **container}, {"name": "wait", **container}]}})
        self.set_main({"running": {"startedAt": "2024-01-01T00:00:00Z"}})
        return created

    def delete_pod(self):
        if self.kube.find("pods", self.pod, self.namespace):
            self.kube.delete("pods", self.pod, self.namespace, gracePeriodSeconds=0)

    def set_main(self, state):
        statuses = [{"name": name, "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": how}
                    for name, how in (("main", state), ("wait", {"running": {"startedAt": "2024-01-01T00:00:00Z"}}))]
        self.kube.patch("pods", self.pod, {"status": {"phase": "Running", "containerStatuses": statuses}}, self.namespace,
                        subresource="status")

    def fail_to_start_main(self, reason="ImagePullBackOff"):
        self.set_main({"waiting": {"reason": reason, "message": "Back-off pulling image"}})

    def end_main(self, code=0, reason=None):
        self.set_main({"terminated": {"exitCode": code, "reason": reason or ("Error" if code else "Completed"),
                                      "startedAt": "2024-01-01T00:00:00Z", "finishedAt": "2024-01-01T00:01:00Z"}})

    # --- a run of the program ---

    def start(self, *, server=None, job=None, last=None, sequence=None, pod=True, grace=630, flags=(), env=None):
        """Starts one run. last is (sequence, sha256) of the last generation; the Go controller does not pass it.
        grace is the pod's terminationGracePeriodSeconds."""
        self.runs += 1
        if pod:
            self.delete_pod()
            self.pod_uid = self.create_pod(grace)["metadata"]["uid"]
        host, port = server or (self.apiserver.location.address, self.apiserver.port)
        log = self.directory / f"termination-log-{self.runs}"
        environment = {
            # LeakSanitizer needs files in /proc that the sandbox forbids.
            "PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0",
            "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port),
            "STATE_PATH": str(self.state), "EXPORTS_PATH": str(self.exports),
            "IMPORTS_PATH": str(self.shared / "imports/import.json"),
            "POD_NAME": self.pod, "POD_NAMESPACE": self.namespace,
            "DEPLOY_ITEM_NAME": self.name, "DEPLOY_ITEM_NAMESPACE": self.item_namespace,
            "LONGSHORE_TERMINATION_LOG": str(log)}
        if not self.is_go:
            if last is None:
                newest = newest_generation(self.kube, self)
                last = (newest.sequence, newest.sha256) if newest else ("", "")
            self.sequence = sequence or max(self.sequence, int(last[0] or 0)) + 3  # as the controller does
            environment.update({
                "LONGSHORE_JOB_ID": job or f"job-{self.runs}", "LONGSHORE_POD_UID": self.pod_uid,
                "LONGSHORE_REPORT_NAME": self.report_name,
                "LONGSHORE_STATE_SEQUENCE": str(last[0]), "LONGSHORE_STATE_SHA256": last[1],
                "LONGSHORE_STATE_NEXT_SEQUENCE": str(self.sequence)})
        environment.update(env or {})
        process = Process("longshore-wait", [PROGRAM, f"--service-account={self.token_directory}", *flags],
                          env={name: value for name, value in environment.items() if value is not None})
        process.termination_log = log
        return process

    def run(self, code=0, timeout=120, **options):
        """A complete run in which main ends at once with code. Returns the ended process."""
        process = self.start(**options)
        self.end_main(code)
        process.wait(timeout)
        return process

    def write_state(self, files):
        """Makes the state exactly these files."""
        for path in sorted(self.state.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, content in files.items():
            (self.state / name).parent.mkdir(parents=True, exist_ok=True)
            (self.state / name).write_bytes(content)

    # --- results ---

    def state_secrets(self):
        selector = ",".join([f"deployitem.{GROUP}/name={self.name}", f"deployitem.{GROUP}/namespace={self.item_namespace}",
                             f"{GROUP}/type=state"])
        return self.kube.items("secrets", self.namespace, labelSelector=selector)

    def request_end(self):
        """What the controller does before it deletes the pod."""
        self.kube.patch("pods", self.pod, {"metadata": {"annotations": {f"{OURS}/end": "requested"}}}, self.namespace)

    def report_secret(self):
        return self.kube.find("secrets", self.report_name, self.namespace)

    def report(self):
        """The annotations by which wait reports the progress of a snapshot, without their prefix; {} if there are none."""
        secret = self.report_secret()
        annotations = secret["metadata"]["annotations"] if secret else {}
        return {key.removeprefix(f"{OURS}/"): value for key, value in annotations.items()}

    def export(self):
        """The bytes of the export Secret, or None."""
        secret = self.kube.find("secrets", self.export_name, self.namespace)
        return None if secret is None else base64.b64decode(secret["data"]["config"])


def ended(process, code):
    """Asserts the exit code; the message has the log."""
    assert process.exit_code == code, process.output()


def message(process):
    return process.termination_log.read_text() if process.termination_log.exists() else ""


def log_lines(process):
    return [json.loads(line) for line in process.output().splitlines() if line.startswith("{")]


def wait_for_log(process, text):
    process.wait_until(lambda: text in process.output(), f"'{text}' in the log")


# Imported last: wait.reader is also used without this module.
from wait.reader import newest_generation  # noqa: E402


def wait_for_exports(item, content):
    return wait_until(lambda: item.export() == content, "the export Secret")
