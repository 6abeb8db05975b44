# SPDX-License-Identifier: Apache-2.0
"""Environments and DeployerRegistrations as agents and people write them."""

import copy
import os
import uuid

from bench import paths
from bench.audit import resource_of
from bench.kube import DEPLOYITEMS, LANDSCAPER, TARGETS
from bench.waiting import wait_until
from controller_harness import OPERATION, PROGRAM, Controller, World

DEFINITIONS = paths.CHECKOUT / "charts" / "deployer-registrations" / "files" / "crds"
ENVIRONMENTS = f"{LANDSCAPER}/environments"
REGISTRATIONS = f"{LANDSCAPER}/deployerregistrations"
INSTALLATIONS = f"{LANDSCAPER}/installations"
BINDINGS = "rbac.authorization.k8s.io/v1/clusterrolebindings"
LEASES = "coordination.k8s.io/v1/leases"
LANDSCAPER_FINALIZER = "finalizer.landscaper.gardener.cloud"
HELM = "landscaper.gardener.cloud/helm"
ENVIRONMENT_ANNOTATION = "landscaper.gardener.cloud/environment"
DEPLOYER_ONLY = "landscaper.gardener.cloud/deployer-only"
AGENT_FINALIZER = "finalizer.agent.landscaper.gardener.cloud"
MANAGEMENT_FINALIZER = "finalizer.deployermanagement.landscaper.gardener.cloud"

# Drops the version of data imports, as a server does whose definition does not know a field.
IMPORTS_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"data": {"type": "array", "items": {
    "type": "object", "properties": {"name": {"type": "string"}, "dataRef": {"type": "string"}}}}}}
INSTALLATION_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "installations.landscaper.gardener.cloud"},
    "spec": {"group": "landscaper.gardener.cloud", "scope": "Namespaced",
             "names": {"plural": "installations", "singular": "installation", "kind": "Installation", "shortNames": ["inst"]},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
                               "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True,
                                        "properties": {"imports": IMPORTS_SCHEMA}},
                               "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}


