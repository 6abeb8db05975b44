# SPDX-License-Identifier: Apache-2.0
"""`longshore registrations` with a real API server. The test acts as the agent and as Landscaper."""

import base64
import json

import yaml

from bench.kube import DEPLOYITEMS, LANDSCAPER, TARGETS
from bench.waiting import wait_until
from registrations_harness import (AGENT_FINALIZER, BINDINGS, ENVIRONMENTS, INSTALLATIONS, LANDSCAPER_FINALIZER, MANAGEMENT_FINALIZER,
                                   REGISTRATIONS, environment, registration)

PAIR_WRITES = ["create serviceaccounts", "create clusterrolebindings", "create serviceaccounts/token", "create targets",
               "create installations"]
FORCE = "longshore.deployers.landscaper.gardener.cloud/force-removal"


def test_the_life_of_a_pair(world):
    """Created with five requests, updated with one, unchanged by events and restarts, removed after the deployer is uninstalled."""
    process = world.start()
    world.create(environment("one"))
    world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"finalizers": [AGENT_FINALIZER, MANAGEMENT_FINALIZER]}})
    world.wait_condition(ENVIRONMENTS, "one", "Valid", "True")
    wait_until(lambda: world.targets() == ["one"], "the host Target")
    mark = world.apiserver.audit.mark()
    world.create(registration("mock"))
    created = world.wait_triggered("mock-one")
    writes = [w for w in world.writes(mark, process.user) if "deployerregistrations" not in w and "environments" not in w]
    assert writes == PAIR_WRITES
    assert created["metadata"]["labels"]["deployers.landscaper.gardener.cloud/environment"] == "one"
    assert created["spec"]["imports"]["targets"] == [{"name": "cluster", "target": "#one"}, {"name": "landscaperCluster", "target": "#mock-one"}]
    config = yaml.safe_load(world.kube.get(TARGETS, "mock-one", world.namespace)["spec"]["config"]["kubeconfig"])
    claims = json.loads(base64.urlsafe_b64decode(config["users"][0]["user"]["token"].split(".")[1] + "=="))
    assert claims["sub"] == f"system:serviceaccount:{world.namespace}:mock-one"
    world.finish("mock-one")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
    assert world.kube.get(ENVIRONMENTS, "one")["status"]["deployers"] == {"ready": 1, "total": 1, "summary": "1/1"}
    assert world.kube.get(REGISTRATIONS, "mock")["status"]["ready"] == "1/1"

    # An event without a change writes nothing.
    mark = world.apiserver.audit.mark()
    world.kube.patch(REGISTRATIONS, "mock", {"metadata": {"labels": {"touched": "1"}}})
    world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"labels": {"touched": "1"}}})
    # A change is one request that also triggers the job, also if the server does not store all of it.
    world.kube.patch(REGISTRATIONS, "mock", {"spec": {"installationTemplate": {
        "importDataMappings": {"values": {"a": 1}}, "imports": {"data": [{"name": "more", "dataRef": "x", "version": "v1"}]}}}})
    updated = world.wait_triggered("mock-one")
    assert updated["spec"]["importDataMappings"]["values"] == {"a": 1}
    assert updated["spec"]["imports"]["data"] == [{"name": "more", "dataRef": "x"}]
    world.finish("mock-one")
    wait_until(lambda: world.kube.get(REGISTRATIONS, "mock")["status"]["observedGeneration"] == 2
               and world.condition(REGISTRATIONS, "mock", "Ready").get("status") == "True", "the status")
    assert [w for w in world.writes(mark, process.user) if "/status" not in w] == ["patch installations"]
    world.kube.patch(REGISTRATIONS, "mock", {"spec": {"installationTemplate": {"imports": None}}})
    world.finish("mock-one")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")

    # Restart: nothing is written.
    assert process.stop() == 0
    mark = world.apiserver.audit.mark()
    process = world.start()
    world.quiet()
    assert [w for w in world.writes(mark, process.user) if "deployerregistrations" not in w and "environments" not in w] == []

    # What is deleted or changed by hand is restored.
    world.kube.delete(BINDINGS, "mock-one")
    wait_until(lambda: world.bindings() == ["mock-one"], "the binding restored")
    world.kube.delete(INSTALLATIONS, "mock-one", world.namespace)
    world.uninstall("mock-one")
    world.finish("mock-one")

    # Removal: permissions exist until the deployer is uninstalled.
    world.kube.delete(REGISTRATIONS, "mock")
    wait_until(lambda: world.installation("mock-one")["metadata"].get("deletionTimestamp"), "the deletion")
    assert world.bindings() == ["mock-one"] and world.accounts() == ["mock-one"]
    world.uninstall("mock-one")
    wait_until(lambda: world.kube.find(REGISTRATIONS, "mock") is None, "the registration to go")
    assert world.left() == ["one"]
    world.kube.delete(ENVIRONMENTS, "one")
    wait_until(lambda: world.kube.get(ENVIRONMENTS, "one")["metadata"]["finalizers"] == [AGENT_FINALIZER], "our finalizer to go")
    assert world.left() == []


