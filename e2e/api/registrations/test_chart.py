# SPDX-License-Identifier: Apache-2.0
"""The chart deployer-registrations: installed by Helm, and the program with the account, roles and configuration of the release."""

import base64
import copy
import re
import subprocess

import pytest
import yaml

from bench import paths
from bench.kube import ApiError
from bench.waiting import wait_until
from controller_harness import PROGRAM
from registrations_harness import ENVIRONMENTS, REGISTRATIONS, environment, registration
from ship import helm

CHART = paths.CHECKOUT / "charts" / "deployer-registrations"
ACCEPTED = "longshore.deployers.landscaper.gardener.cloud/accepted"


def check(*arguments):
    return subprocess.run([PROGRAM, "registrations", "--check", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_the_program_runs_with_the_roles_of_the_chart(world, tmp_path):
    """S4, S9: nothing is missing in the roles and nothing is too much; --check agrees; an agent writes only its own Environment."""
    values = {"crds": {"install": False}, "deployerManagement": {"acceptance": "manual", "namespace": world.namespace},
              "ui": {"enabled": True, "authentication": True}}
    helm.run("install", "registrations", CHART, kubeconfig=world.apiserver.kubeconfig, values=values, namespace=world.namespace)
    try:
        config = tmp_path / "config.yaml"
        config.write_bytes(base64.b64decode(world.kube.get("secrets", "registrations-deployer-registrations-config", world.namespace)["data"]["config.yaml"]))
        token = world.kube.token("registrations-deployer-registrations", world.namespace)
        kubeconfig = world.apiserver.token_kubeconfig(token)
        # Only the Context is missing: Landscaper creates it.
        done = check(f"--config={config}", f"--kubeconfig={kubeconfig}")
        assert done.returncode == 1 and "1 problem found" in done.stdout and re.search("Context default.* missing ", done.stdout), done.stdout + done.stderr
        world.context()
        done = check(f"--config={config}", f"--kubeconfig={kubeconfig}")
        assert done.returncode == 0 and "no problems found" in done.stdout and "tokenreviews" not in done.stdout, done.stdout + done.stderr
        done = check(f"--config={config}", f"--kubeconfig={kubeconfig}", "--ui=token")
        assert done.returncode == 0 and re.search("all .*tokenreviews.* create .* ok ", done.stdout), done.stdout + done.stderr
        stranger = world.apiserver.user_kubeconfig("stranger")
        done = check(f"--config={config}", f"--kubeconfig={stranger}", "--ui=token")
        assert done.returncode == 1 and re.search("subjectaccessreviews.* missing: create ", done.stdout), done.stdout + done.stderr

        process = world.start(f"--config={config}", token=token)
        agents_write_their_own_environment(world)
        world.create(environment("one"))
        world.create(registration("mock"))
        # An Event reports a change: the status has to be written before the deployer is ready.
        world.wait_condition(REGISTRATIONS, "mock", "Ready", "False")
        world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"annotations": {ACCEPTED: "true"}}})
        world.finish("mock-one")
        world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
        world.kube.patch("rbac.authorization.k8s.io/v1/clusterrolebindings", "mock-one", {"subjects": []})
        wait_until(lambda: world.bindings() == ["mock-one"], "the binding")
        wait_until(lambda: [e for e in world.events("mock") if e["reason"] == "AllReady"], "an Event")
        can_the_deployer(world)
        world.kube.delete(ENVIRONMENTS, "one")
        world.uninstall("mock-one")
        wait_until(lambda: world.kube.find(ENVIRONMENTS, "one") is None, "the environment to go")
        assert "forbidden" not in process.output()
    finally:
        helm.run("uninstall", "registrations", kubeconfig=world.apiserver.kubeconfig, namespace=world.namespace)


