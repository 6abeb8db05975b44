# SPDX-License-Identifier: Apache-2.0
"""Both containers of the chart's pod as processes, with the configurations and exactly the permissions that the chart renders."""

import json
import os
import pathlib

from agent_harness import CHART
from bench import paths
from bench.kube import DEPLOYITEMS, LANDSCAPER, TARGETS
from bench.waiting import wait_until
from controller_harness import ITEM_FINALIZER, PROGRAM, Controller
from registrations_harness import RegistrationsWorld
from ship import helm
from ship.test_agent_chart import config_of

MANIFEST = "landscaper.gardener.cloud/kubernetes-manifest"
PERMISSIONS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


def render(world, **agent):
    """Installs what belongs to the API server and writes the configurations. Returns their directory and a kubeconfig of the account."""
    things = helm.template({"agent": {"name": world.name, "namespace": world.namespace, "landscaperNamespace": world.namespace,
                                      "landscaperClusterKubeconfig": {"secretRef": "given"}, **agent}},
                           release=world.name, namespace=world.namespace, chart=CHART)
    for thing in things:
        if thing["kind"] in (*PERMISSIONS, "Lease"):
            world.host.apply(thing)
    account, = [thing["metadata"]["name"] for thing in things if thing["kind"] == "ServiceAccount"]
    directory = paths.fresh_directory("chart")
    for key in ("config.yaml", "deployer.yaml"):
        (directory / key).write_text(json.dumps(config_of(things, key)))
    return directory, world.kubeconfig(world.managed, account)


def start(world, directory, host, *arguments):
    process = Controller(f"longshore-{arguments[0]}", [PROGRAM, *arguments, f"--kubeconfig={host}", "-v", "debug", "--metrics-address=off",
                                                       "--health-address=off"],
                         env={**os.environ, "MY_POD_NAME": "agent-pod", "MY_POD_NAMESPACE": world.namespace})
    world.agents.append(process)
    return process


def deploy(world, name, manifest):
    """As Landscaper: an item for the host Target, whose deployer is the one beside the agent."""
    user = RegistrationsWorld(world.landscaper, world.namespace)
    user.context()
    world.ls.create({"apiVersion": LANDSCAPER, "kind": "DeployItem",
                     "metadata": {"name": name, "namespace": world.namespace, "finalizers": [ITEM_FINALIZER]},
                     "spec": {"type": MANIFEST, "target": {"name": world.name, "namespace": world.namespace}, "config": {
                         "apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
                         "manifests": [{"policy": "manage", "manifest": manifest}]}}})
    user.trigger(name, "job-1")
    return user.finished(name, timeout=120)


def test_without_host_access_the_deployer_beside_the_agent_installs_with_the_host_account(world):
    """S8, hostAccess none: no kubeconfig of the managed cluster is in Landscaper's, and items are deployed nevertheless."""
    directory, host = render(world, hostAccess="none")
    credential = paths.fresh_directory("credential")
    there, _ = world.given()
    agent = start(world, directory, host, "agent", f"--config={directory / 'config.yaml'}", f"--landscaper-kubeconfig={there}",
                  f"--credential-directory={credential}")
    agent.wait_until(lambda: '"msg":"registered"' in agent.output(), "registered")
    wait_until(lambda: pathlib.Path(credential / "kubeconfig").exists(), "the kubeconfig of the deployer")
    # longshore registrations makes the Target from the Environment.
    target = world.environment()["spec"]["hostTarget"]
    world.ls.create({"apiVersion": LANDSCAPER, "kind": "Target", "spec": {key: target[key] for key in ("type", "config")},
                     "metadata": {"name": world.name, "namespace": world.namespace, "annotations": target["annotations"]}})
    assert "kubeconfig" not in json.dumps(world.ls.get(TARGETS, world.name, world.namespace))
    marks = world.marks()
    start(world, directory, host, "controller", f"--config={directory / 'deployer.yaml'}",
          f"--landscaper-kubeconfig={credential / 'kubeconfig'}")
    status = deploy(world, "item", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
                                    "metadata": {"name": "deployed", "namespace": world.namespace}})
    assert status["phase"] == "Succeeded", status
    [created] = [e for e in world.managed.audit.entries(marks[1], resource="configmaps", name="deployed") if e["verb"] in ("create", "patch")][:1]
    assert created["user"]["username"] == f"system:serviceaccount:{world.namespace}:deployer-{world.name}"
    assert not [s for s in world.ls.items("secrets", world.namespace) if "kubeconfig" in json.dumps(s)] and world.target_secret() is None
    assert not world.refused(marks)
    world.ls.patch(DEPLOYITEMS, "item", {"metadata": {"finalizers": None}}, world.namespace)
