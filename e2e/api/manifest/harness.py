# SPDX-License-Identifier: Apache-2.0
"""Runs the controller with manifest items against two real API servers. The test acts as Landscaper."""

import contextlib
import json
import pathlib

from bench.audit import resource_of
from bench.kube import DEPLOYITEMS, ApiError
from bench.waiting import wait_until
from controller_harness import World, encode
from faults.proxy import FaultProxy

GROUP = "manifest.deployer.landscaper.gardener.cloud"
TYPE = "landscaper.gardener.cloud/kubernetes-manifest"
LABEL = f"{GROUP}/deployitem"
V1, V2 = f"{GROUP}/v1alpha1", f"{GROUP}/v1alpha2"
EXPORTED = {"key": "answer", "jsonPath": ".data.answer"}


def config_map(name, namespace, data=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data or {"a": "1"},
            "metadata": {"name": name, "namespace": namespace, **metadata}}


def thing_definition(group):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"things.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def managed(manifest, **more):
    return {"manifest": manifest, **more}


class ManifestWorld(World):
    def __init__(self, apiserver, namespace, cluster):
        super().__init__(apiserver, namespace)
        self.cluster, self.remote = cluster, cluster.kube
        self.space = namespace          # the namespace of the same name in the other cluster
        self.user = f"manifest-{namespace}"
        self.proxies = []
        self.remote.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.space}})
        self.reach(cluster)

    def reach(self, server, name="cluster", **more):
        """A Target with a Secret that contains a kubeconfig of the server."""
        self.secret(name, {"kubeconfig": self.kubeconfig(server, **more)})
        self.target(name, secret=name, key="kubeconfig")

    def kubeconfig(self, server, url=None, user=None, groups=("system:masters",)):
        config = json.loads(pathlib.Path(server.user_kubeconfig(user or self.user, groups=groups)).read_text())
        if url:
            config["clusters"][0]["cluster"]["server"] = url
        return config

    def close(self):
        try:
            super().close()
        finally:
            for proxy in self.proxies:
                proxy.close()
            for thing in self.remote.items("configmaps", self.space):
                if thing["metadata"].get("finalizers"):
                    self.remote.patch("configmaps", thing["metadata"]["name"], {"metadata": {"finalizers": None}}, self.space)
            self.remote.delete("namespaces", self.space)

    @contextlib.contextmanager
    def behind_proxies(self, plan):
        """Both clusters behind proxies that ask the plan. The target's user has a token, which works through a proxy."""
        self.remote.allow(f"{self.space}:target", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
                          kind="ServiceAccount", name=f"target-{self.space}")
        token = self.cluster.service_account("target", self.space, seconds=7200)
        with self.behind_proxy(plan) as self.proxy, FaultProxy(self.cluster, plan) as second:
            config = json.loads(pathlib.Path(self.cluster.token_kubeconfig(token)).read_text())
            config["clusters"][0]["cluster"]["server"] = f"https://{second.host}:{second.port}"
            self.secret("cluster", {"kubeconfig": config})
            try:
                yield second
            finally:
                for controller in self.controllers:
                    controller.expected = False
                    controller.stop()

    def start(self, *, config=None, **more):
        document = {"apiVersion": V2, "kind": "Configuration", **(config or {})}
        for key in ("initContainer", "waitContainer"):
            document.setdefault(key, None)
        return super().start(config=document, **more)

    # --- items ---

    def provider(self, manifests=(), version=V2, **config):
        return {"apiVersion": version, "kind": "ProviderConfiguration", "manifests": list(manifests), **config}

    def deploy(self, name, manifests=(), *, job="job-1", target="cluster", namespace=None, spec=None, **config):
        """Creates an item and triggers it."""
        namespace = namespace or self.namespace
        self.kube.create({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "namespace": namespace, "finalizers": ["finalizer.landscaper.gardener.cloud"]},
            "spec": {"type": TYPE, **({"target": {"name": target, "namespace": namespace}} if target else {}),
                     "config": self.provider(manifests, **config), **(spec or {})}})
        if job:
            self.trigger(name, job, namespace)

    def update(self, name, manifests=(), *, job, spec=None, **config):
        """Replaces the provider configuration and triggers a new job."""
        item = self.kube.get(DEPLOYITEMS, name, self.namespace)
        item["spec"] = {**item["spec"], "config": self.provider(manifests, **config), **(spec or {})}
        self.kube.replace(item)
        self.trigger(name, job)

    def succeeded(self, name, job="job-1", **more):
        status = self.finished(name, job, **more)
        assert status["phase"] == "Succeeded", status
        return status

    def failed(self, name, job="job-1", **more):
        status = self.finished(name, job, **more)
        assert status["phase"] in ("Failed", "DeleteFailed"), status
        return status

    def removed(self, name, **more):
        self.delete(name, **more)
        self.wait_until_deleted(name)

    def recorded(self, name):
        """The names of the recorded objects."""
        return [r["resource"]["name"] for r in self.status(name).get("providerStatus", {}).get("managedResources", [])]

    # --- objects in the target cluster ---

    def config(self, name="cm", **more):
        return config_map(name, self.space, **more)

    def found(self, name="cm", resource="configmaps"):
        return self.remote.find(resource, name, self.space)

    def create(self, thing):
        return self.remote.create(thing)

    def names(self, resource="configmaps"):
        return sorted(t["metadata"]["name"] for t in self.remote.items(resource, self.space)
                      if t["metadata"]["name"] != "kube-root-ca.crt")

    def hold(self, name):
        """Adds a finalizer of somebody else, so that a deletion does not end."""
        self.remote.patch("configmaps", name, {"metadata": {"finalizers": ["example.com/hold"]}}, self.space)

    def release(self, name):
        self.remote.patch("configmaps", name, {"metadata": {"finalizers": None}}, self.space)

    def exported(self, name):
        return json.loads(__import__("base64").b64decode(self.kube.get("secrets", name, self.namespace)["data"]["config"]))

    # --- requests ---

    def requests(self, server, user, mark):
        """The requests of a user after a mark, without watches, lists for them and discovery."""
        return [f"{e['verb']} {resource_of(e)}" for e in server.audit.entries(mark, user=user)
                if e["verb"] not in ("watch", "list") and "objectRef" in e and "resource" in e["objectRef"] and
                "lease" not in e["objectRef"]["resource"]]

    def count(self, controller, run):
        """Calls run() and returns the requests it caused in both clusters."""
        marks = self.apiserver.audit.mark(), self.cluster.audit.mark()
        run()
        return self.requests(self.apiserver, controller.user, marks[0]), self.requests(self.cluster, self.user, marks[1])


__all__ = ["ApiError", "encode", "wait_until"]