def agents_write_their_own_environment(world):
    """The admission policy takes a moment to become active."""
    account = world.apiserver.service_account("landscaper-agent-mine", world.namespace)
    everything = [{"apiGroups": ["landscaper.gardener.cloud"], "resources": ["environments", "environments/status"], "verbs": ["*"]}]
    world.kube.allow(f"{world.namespace}:landscaper-agent-mine", everything, kind="ServiceAccount", name=f"agent-{world.namespace}")
    agent = world.apiserver.token_client(account)

    def is_refused(change, message):
        try:
            change()
        except ApiError as error:
            return message in error.message
        return False

    other = environment("other")
    world.created.append((ENVIRONMENTS, "other"))
    wait_until(lambda: is_refused(lambda: agent.apply(other), "only its own Environment"), "the policy to be active")
    cheat = environment("mine")
    cheat["metadata"]["annotations"] = {ACCEPTED: "true"}
    assert is_refused(lambda: agent.create(copy.deepcopy(cheat)), "cannot accept")
    world.created.append((ENVIRONMENTS, "mine"))
    agent.create(environment("mine"))
    assert is_refused(lambda: agent.patch(ENVIRONMENTS, "mine", {"metadata": {"annotations": {ACCEPTED: "true"}}}), "cannot accept")
    world.kube.patch(ENVIRONMENTS, "mine", {"metadata": {"annotations": {ACCEPTED: "true"}}})
    agent.patch(ENVIRONMENTS, "mine", {"spec": {"namespace": "elsewhere"}})
    world.kube.delete(ENVIRONMENTS, "mine")
    world.wait_gone(ENVIRONMENTS, "mine")


def can_the_deployer(world):
    """The account of a deployer reads and writes single Secrets, but lists none, and writes no Installations."""
    deployer = world.apiserver.token_client(world.kube.token("mock-one", world.namespace))
    world.secret("target", {"a": "b"})
    assert deployer.get("secrets", "target", world.namespace)["data"]
    for refused in (lambda: deployer.items("secrets", world.namespace), lambda: deployer.items(REGISTRATIONS),
                    lambda: deployer.items("serviceaccounts", world.namespace)):
        with pytest.raises(ApiError) as caught:
            refused()
        assert caught.value.status == 403


def test_every_object_is_accepted_and_definitions_stay(registrations_server):
    full = {"podAnnotations": {"a": "b"}, "podLabels": {"c": "d"}, "nodeSelector": {"e": "f"}, "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {}}, "priorityClassName": "p", "imagePullSecrets": [{"name": "s"}], "extraEnv": [{"name": "A", "value": "B"}],
            "podDisruptionBudget": {"enabled": True}, "networkPolicy": {"enabled": True, "metricsFrom": [{"podSelector": {}}]},
            "deployerRole": {"extraRules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, "replicaCount": 2,
            "deployerManagement": {"externalTypes": ["example.com/a"], "agent": {"disable": True}}}
    for values in ({}, full):
        things = helm.template(values, chart=CHART)
        for thing in things:
            if thing["kind"] not in ("CustomResourceDefinition", "Pod"):
                path = registrations_server.kube.path(registrations_server.kube.resource_of(thing), thing["metadata"]["name"],
                                                      thing["metadata"].get("namespace"))
                registrations_server.kube.request("PATCH", path, query={"dryRun": "All", "fieldManager": "test"}, body=thing,
                                                  content_type="application/apply-patch+yaml")
        definitions = [t for t in things if t["kind"] == "CustomResourceDefinition"]
        assert sorted(d["spec"]["names"]["kind"] for d in definitions) == ["DeployerRegistration", "Environment"]
        assert all(d["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for d in definitions)


def test_helm_reports_nothing_and_wrong_values():
    helm.run("lint", "--strict", CHART, kube_version="1.34.0")
    for values, complaint in (({"deployerManagement": {"acceptance": "never"}}, "acceptance"), ({"tokenSeconds": 1}, "tokenSeconds"),
                              ({"deployerManagement": {"tokenSeconds": 5}}, "tokenSeconds"),
                              ({"deployerManagement": {"disable": True}}, "disable")):
        with pytest.raises(helm.HelmError, match=complaint):
            helm.template(values, chart=CHART)
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    documented = set(re.findall(r"^\| `([^`]+)` \|", (CHART / "README.md").read_text(), re.MULTILINE))
    assert documented == {path for key, value in values.items() for path in paths_of(key, value)}


def paths_of(key, value):
    is_group = isinstance(value, dict) and value and key not in ("podSecurityContext", "securityContext", "resources")
    return [f"{key}.{name}" for name in value] if is_group else [key]


def test_check_reports_what_is_missing(registrations_server):
    kubeconfig = registrations_server.user_kubeconfig("nobody-at-all")
    done = check(f"--kubeconfig={kubeconfig}", "--namespace=nowhere")
    assert done.returncode == 1 and "missing: list watch patch" in done.stdout and "problems found" in done.stdout
    done = subprocess.run([PROGRAM, "registrations", "--config=/does/not/exist"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "/does/not/exist" in done.stderr
