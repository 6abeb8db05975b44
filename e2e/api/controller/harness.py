# SPDX-License-Identifier: Apache-2.0
"""Runs a controller process against a real API server. The test acts as Landscaper, as the kubelet and as the wait container."""

import base64
import contextlib
import hashlib
import http.client
import io
import json
import os
import pathlib
import signal
import tarfile
import threading
import time
import uuid

from bench import paths
from bench.audit import is_permission_check
from bench.kube import DEPLOYITEMS, SYNCOBJECTS, ApiError
from bench.process import Process
from bench.waiting import wait_until
from faults.proxy import FaultProxy

GROUP = "container.deployer.landscaper.gardener.cloud"
OURS = f"longshore.{GROUP}"
TYPE = "landscaper.gardener.cloud/container"
ITEM_FINALIZER = "finalizer.landscaper.gardener.cloud"
POD_FINALIZER = f"{GROUP}/finalizer"
LABEL_ITEM_NAME = f"deployitem.{GROUP}/name"
LABEL_ITEM_NAMESPACE = f"deployitem.{GROUP}/namespace"
OPERATION = "landscaper.gardener.cloud/operation"
FORCE_CLEANUP = f"{GROUP}/force-cleanup"
WITHOUT_UNINSTALL = "landscaper.gardener.cloud/delete-without-uninstall"

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
PROGRAM = BUILD / "deployer" / "longshore"
FAKE = BUILD / "deployer" / "protocol" / "tests" / "fake_controller"

# Long enough to be renewed on a busy machine, and a fifth of the default.
LEASE_SECONDS = 3
LEASE = {"leaderElection": {"enabled": True, "leaseDuration": f"{LEASE_SECONDS}s"}}

HOST_KINDS = ("secrets", "configmaps", "serviceaccounts", "rbac.authorization.k8s.io/v1/roles",
              "rbac.authorization.k8s.io/v1/rolebindings", "pods")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def encode(value):
    data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode()
    return base64.b64encode(data).decode()


def decode(text):
    return base64.b64decode(text)


