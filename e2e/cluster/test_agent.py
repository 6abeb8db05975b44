# SPDX-License-Identifier: Apache-2.0
"""A cluster becomes an environment: the chart of the agent is installed in the node, which cannot be reached from Landscaper's cluster, and
a registered deployer is installed there, runs an item, and goes again with `helm uninstall`. The test renders Installations as
Landscaper does."""

import os
import re
import threading

import pytest
import yaml

from api.helm.harness import VERSION
from bench import crds, paths
from bench.apiserver import ApiServer
from bench.charts import chart_archive, raw
from bench.kube import DEPLOYITEMS, LANDSCAPER, TARGETS
from bench.location import Loopback
from bench.modules import load
from bench.waiting import wait_until
from cluster.conftest import Cluster, restricted
from cluster.test_fenced import rules_for_landscaper
from ship import helm, release
from ship.test_tutorial import STEP, Shell, pattern_of

API = paths.CHECKOUT / "e2e" / "api"
load("controller_harness", API / "controller" / "harness.py")
registrations = load("registrations_harness", API / "registrations" / "harness.py")

PAGE = paths.CHECKOUT / "docs" / "environments-tutorial.md"
CHART = paths.CHECKOUT / "charts" / "landscaper-agent"
HOST, SYSTEM, ENVIRONMENT, DEPLOYER = "environment-host", "ls-system", "fenced", "longshore"
PAIR = f"{DEPLOYER}-{ENVIRONMENT}"
MANIFEST, HELM = "landscaper.gardener.cloud/kubernetes-manifest", "landscaper.gardener.cloud/helm"
ROLES = "rbac.authorization.k8s.io/v1/roles"


@pytest.fixture
def landscaper(node):
    """Landscaper's cluster, at the address of this machine on the link to the node."""
    class Outside(Loopback):
        address = node.sandbox.test_address

    server = ApiServer(location=Outside())
    server.controllers()
    crds.install(server.kube, crds.load(registrations.DEFINITIONS) + [registrations.INSTALLATION_DEFINITION])
    yield server
    server.close()


class Environment(Cluster):
    """Items of users in Landscaper's cluster, pods in the node."""

    def __init__(self, node, landscaper, namespace):
        super().__init__(node, namespace, HOST)
        self.kube.delete("landscaper.gardener.cloud/v1alpha1/contexts", "default", namespace)
        landscaper.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        self.kube, self.host_kube = landscaper.kube, node.kube
        self.context()
        self.context(namespace=SYSTEM)

    def render(self, job):
        """Landscaper renders the blueprint of the deployer: one manifest item with the objects of its chart."""
        access = self.kube.get(TARGETS, PAIR, SYSTEM)["spec"]["config"]["kubeconfig"]
        installation = self.kube.get(registrations.INSTALLATIONS, PAIR, SYSTEM)
        mappings = installation["spec"]["importDataMappings"]
        things = [thing for thing in helm.template({"deployer": {
            "landscaperClusterKubeconfig": {"kubeconfig": access}, "identity": mappings["identity"],
            "targetSelector": mappings["targetSelectors"], "oci": {"allowPlainHttp": True}, "waitContainer": {"args": ["--quiet=4"]}},
            # The host account may not create admission policies.
            "admissionPolicy": {"enabled": False}},
            release=mappings["releaseName"], namespace=mappings["releaseNamespace"]) if thing["kind"] not in ("Pod",)]
        target, = [t["target"] for t in installation["spec"]["imports"]["targets"] if t["name"] == "cluster"]
        self.system_item(f"{PAIR}-item", MANIFEST, target.lstrip("#"), job, {
            "apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
            "manifests": [{"policy": "manage", "manifest": thing} for thing in things]},
            labels={"execution.landscaper.gardener.cloud/managed-by": PAIR})

    def system_item(self, name, kind, target, job, config, **metadata):
        """An item beside Installations of deployers, which the deployer beside the agent serves."""
        self.kube.create({"apiVersion": LANDSCAPER, "kind": "DeployItem", "metadata": {
            "name": name, "namespace": SYSTEM, "finalizers": ["finalizer.landscaper.gardener.cloud"], **metadata},
            "spec": {"type": kind, "target": {"name": target, "namespace": SYSTEM}, "config": config}})
        self.trigger(name, job, SYSTEM)
        self.succeeded(name, job, SYSTEM, timeout=180)

    def check_charts(self):
        """The environment's own Target takes helm items of both modes, as with the agent of v0.98."""
        archive = chart_archive({"templates/a.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\n'})
        modes = {"rendered": False, "released": True}
        for name, is_release in modes.items():
            self.system_item(name, HELM, ENVIRONMENT, "job-1", {
                "apiVersion": VERSION, "kind": "ProviderConfiguration", "name": name, "namespace": HOST, "chart": raw(archive),
                "helmDeployment": is_release})
            assert self.host_kube.find("configmaps", name, HOST)
        for name in modes:
            self.delete(name, namespace=SYSTEM)
            self.deleted(name, SYSTEM)
            assert self.host_kube.find("configmaps", name, HOST) is None


def objects_of(kube, namespace):
    """Names of everything in the namespace that the test did not make. The Lease of a deployer outlives it."""
    found = [(kind, thing["metadata"]["name"]) for kind in ("secrets", "serviceaccounts", ROLES, "pods", "apps/v1/deployments", registrations.LEASES)
             for thing in kube.items(kind, namespace)]
    return [(kind, name) for kind, name in found if name != "default" and (kind, name) != (registrations.LEASES, f"{PAIR}-container-deployer")]


def give_access(landscaper):
    """What an administrator of Landscaper's cluster does for a new environment. Returns the kubeconfig."""
    landscaper.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    text = (CHART / "files" / "landscaper-access.yaml").read_text().replace("ENVIRONMENT", ENVIRONMENT)
    for thing in yaml.safe_load_all(text):
        landscaper.kube.apply(thing)
    landscaper.kube.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "landscaper:deployer"},
                            "rules": rules_for_landscaper()})
    return landscaper.token_kubeconfig(landscaper.kube.token(f"landscaper-agent-{ENVIRONMENT}", SYSTEM)).read_text()


