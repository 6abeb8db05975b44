# SPDX-License-Identifier: Apache-2.0
"""Runs the controller with manifest items against two real API servers. The test acts as Landscaper."""

import contextlib
import json
import pathlib
import time

from bench import load
from bench.audit import resource_of
from bench.kube import DEPLOYITEMS, ApiError
from bench.waiting import wait_until
from api.controller.harness import World, encode, now
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


REFERENCE = {"apiVersion", "kind", "name", "namespace", "uid"}
POLICIES = {"manage", "fallback", "keep", "immutable", "ignore"}


def check_readable_by_go(document):
    """The Go deployer decodes the provider status into types: a member of another type makes the item unusable. It ignores members
    that it does not know; ours are all named "longshore"."""
    assert document["apiVersion"] == V2 and document["kind"] == "ProviderStatus", document
    assert set(document) <= {"apiVersion", "kind", "managedResources", "longshore"}, document
    assert document.get("managedResources", "absent if empty") not in ([], None), document
    for entry in document.get("managedResources", []):
        assert set(entry) <= {"policy", "resource", "annotateBeforeDelete", "patchBeforeDelete", "longshore"}, entry
        reference = entry["resource"]
        assert entry["policy"] in POLICIES and {"apiVersion", "kind", "name"} <= set(reference) <= REFERENCE, entry
        assert all(isinstance(text, str) and text for text in reference.values()), entry
        assert all(isinstance(text, str) for text in entry.get("annotateBeforeDelete", {}).values()), entry
        assert isinstance(entry.get("patchBeforeDelete", {}), dict), entry


def as_go_writes(document):
    """What is left of a provider status when the Go deployer has read and written it."""
    entries = [{key: value for key, value in entry.items() if key != "longshore"} for entry in document.get("managedResources", [])]
    return {"apiVersion": V2, "kind": "ProviderStatus", **({"managedResources": entries} if entries else {})}


class ManifestWorld(World):
    lock_prefix = "manifest"

    def __init__(self, apiserver, namespace, cluster):
        super().__init__(apiserver, namespace)
        self.cluster, self.remote = cluster, cluster.kube
        self.space = namespace          # the namespace of the same name in the other cluster
        self.user = f"manifest-{namespace}"
        self.proxies = []
        # Both may be the same cluster.
        if self.remote.find("namespaces", self.space) is None:
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
    def behind_proxies(self, plan, target_plan=None, *, http2=False, **host):
        """Both clusters behind proxies that ask the plan, or one plan each. The target's user has a token, which works through a
        proxy. host: more arguments for the FaultProxy of the host cluster."""
        self.remote.allow(f"{self.space}:target", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
                          kind="ServiceAccount", name=f"target-{self.space}")
        token = self.cluster.service_account("target", self.space, seconds=7200)
        with self.behind_proxy(plan, http2=http2, **host) as self.proxy, \
                FaultProxy(self.cluster, target_plan or plan, http2=http2) as second:
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

    def document(self, name, manifests=(), *, target="cluster", namespace=None, spec=None, **config):
        namespace = namespace or self.namespace
        return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
                "metadata": {"name": name, "namespace": namespace, "finalizers": ["finalizer.landscaper.gardener.cloud"]},
                "spec": {"type": TYPE, **({"target": {"name": target, "namespace": namespace}} if target else {}),
                         "config": self.provider(manifests, **config), **(spec or {})}}

    def deploy(self, name, manifests=(), *, job="job-1", namespace=None, **more):
        """Creates an item and triggers it."""
        self.kube.create(self.document(name, manifests, namespace=namespace, **more))
        if job:
            self.trigger(name, job, namespace)

    def update(self, name, manifests=(), *, job, spec=None, **config):
        """Replaces the provider configuration and triggers a new job."""
        item = self.kube.get(DEPLOYITEMS, name, self.namespace)
        item["spec"] = {**item["spec"], "config": self.provider(manifests, **config), **(spec or {})}
        self.kube.replace(item)
        self.trigger(name, job)

    def finished(self, name, job="job-1", namespace=None, timeout=60):
        status = super().finished(name, job, namespace, timeout)
        # One process may serve container items as well.
        if "providerStatus" in status and not status["providerStatus"]["apiVersion"].startswith("container."):
            check_readable_by_go(status["providerStatus"])
        return status

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
        document = self.status(name).get("providerStatus")
        if document:
            check_readable_by_go(document)
        return [r["resource"]["name"] for r in (document or {}).get("managedResources", [])]

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

    # --- many items, with bench.load ---

    def create_request(self, name, manifests=(), **config):
        return load.request("create", DEPLOYITEMS, self.namespace, body=self.document(name, manifests, **config))

    def status_request(self, name, **status):
        return load.request("patch", DEPLOYITEMS, self.namespace, name, "status", {"status": status})

    def trigger_request(self, name, job="job-1"):
        return self.status_request(name, jobID=job, jobIDGenerationTime=now(), observedGeneration=0,
                                   transitionTimes={"triggerTime": now()})

    def recorded_status(self, *names):
        """The providerStatus after a job with these ConfigMaps."""
        return {"apiVersion": V2, "kind": "ProviderStatus", "managedResources": [
            {"policy": "manage", "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": self.space, "name": name,
                                              "uid": "7d9e6f40-0000-4000-8000-000000000000"}} for name in names]}

    def finished_requests(self, name):
        """The requests that make an item that has finished."""
        return [self.create_request(name, [managed(self.config(name))]), self.status_request(
            name, phase="Succeeded", observedGeneration=1, jobID="old", jobIDFinished="old", lastReconcileTime=now(),
            deployer={"identity": "test", "name": GROUP, "version": "v1"}, providerStatus=self.recorded_status(name))]

    def bare_job(self, item, name):
        """The requests of the first job of an item with one ConfigMap, to be sent by a client that does nothing else."""
        targets = DEPLOYITEMS.replace("deployitems", "targets")
        return [load.request("get", targets, self.namespace, "cluster"), load.request("get", "secrets", self.namespace, "cluster"),
                self.status_request(item, phase="Progressing", jobID="job-1", observedGeneration=1,
                                    providerStatus=self.recorded_status(name)),
                load.request("create", "configmaps", self.space, body=self.config(name, labels={LABEL: "bare"})),
                self.status_request(item, phase="Succeeded", jobIDFinished="job-1", lastReconcileTime=now())]

    # --- requests ---

    def requests(self, server, user, mark):
        """The requests of a user after a mark, without watches, lists for them and discovery. The log has a request only when its
        response is complete, which may be after the test has seen the result in a watch."""
        seen = -1
        while (count := server.audit.count(mark, user=user)) != seen:
            seen = count
            time.sleep(1)
        return [f"{e['verb']} {resource_of(e)}" for e in server.audit.entries(mark, user=user)
                if e["verb"] not in ("watch", "list") and "objectRef" in e and "resource" in e["objectRef"] and
                "lease" not in e["objectRef"]["resource"]]

    def count(self, controller, run):
        """Calls run() and returns the requests it caused in both clusters."""
        marks = self.apiserver.audit.mark(), self.cluster.audit.mark()
        run()
        return self.requests(self.apiserver, controller.user, marks[0]), self.requests(self.cluster, self.user, marks[1])


__all__ = ["ApiError", "encode", "wait_until"]