def state_archive(files):
    """The stored form of a state: a gzipped tar with time stamps in nanoseconds in pax headers."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), 1700000000.5
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


# --- kubelet -----------------------------------------------------------------------------------------------------------

def running():
    return {"running": {"startedAt": now()}}


def ended(code=0, reason=None, message="", signal=0):
    reason = reason or ("Completed" if code == 0 else "Error")
    state = {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}
    if message:
        state["message"] = message
    if signal:
        state["signal"] = signal
    return {"terminated": state}


def waiting(reason="ContainerCreating", message=""):
    return {"waiting": {"reason": reason, "message": message}}


class Pod:
    """One pod, from the point of view of its kubelet."""

    def __init__(self, kubelet, pod):
        self.kubelet, self.kube, self.object = kubelet, kubelet.kube, pod
        self.name, self.namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        self.uid = pod["metadata"]["uid"]
        self.annotations = pod["metadata"].get("annotations", {})
        self.labels = pod["metadata"].get("labels", {})
        self.job = self.annotations.get(f"{OURS}/job")
        self.env = {e["name"]: e.get("value") for e in self.container("wait").get("env", [])}
        self.operation = {e["name"]: e.get("value") for e in self.container("main").get("env", [])}.get("OPERATION")
        self.requested = threading.Event()  # the end of the pod
        self.killed = threading.Event()
        self.finished = threading.Event()

    def container(self, name):
        for container in self.object["spec"]["containers"] + self.object["spec"].get("initContainers", []):
            if container["name"] == name:
                return container
        return {}

    def bind(self):
        if self.object["spec"].get("nodeName"):
            return
        self.object["spec"]["nodeName"] = "testnode"
        self.kube.request("POST", self.kube.path("pods", self.name, self.namespace, "binding"),
                          body={"apiVersion": "v1", "kind": "Binding", "metadata": {"name": self.name},
                                "target": {"apiVersion": "v1", "kind": "Node", "name": "testnode"}})

    def status(self, phase, *, init=None, main=None, wait=None, before=None, beside=None, **extra):
        """before and beside: states by name of injected containers, before init and next to main."""
        def entry(name, state):
            return {"name": name, "image": "img", "imageID": "img@sha256:0", "ready": False, "restartCount": 0,
                    "state": state}
        body = {"phase": phase, "startTime": self.object["metadata"]["creationTimestamp"], **extra}
        inits = [entry(n, s) for n, s in (*(before or {}).items(), ("init", init)) if s]
        if inits:
            body["initContainerStatuses"] = inits
        statuses = [entry(n, s) for n, s in (("main", main), ("wait", wait), *(beside or {}).items()) if s]
        if statuses:
            body["containerStatuses"] = statuses
        return self.kube.patch("pods", self.name, {"metadata": {"uid": self.uid}, "status": body}, self.namespace, "status")

    def run(self):
        self.bind()
        self.status("Running", init=ended(), main=running(), wait=running())

    def succeed(self):
        self.status("Succeeded", init=ended(), main=ended(), wait=ended())

    def fail(self, code=1, **more):
        self.status("Failed", init=ended(), main=ended(code, **more), wait=ended(1, message=f"main ended with {code}"))

    # --- actions of the wait container ---

    def item(self):
        return self.annotations[f"{OURS}/item-namespace"], self.annotations[f"{OURS}/item-name"]

    def export_name(self):
        return self.annotations.get(f"{OURS}/export") or "-".join(self.item()) + "-export"

    def export(self, value, job=None, uid=None):
        namespace, name = self.item()
        labels = {k: v for k, v in self.labels.items() if k.startswith("deployitem.") or k in (f"{GROUP}/name", f"{OURS}/item")}
        labels.pop(f"deployitem.{GROUP}/generation", None)
        labels[f"{OURS}/role"] = "run"
        secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"config": encode(value)}, "metadata": {
            "name": self.export_name(), "namespace": self.namespace, "labels": labels,
            "annotations": {f"{OURS}/job": job or self.job, f"{OURS}/pod-uid": uid or self.uid,
                            f"{OURS}/item-name": name, f"{OURS}/item-namespace": namespace}}}
        self.kube.apply(secret)

    def save_state(self, state={"state": b"one"}, chunks=1, is_go=False):
        """Stores files as an archive, or bytes unchanged. is_go: stores them in the way of the Go deployer's wait."""
        data = state if isinstance(state, bytes) else state_archive(state)
        if is_go:
            data = data.rstrip(b"\0")
        size = -(-len(data) // chunks)
        group = str(uuid.uuid4())
        labels = {k: v for k, v in self.labels.items() if k in (LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE) or k == f"{OURS}/item" and not is_go}
        labels[f"{GROUP}/type"] = "state"
        namespace, name = self.item()
        ours = {f"{OURS}/chunks": str(chunks), f"{OURS}/sha256": hashlib.sha256(data).hexdigest(),
                f"{OURS}/sequence": self.env["LONGSHORE_STATE_NEXT_SEQUENCE"], f"{OURS}/job": self.job, f"{OURS}/pod-uid": self.uid,
                f"{OURS}/item-name": name, f"{OURS}/item-namespace": namespace}
        for number in [*range(1, chunks), 0]:
            self.kube.create({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                              "data": {"config": encode(data[number * size:][:size])}, "metadata": {
                "name": f"{self.env['LONGSHORE_STATE_NAME_PREFIX'].rstrip('-')}-{group}-{number}"[-253:], "namespace": self.namespace,
                "labels": labels, "annotations": {f"{GROUP}/uuid": group, f"{GROUP}/num": str(number), **({} if is_go else ours)}}})

    def report_snapshot(self, chunks=0, stored=0, milliseconds=10):
        """Reports that the state is saved, as wait does when the controller requests the end of the pod."""
        namespace, name = self.item()
        labels = {k: v for k, v in self.labels.items() if k in (LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, f"{OURS}/item")}
        self.kube.apply({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {
            "name": self.env["LONGSHORE_REPORT_NAME"], "namespace": self.namespace, "labels": {**labels, f"{OURS}/role": "run"},
            "annotations": {f"{OURS}/item-name": name, f"{OURS}/item-namespace": namespace, f"{OURS}/pod-uid": self.uid,
                            f"{OURS}/snapshot": "saved", f"{OURS}/chunks": str(chunks), f"{OURS}/chunks-stored": str(stored),
                            f"{OURS}/milliseconds": str(milliseconds)}}})

    def remove(self):
        """Removes the API object of a deleted pod, as the kubelet does. It stays if it has a finalizer."""
        try:
            self.kube.delete("pods", self.name, self.namespace, gracePeriodSeconds=0, preconditions={"uid": self.uid})
        except ApiError as error:
            if error.status not in (404, 409):
                raise


def succeed(pod):
    pod.run()
    pod.succeed()


def with_export_and_state(pod):
    pod.run()
    pod.save_state()
    pod.export({"answer": 42})
    pod.succeed()


def hang(pod):
    """Runs until the pod is deleted, then ends as after SIGTERM."""
    pod.run()
    pod.killed.wait(120)
    pod.status("Failed", init=ended(), main=ended(143, signal=15), wait=ended(1, message="killed"))


def ignore(pod):
    """No kubelet processes the pod."""


class Kubelet:
    """Acts as kubelet for every pod of one namespace: behaviour(pod) runs in a separate thread."""

    def __init__(self, kube, namespace, behaviour=succeed):
        self.kube, self.namespace, self.behaviour = kube, namespace, behaviour
        self.pods = {}      # all pods so far, by uid
        self.respond = Pod.report_snapshot  # what wait does when the end of the pod is requested; None: it does not respond
        self.confirms = True  # the end of a pod that is being deleted
        self.starts = []    # (item name, job, operation) of every pod whose main ran
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self):
        self._closing.set()
        for pod in list(self.pods.values()):
            pod.killed.set()
        self._thread.join(10)

    def ran(self, name=None):
        with self._lock:
            return [start for start in self.starts if name is None or start[0] == name]

    def _watch(self):
        while not self._closing.is_set():
            try:
                listed = self.kube.list("pods", self.namespace)
                for pod in listed["items"]:
                    self._see(pod)
                for _, pod in self.kube.watch("pods", self.namespace, timeout=2,
                                              resourceVersion=listed["metadata"]["resourceVersion"], timeoutSeconds=2):
                    self._see(pod)
                    if self._closing.is_set():
                        return
            except (ApiError, OSError, KeyError, ValueError, http.client.HTTPException):
                time.sleep(0.1)

    def _see(self, pod):
        uid = pod["metadata"]["uid"]
        with self._lock:
            known = self.pods.get(uid)
            if known is None and "deletionTimestamp" not in pod["metadata"]:
                known = self.pods[uid] = Pod(self, pod)
                threading.Thread(target=self._run_pod, args=(known,), daemon=True).start()
        if known and pod["metadata"].get("annotations", {}).get(f"{OURS}/end") == "requested" and not known.requested.is_set():
            known.requested.set()
            if self.respond:
                threading.Thread(target=self._respond, args=(known,), daemon=True).start()
        if known and "deletionTimestamp" in pod["metadata"] and not known.killed.is_set():
            known.killed.set()
            threading.Thread(target=self._remove_when_finished, args=(known,), daemon=True).start()

    def _respond(self, pod):
        try:
            self.respond(pod)
        except (ApiError, OSError, http.client.HTTPException):
            pass  # as if wait did not respond

    def _run_pod(self, pod):
        try:
            if pod.object.get("status", {}).get("phase") not in ("Pending", None):
                return
            if not self._wait_for_inputs(pod):
                return
            behaviour = self.behaviour
            if behaviour is not ignore:
                with self._lock:
                    self.starts.append((pod.annotations.get(f"{OURS}/item-name"), pod.job, pod.operation))
            behaviour(pod)
        except ApiError as error:
            # The pod was deleted, or its status was written by someone else.
            if error.status not in (404, 409, 422):
                raise
        finally:
            pod.finished.set()

    def _wait_for_inputs(self, pod):
        """Waits for the Secrets of a pod, like a kubelet: a pod does not start before they exist."""
        names = set()
        for volume in pod.object["spec"].get("volumes", []):
            if "secret" in volume and not volume["secret"].get("optional"):
                names.add(volume["secret"]["secretName"])
            for source in volume.get("projected", {}).get("sources") or []:
                if "secret" in source and not source["secret"].get("optional"):
                    names.add(source["secret"]["name"])
        while not pod.killed.is_set() and not self._closing.is_set():
            try:
                if all(self.kube.find("secrets", name, self.namespace) for name in names):
                    return True
            except (ApiError, OSError, http.client.HTTPException):
                pass  # the server is busy; retry like a kubelet
            time.sleep(0.2)
        return False

    def _remove_when_finished(self, pod):
        pod.finished.wait(60)
        if self.confirms:
            pod.remove()


