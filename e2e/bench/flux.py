# SPDX-License-Identifier: Apache-2.0
"""Flux: the real kustomize-controller, and source-controller where a test needs it, for an API server of the bench.

kustomize-controller reads nothing of a source but status.artifact. Most tests therefore play source-controller: Artifacts
serves archives on loopback and writes that status, so a new revision appears exactly when the test wants it.
"""

import functools
import hashlib
import http.server
import io
import os
import pathlib
import tarfile
import threading
import urllib.error
import urllib.request

import yaml

from bench import crds, paths
from bench.ports import free_port
from bench.process import Process

KUSTOMIZATIONS = "kustomize.toolkit.fluxcd.io/v1/kustomizations"
GIT_REPOSITORIES = "source.toolkit.fluxcd.io/v1/gitrepositories"
OCI_REPOSITORIES = "source.toolkit.fluxcd.io/v1/ocirepositories"
NAMESPACE = "flux-system"
FINALIZER = "finalizers.fluxcd.io"
KUSTOMIZE, SOURCE = "kustomize-controller", "source-controller"


def _definitions():
    directory = paths.tool_directory(KUSTOMIZE).parent / "crds"
    return [yaml.safe_load(path.read_text()) for path in sorted(directory.glob("*.yaml"))]


def install_manifest():
    """The objects that install both controllers, with images of registry.example.com, as `flux install --export` prints them."""
    return yaml.safe_load_all((paths.tool_directory("flux-manifests").parent / "install.yaml").read_text())


class Flux:
    """Controllers of Flux for one API server. By default kustomize-controller alone, with all permissions. Starts when constructed."""

    def __init__(self, apiserver, *, controllers=(KUSTOMIZE,), flags=None, kubeconfig=None, namespace=NAMESPACE, with_crds=True):
        """flags: {controller: [flag]}. kubeconfig and namespace are those of the controllers' own pods."""
        self.apiserver = apiserver
        self.directory = paths.fresh_directory("flux")
        self._controllers = controllers
        # Leader election needs a pod: the namespace of the lease is in one of its files.
        self._flags = {name: [flag for flag in given if flag != "--enable-leader-election"] for name, given in (flags or {}).items()}
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig or apiserver.kubeconfig), "RUNTIME_NAMESPACE": namespace,
                             "TMPDIR": str(self.directory)}
        if with_crds:
            crds.install(apiserver.kube, _definitions())
            apiserver.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.processes = []
        self.start()

    def start(self):
        self.processes = [self._start(name, [*self._flags.get(name, ()), *self._own_flags(name)]) for name in self._controllers]

    def _own_flags(self, name):
        if name == KUSTOMIZE:
            # It only matters for a source that has no artifact yet.
            return ["--requeue-dependency=1s"]
        storage = f"127.0.0.1:{free_port()}"
        return [f"--storage-path={self.directory}", f"--storage-addr={storage}", f"--storage-adv-addr={storage}"]

    def _start(self, name, flags):
        health = free_port()
        process = Process(name, [
            paths.tool_directory(name) / name, f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-addr=127.0.0.1:{health}",
            "--events-addr=", *flags], env=self._environment)
        process.wait_until(lambda: _is_ready(health), "ready")
        return process

    def stop(self):
        for process in self.processes:
            process.kill()


def _is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def archive(files):
    """A tar.gz with these files, {"app/configmap.yaml": text or object}. The same files give the same bytes."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w:gz") as tar:
        for name, content in sorted(files.items()):
            data = (content if isinstance(content, str) else yaml.safe_dump(content)).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return output.getvalue()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Artifacts:
    """Serves archives on loopback and publishes them as artifacts of GitRepositories, in place of source-controller."""

    def __init__(self, kube):
        self.kube = kube
        self.directory = pathlib.Path(paths.fresh_directory("artifacts"))
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(_Silent, directory=str(self.directory)))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def publish(self, name, files, revision, namespace=NAMESPACE):
        """Writes the archive into the status of an existing GitRepository; every Kustomization of it is triggered."""
        data = archive(files)
        digest = hashlib.sha256(data).hexdigest()
        (self.directory / f"{digest}.tar.gz").write_bytes(data)
        source = self.kube.get(GIT_REPOSITORIES, name, namespace)
        now = "2026-01-01T00:00:00Z"
        status = {
            "observedGeneration": source["metadata"]["generation"],
            "artifact": {"url": f"{self.url}/{digest}.tar.gz", "path": f"{digest}.tar.gz",
                         "digest": f"sha256:{digest}", "revision": revision, "lastUpdateTime": now, "size": len(data)},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "published by the test",
                            "lastTransitionTime": now, "observedGeneration": source["metadata"]["generation"]}]}
        requested = source["metadata"].get("annotations", {}).get("reconcile.fluxcd.io/requestedAt")
        if requested:
            status["lastHandledReconcileAt"] = requested
        self.kube.patch(GIT_REPOSITORIES, name, {"status": status}, namespace, "status")


def condition(thing, kind):
    """The status of a condition of an object; None if the object or the condition does not exist."""
    for entry in ((thing or {}).get("status") or {}).get("conditions", ()):
        if entry["type"] == kind:
            return entry["status"]
    return None