def test_a_cluster_becomes_an_environment_and_ceases_to_be_one(node, landscaper, node_namespace):
    restricted(node, HOST)
    release.load(node)
    release.load_helm(node)
    kubeconfig = give_access(landscaper)
    manager = registrations.RegistrationsWorld(landscaper, SYSTEM)
    manager.start()
    here, there = node.api.audit.mark(), landscaper.audit.mark()
    helm.run("install", ENVIRONMENT, CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, namespace=HOST, values={
        "agent": {"landscaperClusterKubeconfig": {"kubeconfig": kubeconfig}, "verbosity": "debug"}})
    told = wait_until(lambda: landscaper.kube.get(registrations.ENVIRONMENTS, ENVIRONMENT).get("status", {}).get("agent"), "the Environment")
    assert told["types"] == [MANIFEST, HELM]
    world = Environment(node, landscaper, node_namespace)
    wait_until(lambda: ENVIRONMENT in manager.targets(), "the Target of the environment")
    world.check_charts()

    # A deployer is registered, and appears in the cluster.
    manager.create(registrations.registration(DEPLOYER, types=["landscaper.gardener.cloud/container"], required=[MANIFEST]))
    manager.wait_triggered(PAIR)
    world.render("job-1")
    manager.finish(PAIR)
    manager.wait_condition(registrations.ENVIRONMENTS, ENVIRONMENT, "DeployersReady", "True")
    # It runs an item whose Target is in this environment.
    world.target("there", config={"foo": "bar"}, annotations={"landscaper.gardener.cloud/environment": ENVIRONMENT})
    world.shell("item", 'echo "ok: true" > $EXPORTS_PATH', target="there")
    world.succeeded("item")
    assert yaml.safe_load(world.exports("item")) == {"ok": True}

    # S1: another pod of the agent; items go on working, before and after it registers.
    pod, = [p for p in node.kube.items("pods", HOST) if p["metadata"]["name"].startswith(f"{ENVIRONMENT}-landscaper-agent")]
    node.kube.delete("pods", pod["metadata"]["name"], HOST)
    world.trigger(f"{PAIR}-item", "job-2", SYSTEM)
    world.succeeded(f"{PAIR}-item", "job-2", SYSTEM, timeout=180)

    # R8, S7: helm uninstall removes the deployer, then the environment, then the agent.
    world.delete("item")
    world.wait_until_deleted("item", timeout=120)
    outcome = []
    uninstall = threading.Thread(target=lambda: outcome.append(helm.run(
        "uninstall", ENVIRONMENT, "--wait", "--timeout", "4m", kubeconfig=node.kubeconfig, namespace=HOST)))
    uninstall.start()
    wait_until(lambda: manager.installation(PAIR)["metadata"].get("deletionTimestamp"), "the Installation is deleted")
    world.delete(f"{PAIR}-item", namespace=SYSTEM)
    wait_until(lambda: landscaper.kube.find(DEPLOYITEMS, f"{PAIR}-item", SYSTEM) is None, "the deployer is uninstalled")
    manager.uninstall(PAIR)
    uninstall.join(timeout=240)
    assert outcome, "helm uninstall did not end"
    assert landscaper.kube.find(registrations.ENVIRONMENTS, ENVIRONMENT) is None
    wait_until(lambda: not manager.targets(), "the Targets go with their owner")
    assert not [s for s in landscaper.kube.items("secrets", SYSTEM)] and not landscaper.kube.find(registrations.LEASES, ENVIRONMENT, SYSTEM)
    wait_until(lambda: not objects_of(node.kube, HOST), f"the namespace of the environment is empty: {objects_of(node.kube, HOST)}")
    assert not [r for kind in ("clusterroles", "clusterrolebindings") for r in node.kube.items(f"rbac.authorization.k8s.io/v1/{kind}")
                if "landscaper" in r["metadata"]["name"]]

    # Nothing outside used the node's API server, and no permission was missing.
    foreign = {e["user"]["username"] for e in landscaper.audit.entries(there)} & {e["user"]["username"] for e in node.api.audit.entries(here)}
    assert not [user for user in foreign if user.startswith("system:serviceaccount:") and HOST in user]
    refused = [(e["verb"], e["requestURI"]) for e in landscaper.audit.entries(there) if e.get("responseStatus", {}).get("code") == 403
               and e["user"]["username"].startswith(f"system:serviceaccount:{SYSTEM}:landscaper-agent")]
    refused += [(e["verb"], e["requestURI"]) for e in node.api.audit.entries(here) if e.get("responseStatus", {}).get("code") == 403
                and e["user"]["username"] == f"system:serviceaccount:{HOST}:{ENVIRONMENT}-landscaper-agent"]
    # When helm removes the release, the role may be gone before the deployer gives its Lease up.
    assert not [r for r in refused if not r[1].endswith(f"/leases/{ENVIRONMENT}-landscaper-agent-deployer")]
    manager.close()