# --- Landscaper --------------------------------------------------------------------------------------------------------

def leads(controller):
    lines = [line for line in controller.output().splitlines() if '"msg":"leading"' in line or '"msg":"not leading"' in line]
    return bool(lines) and '"msg":"leading"' in lines[-1]


def resume_without_lease(controller):
    """Continues a suspended controller after the time within which it has to renew its lease: two thirds of the duration."""
    time.sleep(LEASE_SECONDS * 0.8)
    controller.signal(signal.SIGCONT)


def writes(proxy, mark):
    """The writes after a mark, except those of the lease and permission checks, which change nothing."""
    return [(r.method, r.path) for r in proxy.requests[mark:] if r.method != "GET" and "/leases" not in r.path
            and not is_permission_check(r.path)]


class Controller(Process):
    def stop(self, grace=10):
        """Sends SIGTERM after the program has blocked the signal: before that it would kill the program at once."""
        wait_until(lambda: not self.running or self._blocks_sigterm(), "SIGTERM to be blocked", interval=0.002)
        return super().stop(grace)

    def _blocks_sigterm(self):
        try:
            [mask] = [line for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines() if line.startswith("SigBlk:")]
        except (FileNotFoundError, ProcessLookupError):
            return True
        return int(mask.split()[1], 16) & 1 << signal.SIGTERM - 1