def test_deployers_wait_for_each_other_and_are_removed_in_reverse(world):
    """X2, R11: declared needs give the order of installation and removal; lastError is cleared with its reason."""
    world.start()
    world.create(environment("one"))
    world.create(registration("beta", required=["example.com/alpha"]))
    world.wait_condition(REGISTRATIONS, "beta", "Blocked", "True", "DeployerMissing")
    world.create(registration("alpha", required=["example.com/beta"]))
    told = world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "True", "DependencyCycle")
    assert "alpha → example.com/beta (beta) → example.com/alpha (alpha)" in told["message"]
    assert world.kube.get(REGISTRATIONS, "alpha")["status"]["lastError"]["reason"] == "DependencyCycle"
    # A blocked pair does not delay others, and continues when the cycle is resolved.
    world.create(registration("gamma"))
    world.wait_triggered("gamma-one")
    assert world.installation("alpha-one") is None and world.installation("beta-one") is None
    world.kube.patch(REGISTRATIONS, "alpha", {"spec": {"requiredTypes": ["landscaper.gardener.cloud/helm"]}})
    world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "False")
    world.wait_triggered("alpha-one")
    assert world.installation("beta-one") is None
    wait_until(lambda: "lastError" not in world.kube.get(REGISTRATIONS, "alpha")["status"], "lastError cleared")
    world.finish("alpha-one")
    world.finish("beta-one")
    world.finish("gamma-one")
    world.wait_condition(ENVIRONMENTS, "one", "DeployersReady", "True")

    # An Environment that goes: beta before alpha, and users' items before both.
    item = world.kube.create({"apiVersion": LANDSCAPER, "kind": "DeployItem", "metadata": {"name": "users", "namespace": world.namespace},
                              "spec": {"type": "example.com/beta", "config": {"apiVersion": "a/v1", "kind": "B"}}})
    world.kube.patch(DEPLOYITEMS, "users", {"status": {"deployer": {"identity": "beta-one", "name": "beta", "version": "1"}, "phase": "Succeeded", "jobID": "j",
                                                       "observedGeneration": item["metadata"]["generation"]}}, world.namespace, "status")
    world.quiet()
    world.kube.delete(ENVIRONMENTS, "one")
    wait_until(lambda: world.installation("gamma-one")["metadata"].get("deletionTimestamp"), "gamma to be deleted")
    entries = wait_until(lambda: {e["phase"]: e for r in ("alpha", "beta") for e in world.kube.get(REGISTRATIONS, r)["status"]["environments"]
                                  if e["phase"] in ("ServesItems", "NeededByDeployer")}.items() or None, "both held")
    wait_until(lambda: {e["phase"] for r in ("alpha", "beta") for e in world.kube.get(REGISTRATIONS, r)["status"]["environments"]}
               == {"ServesItems", "NeededByDeployer"}, f"both held: {entries}")
    assert not world.installation("beta-one")["metadata"].get("deletionTimestamp")
    world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"annotations": {FORCE: "true"}}})
    world.uninstall("beta-one")
    world.uninstall("alpha-one")
    world.uninstall("gamma-one")
    wait_until(lambda: world.kube.find(ENVIRONMENTS, "one") is None, "the environment to go")
    assert world.left() == []


def test_objects_of_v098_are_adopted_without_a_write(world):
    """Also an Installation of another name, found by its labels."""
    world.create(environment("default"))
    world.kube.patch(ENVIRONMENTS, "default", {"metadata": {"finalizers": [AGENT_FINALIZER, MANAGEMENT_FINALIZER]}})
    made = world.create(registration("mock"))
    world.kube.patch(REGISTRATIONS, "mock", {"metadata": {"finalizers": [MANAGEMENT_FINALIZER]}})
    uid = world.kube.get(ENVIRONMENTS, "default")["metadata"]["uid"]
    base = {"apiVersion": LANDSCAPER, "metadata": {"namespace": world.namespace}}
    spec = made["spec"]["installationTemplate"]
    installation = world.kube.create({**base, "kind": "Installation", "metadata": {
        "name": "adopted", "namespace": world.namespace, "finalizers": [MANAGEMENT_FINALIZER, LANDSCAPER_FINALIZER],
        "labels": {"deployers.landscaper.gardener.cloud/environment": "default",
                   "deployers.landscaper.gardener.cloud/deployer-registration": "mock"}},
        "spec": {"componentDescriptor": spec["componentDescriptor"], "blueprint": spec["blueprint"],
                 "imports": {"targets": [{"name": "cluster", "target": "#default"}, {"name": "landscaperCluster", "target": "#mock-default"}]},
                 "importDataMappings": {"values": {}, "identity": "mock-default", "releaseName": "mock-default", "releaseNamespace": "ls-system",
                                        "targetSelectors": environment("default")["spec"]["targetSelectors"]}}})
    owner = [{"apiVersion": LANDSCAPER, "kind": "Installation", "name": "adopted", "uid": installation["metadata"]["uid"]}]
    host = environment("default")["spec"]["hostTarget"]
    world.kube.create({**base, "kind": "Target", "metadata": {
        "name": "default", "namespace": world.namespace, "annotations": host["annotations"],
        "ownerReferences": [{"apiVersion": LANDSCAPER, "kind": "Environment", "name": "default", "uid": uid}]},
        "spec": {"type": host["type"], "secretRef": host["secretRef"]}})
    config = {"clusters": [{"name": "default", "cluster": {"server": "https://landscaper.example:6443",
                                                           "certificate-authority-data": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="}}],
              "users": [{"name": "default", "user": {"token": "old"}}]}
    world.kube.create({**base, "kind": "Target", "metadata": {"name": "mock-default", "namespace": world.namespace, "ownerReferences": owner},
                       "spec": {"type": host["type"], "config": {"kubeconfig": yaml.safe_dump(config)}}})
    world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount",
                       "metadata": {"name": "mock-default", "namespace": world.namespace, "ownerReferences": owner}})
    world.kube.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "mock-default"},
                       "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "landscaper:deployer"},
                       "subjects": [{"kind": "ServiceAccount", "name": "mock-default", "namespace": world.namespace}]})
    mark = world.apiserver.audit.mark()
    process = world.start()
    world.wait_condition(REGISTRATIONS, "mock", "Blocked", "False")
    world.quiet()
    ours = [w for w in world.writes(mark, process.user) if "deployerregistrations" not in w and "environments/status" not in w]
    assert ours == []
    # They also go like ours.
    world.kube.delete(REGISTRATIONS, "mock")
    world.uninstall("adopted")
    wait_until(lambda: world.kube.find(REGISTRATIONS, "mock") is None, "the registration to go")
    assert world.left() == ["default"]