def environment(name, **spec):
    """What the agent of v0.98 writes."""
    return {"apiVersion": LANDSCAPER, "kind": "Environment",
            "metadata": {"name": name, "finalizers": []},
            "spec": copy.deepcopy({
                "namespace": "ls-system",
                "hostTarget": {"type": "landscaper.gardener.cloud/kubernetes-cluster",
                               "annotations": {ENVIRONMENT_ANNOTATION: name, DEPLOYER_ONLY: "true"},
                               "secretRef": {"name": f"{name}-target-access", "key": "kubeconfig"}},
                "landscaperClusterConfig": {"host": "https://landscaper.example:6443", "apiPath": "", "insecure": False,
                                            "caData": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="},
                "targetSelectors": [{"annotations": [{"key": ENVIRONMENT_ANNOTATION, "operator": "=", "values": [name]}]}],
                **spec})}


def registration(name, types=None, required=None, **template):
    spec = {"types": types or [f"example.com/{name}"],
            "installationTemplate": {
                "componentDescriptor": {"ref": {"repositoryContext": {"type": "ociRegistry", "baseUrl": "registry.example/components"},
                                                "componentName": f"example.com/{name}-deployer", "version": "v1.0.0"}},
                "blueprint": {"ref": {"resourceName": f"{name}-deployer-blueprint"}},
                "importDataMappings": {"values": {}}, **template}}
    if required is not None:
        spec["requiredTypes"] = required
    return {"apiVersion": LANDSCAPER, "kind": "DeployerRegistration", "metadata": {"name": name}, "spec": copy.deepcopy(spec)}


class RegistrationsWorld(World):
    """Environments and registrations of a test, and the program that acts on them. The test acts as Landscaper."""

    def __init__(self, apiserver, namespace):
        self.apiserver, self.kube, self.namespace = apiserver, apiserver.kube, namespace
        self.controllers, self.users, self.token = [], 0, None
        self.created = []

    def close(self):
        broken = [c for c in self.controllers if c.stop() not in (0, -9) or "Sanitizer" in c.output()]
        for resource, name in self.created:
            self._purge(resource, name)
        for resource in (INSTALLATIONS, TARGETS, DEPLOYITEMS):
            for thing in self.kube.items(resource, self.namespace):
                self._purge(resource, thing["metadata"]["name"], self.namespace)
        for binding in self.bindings():
            self._purge(BINDINGS, binding)
        assert not broken, [(c.exit_code, c.output()[-4000:]) for c in broken]

    def _purge(self, resource, name, namespace=None):
        if self.kube.find(resource, name, namespace) is not None:
            self.kube.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)
            if self.kube.find(resource, name, namespace) is not None:
                self.kube.delete(resource, name, namespace)

    def start(self, *arguments, proxy=None, token=None, env=None):
        self.users += 1
        user = f"registrations-{self.namespace}-{self.users}"
        kubeconfig = (self.token_kubeconfig(f"https://{proxy.host}:{proxy.port}") if proxy
                      else self.apiserver.token_kubeconfig(token) if token
                      else self.apiserver.user_kubeconfig(user, groups=["system:masters"]))
        process = Controller("longshore-registrations", [
            PROGRAM, "registrations", f"--kubeconfig={kubeconfig}", f"--namespace={self.namespace}", "-v", "debug",
            "--metrics-address=off", "--health-address=off", *arguments],
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1", **(env or {})})
        process.user = user
        self.controllers.append(process)
        wait_until(lambda: "all objects listed" in process.output() and '"leading"' in process.output(), "leading")
        return process

    def killed(self, process):
        """After a crash the Lease would have to expire."""
        process.expected = False
        process.kill()
        if self.kube.find(LEASES, "longshore-registrations", self.namespace):
            self.kube.delete(LEASES, "longshore-registrations", self.namespace)

    # --- objects ---

    def create(self, thing):
        self.created.append((self.kube.resource_of(thing), thing["metadata"]["name"]))
        return self.kube.create(thing)

    def installation(self, name):
        return self.kube.find(INSTALLATIONS, name, self.namespace)

    def wait_gone(self, resource, name):
        wait_until(lambda: self.kube.find(resource, name) is None, f"{name} to go")

    def bindings(self):
        return [b["metadata"]["name"] for b in self.kube.items(BINDINGS)
                if any(s.get("namespace") == self.namespace for s in b.get("subjects", []))
                and b["roleRef"]["name"] == "landscaper:deployer"]

    def accounts(self):
        return [a["metadata"]["name"] for a in self.kube.items("serviceaccounts", self.namespace)
                if a["metadata"]["name"] not in ("default", "controller")]

    def targets(self):
        return [t["metadata"]["name"] for t in self.kube.items(TARGETS, self.namespace)]

    def left(self):
        """Everything that was made for pairs."""
        return [*[i["metadata"]["name"] for i in self.kube.items(INSTALLATIONS, self.namespace)], *self.bindings(), *self.accounts(),
                *self.targets()]

    def condition(self, resource, name, kind):
        found = [c for c in self.kube.get(resource, name).get("status", {}).get("conditions", []) if c["type"] == kind]
        return found[0] if found else {}

    def wait_condition(self, resource, name, kind, status, reason=None):
        def is_there():
            found = self.condition(resource, name, kind)
            return found if found.get("status") == status and reason in (None, found.get("reason")) else None
        return wait_until(is_there, f"{name} {kind}={status} {reason}")

    # --- the agent ---

    def beat(self, name, number, holder="agent", seconds=40):
        """Renews the Lease of an agent whose clock is wrong by years."""
        self.kube.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": self.namespace},
                         "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds,
                                  "renewTime": f"2001-01-01T00:00:{number:02}.000000Z"}})

    def events(self, name):
        return [e for e in self.kube.items("events", "default") if e["involvedObject"].get("name") == name]

    # --- Landscaper ---

    def wait_triggered(self, name, operation="reconcile"):
        return wait_until(lambda: (self.installation(name) or {"metadata": {}})["metadata"].get("annotations", {}).get(OPERATION) == operation
                          and self.installation(name), f"{name} triggered")

    def finish(self, name, phase="Succeeded", job=None):
        """Landscaper takes the job and ends it."""
        found = self.wait_triggered(name)
        job = job or f"job-{found['metadata']['resourceVersion']}"
        finalizers = found["metadata"]["finalizers"]
        if LANDSCAPER_FINALIZER not in finalizers:
            finalizers = [*finalizers, LANDSCAPER_FINALIZER]
        self.kube.patch(INSTALLATIONS, name, {"metadata": {"annotations": {OPERATION: None}, "finalizers": finalizers}}, self.namespace)
        self.kube.patch(INSTALLATIONS, name, {"status": {"phase": phase, "jobID": job, "jobIDFinished": job,
                                                         "observedGeneration": found["metadata"]["generation"]}}, self.namespace, "status")

    def uninstall(self, name):
        """Landscaper has removed what the Installation deployed."""
        found = wait_until(lambda: self.installation(name)["metadata"].get("deletionTimestamp") and self.installation(name), f"{name} deleted")
        self.kube.patch(INSTALLATIONS, name, {"metadata": {"finalizers": [
            f for f in found["metadata"]["finalizers"] if f != LANDSCAPER_FINALIZER]}}, self.namespace)

    def writes(self, mark, user):
        """Requests that change something, without the Lease and Events."""
        return [f"{e['verb']} {resource_of(e)}" for e in self.apiserver.audit.entries(mark, user=user)
                if e["verb"] not in ("get", "list", "watch") and resource_of(e) not in ("leases", "events")]

    def quiet(self):
        """Waits until the program has had time to react: a change that it reports is seen after all earlier ones."""
        name = f"quiet-{uuid.uuid4().hex[:8]}"
        self.create(registration(name, required=["example.com/none"]))
        self.wait_condition(REGISTRATIONS, name, "Valid", "True")
        self._purge(REGISTRATIONS, name)
        wait_until(lambda: self.kube.find(REGISTRATIONS, name) is None, "gone")

    def wait_counted(self, env, summary):
        """Until the status of the Environment shows this number of deployers: the program has nothing more to report about it."""
        wait_until(lambda: self.kube.get(ENVIRONMENTS, env)["status"]["deployers"]["summary"] == summary, f"{env} {summary}")