class World:
    """Items in one namespace, pods in another, a kubelet, and the controllers that the test starts."""

    lock_prefix = "container"       # of the names of SyncObjects

    def __init__(self, apiserver, namespace, host=None):
        self.apiserver, self.kube, self.namespace = apiserver, apiserver.kube, namespace
        self.host = host or f"{namespace}-host"
        if self.kube.find("namespaces", self.host) is None:
            self.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.host}})
        self.kubelet = Kubelet(self.kube, self.host)
        self.controllers = []
        self.users = 0
        self.token = None
        self.context()

    def close(self):
        def is_broken(controller):
            code, output = controller.stop(), controller.output()
            return code not in (0, -9) or "Sanitizer" in output or "runtime error" in output

        broken = [c for c in self.controllers if is_broken(c)]
        self.kubelet.close()
        for kind in HOST_KINDS:
            for thing in self.kube.items(kind, self.host):
                try:
                    if thing["metadata"].get("finalizers"):
                        self.kube.patch(kind, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, self.host)
                    self.kube.delete(kind, thing["metadata"]["name"], self.host, gracePeriodSeconds=0)
                except ApiError as error:
                    if error.status != 404:
                        raise
        self.kube.delete("namespaces", self.host)
        assert not broken, [(c.exit_code, c.output()[-4000:]) for c in broken]

    # --- the controller ---

    def token_kubeconfig(self, server=None):
        """A kubeconfig with a token, which also works through a proxy that terminates TLS."""
        if self.token is None:
            self.token = self.apiserver.service_account("controller", self.namespace, seconds=7200)
            everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
            self.kube.allow(f"{self.namespace}:controller", everything, kind="ServiceAccount",
                            name=f"controller-{self.namespace}")
        path = self.apiserver.token_kubeconfig(self.token)
        if server:
            text = json.loads(pathlib.Path(path).read_text())
            text["clusters"][0]["cluster"]["server"] = server
            pathlib.Path(path).write_text(json.dumps(text))
        return path

    def start(self, *, config=None, proxy=None, env=None, verbosity="debug", arguments=(), user=None, election=False, rules=None,
              program=None):
        """rules: the RBAC rules of the controller. Without them it has all permissions."""
        program = program or (PROGRAM, "controller")  # not a default value: e2e/perf replaces PROGRAM
        self.users += 1
        user = user or f"longshore-{self.host}-{self.users}"
        directory = paths.fresh_directory("controller")
        document = {
            "apiVersion": f"{GROUP}/v1alpha1", "kind": "Configuration", "namespace": self.host, "identity": "test",
            "initContainer": {"image": "example.com/init:1"}, "waitContainer": {"image": "example.com/wait:1"},
            "leaderElection": {"enabled": election}, **(config or {})}
        (directory / "config.yaml").write_text(json.dumps(document))
        if proxy:
            kubeconfig = self.token_kubeconfig(f"https://{proxy.host}:{proxy.port}")
        else:
            if rules:
                self.kube.allow(user, rules)
            kubeconfig = self.apiserver.user_kubeconfig(user, groups=[] if rules else ["system:masters"])
        process = Controller("longshore-controller", [
            *program, f"--config={directory / 'config.yaml'}", f"--kubeconfig={kubeconfig}", "-v", verbosity,
            "--metrics-address=off", "--health-address=off", *arguments],
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1", **(env or {})})
        process.user = user
        self.controllers.append(process)
        return process

    def start_replica(self):
        """One of several replicas that lock items with SyncObjects; its pod is called "me"."""
        return self.start(config={"hpa": {"maxReplicas": 2, "averageCpuUtilization": 80}},
                          env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": self.host})

    @contextlib.contextmanager
    def behind_proxy(self, plan, **options):
        """A FaultProxy for world.start(proxy=...). Stops the controllers first, because they would wait for its responses."""
        with FaultProxy(self.apiserver, plan, **options) as proxy:
            try:
                yield proxy
            finally:
                for controller in self.controllers:
                    controller.expected = False
                    controller.stop()

    # --- objects ---

    def context(self, name="default", namespace=None, **fields):
        self.kube.apply({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Context",
                         "metadata": {"name": name, "namespace": namespace or self.namespace}, **fields})

    def secret(self, name, data, namespace=None, type="Opaque"):
        self.kube.apply({"apiVersion": "v1", "kind": "Secret", "type": type,
                         "metadata": {"name": name, "namespace": namespace or self.namespace},
                         "data": {k: encode(v) for k, v in data.items()}})

    def target(self, name, config=None, secret=None, key=None, labels=None, annotations=None, namespace=None):
        spec = {"type": "landscaper.gardener.cloud/kubernetes-cluster"}
        if config is not None:
            spec["config"] = config
        if secret:
            spec["secretRef"] = {"name": secret, **({"key": key} if key else {})}
        self.kube.apply({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target", "spec": spec, "metadata": {
            "name": name, "namespace": namespace or self.namespace, "labels": labels or {}, "annotations": annotations or {}}})

    def item(self, name, *, job="job-1", target=None, namespace=None, annotations=None, config={}, finalizer=True,
             item_type=TYPE, **spec):
        """Creates an item and triggers it like Landscaper. With job=None it is not triggered."""
        namespace = namespace or self.namespace
        if config is not None:
            spec["config"] = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderConfiguration", "image": "example.com/main:1",
                              **config}
        if target:
            spec["target"] = {"name": target, "namespace": namespace}
        created = self.kube.create({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {},
                         "finalizers": [ITEM_FINALIZER] if finalizer else []},
            "spec": {"type": item_type, **spec}})
        if job:
            self.trigger(name, job, namespace)
        return created

    def lock(self, name, holder):
        """Locks an item for the pod of another replica."""
        self.kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "SyncObject",
                          "metadata": {"name": self.lock_name(name), "namespace": self.namespace},
                          "spec": {"podName": holder, "kind": "DeployItem", "name": name, "prefix": self.lock_prefix,
                                   "lastUpdateTime": now()}})

    def lock_name(self, name):
        return f"{self.lock_prefix}-{self.kube.get(DEPLOYITEMS, name, self.namespace)['metadata']['uid']}"

    def lock_holder(self, name):
        """The pod that has locked an item; "": none any more; None: none so far."""
        found = self.kube.find(SYNCOBJECTS, self.lock_name(name), self.namespace)
        return found and found["spec"]["podName"]

    def living_pod(self, name):
        """A pod in the host namespace, which may hold locks."""
        self.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": self.host}})
        self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": self.host},
                          "spec": {"containers": [{"name": "c", "image": "i"}]}})

    def trigger(self, name, job, namespace=None):
        """Sets a new job and resets the times of the previous one, like the execution controller of Landscaper."""
        namespace = namespace or self.namespace
        item = self.kube.get(DEPLOYITEMS, name, namespace)
        change = {"status": {"jobID": job, "jobIDGenerationTime": now(),
                             "transitionTimes": {"triggerTime": now(), "initTime": None, "waitTime": None, "finishedTime": None}}}
        if "observedGeneration" not in item.get("status", {}):
            change["status"]["observedGeneration"] = 0
        self.kube.patch(DEPLOYITEMS, name, change, namespace, "status")

    def interrupt(self, name, job):
        error = {"operation": "InterruptOperation", "reason": "InterruptOperation", "message": "operation was interrupted",
                 "lastTransitionTime": now(), "lastUpdateTime": now()}
        self.kube.patch(DEPLOYITEMS, name, {"status": {"jobID": job, "jobIDFinished": job, "phase": "Failed", "lastError": error,
                                                       "transitionTimes": {"finishedTime": now()}}}, self.namespace, "status")

    def delete(self, name, job="job-delete", namespace=None):
        namespace = namespace or self.namespace
        self.kube.delete(DEPLOYITEMS, name, namespace)
        if job:
            self.trigger(name, job, namespace)

    def status(self, name, namespace=None):
        return self.kube.get(DEPLOYITEMS, name, namespace or self.namespace).get("status", {})

    def finished(self, name, job="job-1", namespace=None, timeout=60):
        """Waits until a job has finished and returns the status."""
        def check():
            if self.controllers and getattr(self.controllers[-1], "expected", True):
                self.controllers[-1].must_run()
            status = self.status(name, namespace)
            return status if status.get("jobIDFinished") == job else None
        return wait_until(check, f"job {job} of {name} finished", timeout)

    def wait_until_deleted(self, name, namespace=None, timeout=60):
        wait_until(lambda: self.kube.find(DEPLOYITEMS, name, namespace or self.namespace) is None, f"deletion of {name}", timeout)

    def host_objects(self, kinds=HOST_KINDS):
        """All objects on the host, as "kind/name", except those that every namespace has."""
        found = []
        for kind in kinds:
            for thing in self.kube.items(kind, self.host):
                if thing["metadata"]["name"] not in ("default", "kube-root-ca.crt"):
                    found.append(f"{kind.rpartition('/')[2]}/{thing['metadata']['name']}")
        return found

    def pods(self):
        return self.kube.items("pods", self.host)

    def wait_for_cleanup(self, wanted=(), timeout=30):
        """Waits until the objects of finished runs are deleted from the host, except state and accounts."""
        def check():
            left = [o for o in self.host_objects(("pods", "secrets")) if "/state-" not in o and o not in wanted]
            return not left
        try:
            wait_until(check, "deletion of the objects of the run", timeout)
        except TimeoutError:
            raise AssertionError(f"objects left on the host: {self.host_objects()}")

    def events(self, name):
        return [e for e in self.kube.items("events", self.namespace) if e["involvedObject"]["name"] == name]