def test_names_that_collide_and_foreign_objects(world):
    """N1, N3, R2, R3: pairs with the same plain name get different ones; an object of somebody else is never written."""
    world.create(registration("a-b"))
    world.create(registration("a"))
    world.create(environment("c"))
    world.create(environment("b-c"))
    foreign = world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a-c", "namespace": world.namespace}})
    world.start()
    wait_until(lambda: len(world.kube.items(INSTALLATIONS, world.namespace)) == 3, "three Installations")
    names = sorted(i["metadata"]["name"] for i in world.kube.items(INSTALLATIONS, world.namespace))
    assert names[0].startswith("a-b-b-c") and all(n.startswith("a-b-c-") for n in names[1:]), names
    told = wait_until(lambda: [e for e in world.kube.get(REGISTRATIONS, "a").get("status", {}).get("environments", [])
                               if e["phase"] == "NameConflict"], "the conflict")
    assert "a-c exists and does not belong" in told[0]["message"]
    assert world.kube.get("serviceaccounts", "a-c", world.namespace)["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    for name in names:
        world.finish(name)
    # Both halves of a pair that could not be made can be deleted.
    for name in ("c", "b-c"):
        world.kube.delete(ENVIRONMENTS, name)
    for name in names:
        world.uninstall(name)
    wait_until(lambda: not world.kube.find(ENVIRONMENTS, "c") and not world.kube.find(ENVIRONMENTS, "b-c"), "the environments to go")
    world.kube.delete(REGISTRATIONS, "a")
    wait_until(lambda: world.kube.find(REGISTRATIONS, "a") is None, "the registration to go")
    assert world.left() == ["a-c"]


def test_a_crash_at_every_request(world, killer):
    """Killed before or after every request of creation and deletion: one pair is made, once, and nothing is left behind."""
    def start():
        killer.controller = world.start(proxy=world.proxy)
        killer.controller.expected = False

    start()
    for number in range(1, 60):
        env = f"env-{number}"
        name = f"mock-{env}"
        killer.arm(number)
        world.create(environment(env))
        world.create(registration("mock"))
        crashed = cycle(world, killer, name, env, start)
        assert world.left() == [], killer.seen
        if not crashed:
            assert len(killer.seen) > 12, killer.seen
            break
    else:
        raise AssertionError("it did not complete")


def cycle(world, killer, name, env, start):
    """Installs and removes the pair; restarts the program if it was killed. Returns whether it was."""
    crashed = False

    def reached(condition, what):
        nonlocal crashed
        wait_until(lambda: killer.has_killed.is_set() and not crashed or condition(), what)
        if killer.has_killed.is_set() and not crashed:
            crashed = True
            world.killed(killer.controller)
            start()
            wait_until(condition, f"{what} after {killer.seen}")

    reached(lambda: world.installation(name) is not None, "the Installation")
    world.finish(name)
    reached(lambda: world.condition(REGISTRATIONS, "mock", "Ready").get("status") == "True", "ready")
    assert world.installation(name)["metadata"]["generation"] == 1
    world.kube.delete(REGISTRATIONS, "mock")
    reached(lambda: world.installation(name)["metadata"].get("deletionTimestamp"), "the deletion")
    world.uninstall(name)
    reached(lambda: world.kube.find(REGISTRATIONS, "mock") is None, "the registration to go")
    world.kube.delete(ENVIRONMENTS, env)
    reached(lambda: world.kube.find(ENVIRONMENTS, env) is None, "the environment to go")
    if not crashed:
        killer.left = None
    return crashed
