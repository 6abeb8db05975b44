# SPDX-License-Identifier: Apache-2.0
"""Runs one pod on this machine without a container runtime: its volumes are directories, init and wait are the real programs
with the environment that the controller gave them, and main is a function of the test."""

import os
import pathlib
import signal

from api.controller.harness import BUILD, decode, ended, running
from bench import paths
from bench.process import Process, forget
from bench.waiting import wait_until

INIT = BUILD / "init" / "longshore-init"
WAIT = BUILD / "wait" / "longshore-wait"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TARGET_SOURCE = "/data/ls/targets/target.json"
STEP_SECONDS = 0.05
# The request timeout of wait. The default of half a minute would make tests with lost replies slow.
WAIT_REQUEST_SECONDS = 5
KILLED = 137


class Volumes:
    """The volumes of the pod, below one directory."""

    def __init__(self, pod, authority):
        self.pod, self.kube = pod, pod.kube
        self.root = paths.fresh_directory("pod")
        self._authority = authority
        for volume in pod.object["spec"]["volumes"]:
            directory = self.root / volume["name"]
            directory.mkdir()
            if "secret" in volume:
                self._secret(directory, volume["secret"]["secretName"], volume["secret"]["items"])
            for source in volume.get("projected", {}).get("sources") or []:
                self._source(directory, source)

    def _secret(self, directory, name, items, is_optional=False):
        secret = self.kube.find("secrets", name, self.pod.namespace)
        if secret is None and is_optional:
            return
        for item in items:
            self._write(directory / item["path"], decode(secret["data"][item["key"]]))

    def _source(self, directory, source):
        if "secret" in source:
            self._secret(directory, source["secret"]["name"], source["secret"]["items"], source["secret"].get("optional"))
        elif "serviceAccountToken" in source:
            token = self.kube.token(self.pod.object["spec"]["serviceAccountName"], self.pod.namespace)
            self._write(directory / source["serviceAccountToken"]["path"], token.encode())
        elif "configMap" in source:
            self._write(directory / "ca.crt", pathlib.Path(self._authority.certificate).read_bytes())

    @staticmethod
    def _write(path, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def path(self, container, inside):
        """The path on this machine of a path in the container."""
        mounts = sorted(self.pod.container(container)["volumeMounts"], key=lambda mount: -len(mount["mountPath"]))
        for mount in mounts:
            if inside == mount["mountPath"] or inside.startswith(mount["mountPath"] + "/"):
                return self.root / mount["name"] / inside[len(mount["mountPath"]):].lstrip("/")
        return None

    def environment(self, container):
        fields = {"metadata.name": self.pod.name, "metadata.namespace": self.pod.namespace, "metadata.uid": self.pod.uid}
        found = {}
        for variable in self.pod.container(container)["env"]:
            value = variable.get("value", "")
            if "valueFrom" in variable:
                value = fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]
            found[variable["name"]] = str(self.path(container, value) or value)
        return found


class Run:
    """execute() does what a kubelet does with the pod. main(run) returns an exit code and finds its files with run.file()."""

    def __init__(self, pod, authority, main, *, api, environment={}):
        """api is the proxy through which wait reaches the API server. environment is added to that of the pod for init and wait."""
        self.pod, self.main = pod, main
        self.volumes = Volumes(pod, authority)
        self.api, self.environment = api, environment
        self.init = self.wait = None
        self.processes = []

    def execute(self):
        pod = self.pod
        pod.bind()
        self.init = self._start("init", INIT, {"LONGSHORE_TARGET_SOURCE": str(self.volumes.path("init", TARGET_SOURCE))})
        code = self._exit_code(self.init)
        if code:
            pod.status("Failed", init=ended(code, message=self._message(self.init)))
            return
        pod.status("Running", init=ended(), main=running(), wait=running())
        self.wait = self._start("wait", WAIT, {"KUBERNETES_SERVICE_HOST": self.api.host,
                                               "KUBERNETES_SERVICE_PORT": str(self.api.port)},
                                f"--service-account={self.volumes.path('wait', SERVICE_ACCOUNT)}",
                                f"--request-timeout={WAIT_REQUEST_SECONDS}")
        main_code = self.main(self)
        pod.status("Running", init=ended(), main=ended(main_code), wait=running())
        wait_code = self._exit_code(self.wait)
        phase = "Failed" if main_code or wait_code else "Succeeded"
        pod.status(phase, init=ended(), main=ended(main_code), wait=ended(wait_code, message=self._message(self.wait)))

    def file(self, variable):
        """The path that an environment variable of main names."""
        return pathlib.Path(self.volumes.environment("main")[variable])

    def _start(self, container, program, more, *arguments):
        log = self.volumes.root / f"{container}-termination-log"
        environment = {"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0", "LONGSHORE_TERMINATION_LOG": str(log),
                       **self.volumes.environment(container), **self.environment, **more}
        process = Process(f"longshore-{container}", [program, *arguments], env=environment)
        process.termination_log = log
        self.processes.append(process)
        return process

    @staticmethod
    def _message(process):
        return process.termination_log.read_text() if process.termination_log.exists() else ""

    def _exit_code(self, process):
        """Waits for the process to end. Sends SIGTERM if the pod is deleted, as a kubelet does."""
        def check():
            if self.pod.killed.is_set():
                process.signal(signal.SIGTERM)
            return not process.running
        wait_until(check, f"{process.name} ended", 300, STEP_SECONDS)
        return process.exit_code if process.exit_code >= 0 else 128 - process.exit_code

    def forget(self):
        for process in self.processes:
            forget(process)
