# SPDX-License-Identifier: Apache-2.0
"""Runs the controller with helm items against a real API server. The test acts as Landscaper and as the kubelet, which runs the real
init and the real helm as processes, and stores what helm rendered as wait does."""

import contextlib
import json
import os
import pathlib
import subprocess
import threading

from bench import paths
from bench.charts import MAJOR, chart_archive, helm_program, raw, template
from bench.kube import DEPLOYITEMS
from faults.proxy import PASS, FaultProxy
from api.controller.harness import BUILD, World, decode, encode, ended, state_archive

GROUP = "helm.deployer.landscaper.gardener.cloud"
VERSION = f"{GROUP}/v1alpha1"
TYPE = "landscaper.gardener.cloud/helm"
CHUNK = 1024 * 1024


class Sandbox:
    """The volumes of a pod, below a directory of the test."""

    def __init__(self, pod):
        self.pod, self.kube = pod, pod.kube
        self.root = paths.fresh_directory("helm-pod")
        for name in ("shared", "script", "state_source", "internal", "registry_secrets"):
            (self.root / name).mkdir(parents=True)
        self.secrets = {}
        for volume in pod.object["spec"]["volumes"]:
            if "secret" in volume:
                self.mount(volume)

    def mount(self, volume):
        name = volume["secret"]["secretName"]
        if name not in self.secrets:
            self.secrets[name] = self.kube.get("secrets", name, self.pod.namespace)["data"]
        folder = {"configuration": "internal", "script": "script", "registry-secrets": "registry_secrets",
                  "target": "targets", "ocm-configuration": "ocm"}[volume["name"]]
        for item in volume["secret"]["items"]:
            path = self.root / folder / item["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(decode(self.secrets[name][item["key"]]))

    def local(self, text):
        return text.replace("/data/ls/", f"{self.root}/")

    def env(self, container):
        given = {e["name"]: self.local(e.get("value") or "") for e in self.pod.container(container)["env"]}
        return {**given, "POD_NAMESPACE": self.pod.namespace, "POD_NAME": self.pod.name, "PATH": os.environ["PATH"],
                "LONGSHORE_TARGET_SOURCE": str(self.root / "targets" / "target.json"),
                "LONGSHORE_TERMINATION_LOG": str(self.root / "termination-log")}

    def init(self):
        (self.root / "termination-log").touch()
        done = subprocess.run([BUILD / "init" / "longshore-init"], env=self.env("init"), capture_output=True, text=True)
        return done.returncode, (self.root / "termination-log").read_text() or done.stderr

    def main(self):
        args = [self.local(a) for a in self.pod.container("main")["args"]]
        done = subprocess.run([helm_program(self.pod.kubelet.major), *args], env=self.env("main"), capture_output=True, text=True, cwd=self.root)
        return done.returncode, done.stdout + done.stderr

    def state(self):
        root = self.root / "shared" / "state"
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def run_helm(pod):
    """What kubelet, init, main and wait do for a helm item."""
    sandbox = Sandbox(pod)
    pod.bind()
    code, text = sandbox.init()
    if code:
        pod.status("Failed", init=ended(code, message=text), main=None, wait=None)
        return
    pod.run()
    hold = getattr(pod.kubelet, "hold", None)
    if hold:
        hold(pod)
    code, text = sandbox.main()
    pod.kubelet.outputs.append(text)
    state = sandbox.state()
    if state:
        packed = state_archive(state)
        pod.save_state(packed, chunks=-(-len(packed) // CHUNK))
    if code:
        pod.fail(code, message=text[-2000:])
    else:
        pod.succeed()


CLUSTER_SCOPED = ("ClusterRole", "CustomResourceDefinition")


def objects(things):
    """Objects and those of lists, by kind and name."""
    return {(t["kind"], t["metadata"]["name"]): t for thing in things for t in thing.get("items", [thing])}


def contains(found, wanted):
    """Whether an object is as it was rendered: the server adds members, but changes none."""
    if isinstance(wanted, dict):
        return isinstance(found or {}, dict) and all(contains((found or {}).get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return len(found or []) == len(wanted) and all(map(contains, found or [], wanted))
    return found == wanted


class HelmItems:
    """What the worlds of helm items share, with and without a real kubelet. space: the namespace of the releases; major: of helm."""

    def provider(self, chart, *, is_release=False, release="app", **config):
        return {"apiVersion": VERSION, "kind": "ProviderConfiguration", "name": release, "namespace": self.space, "chart": chart,
                **({} if is_release else {"helmDeployment": False}), **config}

    def recorded(self, name):
        entries = self.status(name)["providerStatus"].get("managedResources", [])
        return sorted(f"{e['resource']['kind']}/{e['resource']['name']}" for e in entries)

    def names(self, resource="configmaps"):
        return sorted(t["metadata"]["name"] for t in self.kube.items(resource, self.space) if t["metadata"]["name"] != "kube-root-ca.crt")

    def found(self, name, resource="configmaps"):
        return self.kube.find(resource, name, self.space)

    def on_the_command_line(self, archive, values, *more):
        """What `helm template` of the same version renders."""
        return template(archive, values, self.space, *more, major=self.major)

    def rendered(self, archive, values):
        """What `helm template` renders for this cluster, by kind and name."""
        version = self.kube.request("GET", "/version")["gitVersion"]
        return objects(self.on_the_command_line(archive, values, "--kube-version", version,
                                                "--api-versions", "apiextensions.k8s.io/v1/CustomResourceDefinition"))

    def check_objects(self, wanted, labels={}):
        """Everything that was rendered is in the cluster and equal to it, and has these labels."""
        for (kind, name), thing in wanted.items():
            found = self.kube.find(self.kube.resource_of(thing), name, None if kind in CLUSTER_SCOPED else self.space)
            assert contains(found, thing), (found, thing)
            assert kind != "ConfigMap" or found["data"] == thing["data"]
            assert labels.items() <= found["metadata"].get("labels", {}).items()


class HelmWorld(HelmItems, World):
    def __init__(self, apiserver, namespace, major=MAJOR):
        super().__init__(apiserver, namespace)
        self.major = self.kubelet.major = major
        self.space = f"{namespace}-target"      # the namespace of the releases
        self.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.space}})
        self.kubelet.behaviour = run_helm
        self.kubelet.outputs = []
        self.user = f"target-{namespace}"
        config = json.loads(pathlib.Path(apiserver.user_kubeconfig(self.user, groups=("system:masters",))).read_text())
        self.secret("cluster", {"kubeconfig": config})
        self.target("cluster", secret="cluster", key="kubeconfig")

    def close(self):
        try:
            super().close()
        finally:
            self.kube.delete("namespaces", self.space)

    def start(self, *, config=None, **more):
        return super().start(config={"apiVersion": VERSION, "helm": {"version": self.kubelet.major}, **(config or {})}, **more)

    @contextlib.contextmanager
    def behind_killer(self, killer):
        """The killer sees what the controller requests from both clusters, but not what helm requests."""
        def plan(request):
            return killer.plan(request) if request.headers["user-agent"].startswith("longshore") else PASS

        with FaultProxy(self.apiserver, plan) as target, self.behind_proxy(killer.plan) as self.proxy:
            config = json.loads(pathlib.Path(self.token_kubeconfig(f"https://{target.host}:{target.port}")).read_text())
            self.secret("cluster", {"kubeconfig": config})
            yield

    def deploy(self, name, chart, *, job="job-1", spec=None, **config):
        self.kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
                          "metadata": {"name": name, "namespace": self.namespace, "finalizers": ["finalizer.landscaper.gardener.cloud"]},
                          "spec": {"type": TYPE, "target": {"name": "cluster", "namespace": self.namespace},
                                   "config": self.provider(chart, **config), **(spec or {})}})
        if job:
            self.trigger(name, job)

    def update(self, name, chart, *, job, **config):
        item = self.kube.get(DEPLOYITEMS, name, self.namespace)
        item["spec"]["config"] = self.provider(chart, **config)
        self.kube.replace(item)
        self.trigger(name, job)

    def succeeded(self, name, job="job-1", **more):
        status = self.finished(name, job, **more)
        assert status["phase"] == "Succeeded", (status, self.kubelet.outputs)
        assert status["providerStatus"]["apiVersion"] == VERSION and status["deployer"]["name"] == GROUP
        return status

    def failed(self, name, job="job-1", **more):
        status = self.finished(name, job, **more)
        assert status["phase"] in ("Failed", "DeleteFailed"), status
        return status

    def exported(self, name):
        return json.loads(decode(self.kube.get("secrets", self.status(name)["exportRef"]["name"], self.namespace)["data"]["config"]))

    def helm(self, *arguments, check=True):
        return subprocess.run([helm_program(self.kubelet.major), *arguments, "-n", self.space, "--kubeconfig", self.apiserver.kubeconfig],
                              check=check, capture_output=True, text=True)

    @property
    def audit(self):
        return self.apiserver.audit

    @property
    def controller_user(self):
        return self.controllers[-1].user

    def log(self):
        """What operators can read."""
        return "".join(c.output() for c in self.controllers)

    def releases(self, name="app"):
        """Revision and status of the release, as helm sees it."""
        done = self.helm("history", name, "-o", "json", check=False)
        return {h["revision"]: h["status"] for h in json.loads(done.stdout)} if done.returncode == 0 else {}


__all__ = ["chart_archive", "decode", "encode", "raw", "threading"]