def test_every_command_of_the_tutorial_works(node, landscaper, tmp_path):
    """docs/environments-tutorial.md, in its order, with the node as the second cluster."""
    release.load(node)
    restricted(node, "deployers")
    landscaper.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    manager = registrations.RegistrationsWorld(landscaper, SYSTEM)
    manager.start()
    (tmp_path / "landscaper.kubeconfig").write_text(landscaper.kubeconfig.read_text())
    (tmp_path / "second.kubeconfig").write_text(node.kubeconfig.read_text())
    programs = [paths.tool_directory("kubernetes"), paths.tool_directory("helm")]
    shell = Shell(paths.CHECKOUT, {**os.environ, "HOME": str(tmp_path), "PATH": ":".join([*map(str, programs), os.environ["PATH"]])},
                  tmp_path / "step.sh")
    try:
        for step in STEP.finditer(PAGE.read_text()):
            # The page writes two files to the working directory, which is the checkout. The image was loaded onto the node.
            commands = step["commands"].replace("agent.kubeconfig", f"{tmp_path}/agent.kubeconfig").replace("cluster.json", f"{tmp_path}/cluster.json")
            commands = commands.replace("REGISTRY=registry.example/longshore", "REGISTRY=localhost")
            printed = shell.run(commands)
            if step["output"] is not None:
                assert re.fullmatch(pattern_of(step["output"]), printed), printed
    finally:
        shell.close()
    assert not [s["metadata"]["name"] for s in landscaper.kube.items("secrets", SYSTEM)]
    manager.close()
