# SPDX-License-Identifier: Apache-2.0
"""An agent between two API servers. The test acts as longshore registrations and as the operator of both clusters."""

import base64
import contextlib
import json
import os
import pathlib

import yaml

from bench import paths
from bench.audit import resource_of
from bench.kube import ApiError
from bench.waiting import wait_until
from controller_harness import PROGRAM, Controller
from faults.proxy import FaultProxy
from registrations_harness import ENVIRONMENTS, LEASES, MANAGEMENT_FINALIZER

CHART = paths.CHECKOUT / "charts" / "landscaper-agent"
CONFIG = "config.landscaper.gardener.cloud/v1alpha1"
RBAC = "rbac.authorization.k8s.io/v1"
PREFIX = "longshore.deployers.landscaper.gardener.cloud"
HOST_KINDS = ("serviceaccounts", f"{RBAC}/roles", f"{RBAC}/rolebindings")
CLUSTER_KINDS = (f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings")
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def claims_of(token):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


def value(secret, key):
    return base64.b64decode(secret["data"][key]).decode()


class AgentWorld:
    """One environment: its namespace has the same name in both clusters, and so has the environment."""

    def __init__(self, landscaper, managed, namespace):
        self.landscaper, self.managed, self.namespace, self.name = landscaper, managed, namespace, namespace
        self.ls, self.host = landscaper.kube, managed.kube
        self.agents = []
        self.account = f"system:serviceaccount:{namespace}:landscaper-agent-{self.name}"
        self.host_account = f"system:serviceaccount:{namespace}:agent"
        self.host.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        self.objects = [thing for thing in yaml.safe_load_all(
            (CHART / "files" / "landscaper-access.yaml").read_text().replace("ENVIRONMENT", self.name).replace("ls-system", namespace))]
        for thing in self.objects:
            self.ls.apply(thing)
        self.managed.service_account("agent", namespace)
        self.host.allow(f"{namespace}:agent", EVERYTHING, kind="ServiceAccount", name=f"agent-{namespace}")

    def close(self):
        broken = [a for a in self.agents if a.stop() not in (0, 1, -9) or "Sanitizer" in a.output()]
        with contextlib.suppress(ApiError):
            self.ls.patch(ENVIRONMENTS, self.name, {"metadata": {"finalizers": None}})
            self.ls.delete(ENVIRONMENTS, self.name)
        for thing in self.objects:
            if "namespace" not in thing["metadata"]:
                self.ls.delete(self.ls.resource_of(thing), thing["metadata"]["name"])
        for kind in CLUSTER_KINDS:
            for thing in self.host.items(kind):
                if thing["metadata"]["name"].endswith(self.name):
                    self.host.delete(kind, thing["metadata"]["name"])
        self.host.delete("namespaces", self.namespace)
        assert not broken, [(a.exit_code, a.output()[-4000:]) for a in broken]

    # --- agents ---

    def config(self, **fields):
        path = paths.fresh_directory("agent") / "config.yaml"
        path.write_text(json.dumps({"apiVersion": CONFIG, "kind": "AgentConfiguration", "name": self.name, "namespace": self.namespace,
                                    "landscaperNamespace": self.namespace, "heartbeatSeconds": 1, **fields}))
        return path

    def kubeconfig(self, server, account, proxy=None):
        path = pathlib.Path(server.token_kubeconfig(server.kube.token(account, self.namespace, seconds=7200)))
        if proxy:
            text = json.loads(path.read_text())
            text["clusters"][0]["cluster"]["server"] = f"https://{proxy.host}:{proxy.port}"
            path.write_text(json.dumps(text))
        return path

    def given(self, proxies=(None, None)):
        """The kubeconfigs that an agent is started with, made once, so that they stay the same after a restart."""
        if not hasattr(self, "_given") or self._given[0] != proxies:
            self._given = (proxies, self.kubeconfig(self.landscaper, f"landscaper-agent-{self.name}", proxies[0]),
                           self.kubeconfig(self.managed, "agent", proxies[1]))
        return self._given[1:]

    def arguments(self, *arguments, config=None, proxies=(None, None)):
        there, here = self.given(proxies)
        return [f"--config={self.config(**(config or {}))}", f"--landscaper-kubeconfig={there}", f"--kubeconfig={here}", "-v", "debug",
                *arguments]

    def start(self, *arguments, config=None, proxies=(None, None), env=None, program=(PROGRAM, "agent"), waits=True):
        serves = [] if "--leave" in arguments else ["--metrics-address=off", "--health-address=off"]
        agent = Controller("longshore-agent", [*program, *self.arguments(*serves, *arguments, config=config, proxies=proxies)],
                           env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "MY_POD_NAME": "agent-pod", **(env or {})})
        self.agents.append(agent)
        if waits:
            agent.wait_until(lambda: '"msg":"registered"' in agent.output(), "registered")
        return agent

    def leave(self, *arguments, **options):
        """Runs --leave to its end."""
        agent = self.start("--leave", *arguments, waits=False, **options)
        agent.expected = False
        wait_until(lambda: not agent.running, "--leave to end")
        return agent

    def killed(self, agent):
        """After a crash the Lease would have to expire."""
        agent.expected = False
        agent.kill()
        if self.ls.find(LEASES, self.name, self.namespace):
            self.ls.delete(LEASES, self.name, self.namespace)

    @contextlib.contextmanager
    def proxies(self, plan):
        """Both API servers behind proxies with the same plan."""
        with FaultProxy(self.landscaper, plan) as there, FaultProxy(self.managed, plan) as here:
            try:
                yield there, here
            finally:
                for agent in self.agents:
                    agent.expected = False
                    agent.stop()

    # --- objects ---

    def environment(self):
        return self.ls.find(ENVIRONMENTS, self.name)

    def lease(self):
        return self.ls.find(LEASES, self.name, self.namespace)

    def target_secret(self):
        return self.ls.find("secrets", f"{self.name}-target-access", self.namespace)

    def host_token(self):
        return yaml.safe_load(value(self.target_secret(), "kubeconfig"))["users"][0]["user"]["token"]

    def own_secret(self):
        return self.host.find("secrets", f"landscaper-agent-{self.name}", self.namespace)

    def host_objects(self):
        """What the agent made in its cluster, without its own Secret."""
        found = [f"{kind} {thing['metadata']['name']}" for kind in HOST_KINDS for thing in self.host.items(kind, self.namespace)
                 if thing["metadata"]["name"] not in ("agent", "default")]
        return found + [f"{kind} {thing['metadata']['name']}" for kind in CLUSTER_KINDS for thing in self.host.items(kind)
                        if thing["metadata"]["name"].endswith(self.name) and thing["metadata"]["name"] != f"agent-{self.namespace}"] + [
            f"secrets {s['metadata']['name']}" for s in self.host.items("secrets", self.namespace)
            if s["metadata"]["name"] != f"landscaper-agent-{self.name}"]

    def left_there(self):
        """What an agent made in Landscaper's cluster."""
        return [found["metadata"]["name"] for found in (self.environment(), self.lease(), self.target_secret()) if found]

    def manage(self):
        """longshore registrations adds its finalizer."""
        wait_until(lambda: self.environment(), "the Environment")
        finalizers = self.environment()["metadata"].get("finalizers", [])
        self.ls.patch(ENVIRONMENTS, self.name, {"metadata": {"finalizers": [*finalizers, MANAGEMENT_FINALIZER]}})

    def unmanage(self):
        """longshore registrations has uninstalled all deployers."""
        finalizers = self.environment()["metadata"]["finalizers"]
        self.ls.patch(ENVIRONMENTS, self.name, {"metadata": {"finalizers": [f for f in finalizers if f != MANAGEMENT_FINALIZER]}})

    def condition(self, kind, status):
        self.ls.patch(ENVIRONMENTS, self.name, {"status": {"conditions": [{
            "type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}},
            subresource="status")

    # --- requests ---

    def marks(self):
        return self.landscaper.audit.mark(), self.managed.audit.mark()

    def requests(self, marks):
        """(verb resource) of the agent in both clusters, in order for each."""
        entries = [*self.landscaper.audit.entries(marks[0], user=self.account), *self.managed.audit.entries(marks[1], user=self.host_account)]
        return [f"{e['verb']} {resource_of(e)}" for e in entries]

    def writes(self, marks):
        return [r for r in self.requests(marks) if r.split()[0] not in ("get", "list", "watch") and r.split()[1] != "leases"]

    def refused(self, marks):
        entries = [*self.landscaper.audit.entries(marks[0], user=self.account), *self.managed.audit.entries(marks[1], user=self.host_account)]
        return [f"{e['verb']} {resource_of(e)}" for e in entries if e.get("responseStatus", {}).get("code") == 403]
