# SPDX-License-Identifier: Apache-2.0
"""Known faults of Landscaper's deployer management up to v0.98, and what we do instead. README.md maps the numbers to tests."""

import base64
import copy
import json
import threading

import pytest
import yaml

from bench import crds
from bench.kube import DEPLOYITEMS, LANDSCAPER, TARGETS, ApiError
from bench.waiting import wait_until
from controller_harness import WITHOUT_UNINSTALL
from faults.clock import HOUR, Clock
from faults.proxy import PASS, Action
from registrations_harness import (AGENT_FINALIZER, BINDINGS, DEFINITIONS, DEPLOYER_ONLY, ENVIRONMENT_ANNOTATION, ENVIRONMENTS, HELM,
                                   INSTALLATION_DEFINITION, INSTALLATIONS, LEASES, MANAGEMENT_FINALIZER, REGISTRATIONS, RegistrationsWorld,
                                   environment, registration)

DAY = 24 * HOUR
OURS = "longshore.deployers.landscaper.gardener.cloud"
REQUESTED, EXPIRES = f"{OURS}/token-requested", f"{OURS}/token-expires"


def claims(world, target):
    config = yaml.safe_load(world.kube.get(TARGETS, target, world.namespace)["spec"]["config"]["kubeconfig"])
    return json.loads(base64.urlsafe_b64decode(config["users"][0]["user"]["token"].split(".")[1] + "=="))


def item(world, name, type_name, execution, target="one", identity=None):
    """A DeployItem that Landscaper has made for an Installation."""
    world.kube.create({"apiVersion": LANDSCAPER, "kind": "DeployItem",
                       "metadata": {"name": name, "namespace": world.namespace,
                                    "labels": {"execution.landscaper.gardener.cloud/managed-by": execution}},
                       "spec": {"type": type_name, "target": {"name": target, "namespace": world.namespace},
                                "config": {"apiVersion": "a/v1", "kind": "B"}}})
    if identity:
        world.kube.patch(DEPLOYITEMS, name, {"status": {"deployer": {"identity": identity, "name": "d", "version": "1"}, "phase": "Succeeded",
                                                        "jobID": "j", "observedGeneration": 1}}, world.namespace, "status")


def entry(world, name, env="one"):
    found = [e for e in world.kube.get(REGISTRATIONS, name).get("status", {}).get("environments", []) if e["name"] == env]
    return found[0] if found else {}


def wait_phase(world, name, phase, env="one"):
    return wait_until(lambda: entry(world, name, env).get("phase") == phase and entry(world, name, env), f"{name} {phase}")


def test_tokens_are_short_lived_and_renewed(world):
    """S2: no Secret of an account, a token for as long as configured, renewed at half of its life, which restarts the deployer once.
    A clock that was set back by a day renews it once, too."""
    process = world.start("--token-seconds=3600")
    world.create(environment("one"))
    world.create(registration("mock", importDataMappings={"values": {"podAnnotations": {"mine": "1"}}}))
    world.finish("mock-one")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
    first = claims(world, "mock-one")
    assert first["exp"] - first["iat"] == 3600
    assert [s for s in world.kube.items("secrets", world.namespace) if s["type"] == "kubernetes.io/service-account-token"] == []

    for number, (requested, expires) in enumerate([("2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z"),
                                                   ("2099-01-01T00:00:00Z", "2099-01-01T01:00:00Z"),
                                                   ("no time", "at all")], 1):
        mark = world.apiserver.audit.mark()
        world.kube.patch(TARGETS, "mock-one", {"metadata": {"annotations": {REQUESTED: requested, EXPIRES: expires}}}, world.namespace)
        renewed = world.wait_triggered("mock-one")
        assert renewed["spec"]["importDataMappings"]["values"]["podAnnotations"] == {"mine": "1", f"{OURS}/token-renewals": str(number)}
        world.finish("mock-one")
        world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
        world.quiet()
        writes = [w for w in world.writes(mark, process.user) if "deployerregistrations" not in w and "environments" not in w]
        assert writes == ["create serviceaccounts/token", "update targets", "patch installations"]
    assert claims(world, "mock-one")["jti"] != first["jti"]


def test_a_renewal_survives_an_outage_of_an_hour_and_a_clock_that_is_wrong_by_a_day(world):
    """S2: the clocks of the program are moved forward by days. A token lives for 90 days and is renewed after 45. At that time the API
    server cannot be reached for an hour, and meanwhile the wall clock is set forward or back by a day. Nothing is lost or done twice."""
    clock, is_away = Clock(), threading.Event()
    clock.jump(DAY)

    def plan(_):
        return Action(forward=False, lose=True) if is_away.is_set() else PASS

    with world.behind_proxy(plan) as proxy:
        process = world.start(proxy=proxy, env=clock.environment)
        world.create(environment("one"))
        world.create(registration("mock"))
        world.finish("mock-one")
        world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
        for number, correction in enumerate((-DAY, DAY), 1):
            first = claims(world, "mock-one")
            assert first["exp"] - first["iat"] == 90 * DAY
            clock.advance(43 * DAY)
            world.quiet()
            assert claims(world, "mock-one")["jti"] == first["jti"], "renewed too early"
            is_away.set()
            proxy.cut()
            clock.advance(4 * DAY - HOUR)
            for _ in range(2):
                seen = len(proxy.requests)
                wait_until(lambda: len(proxy.requests) > seen, "attempts during the outage")
                clock.advance(HOUR // 2)
            clock.jump(correction)
            assert process.running and claims(world, "mock-one")["jti"] == first["jti"]
            is_away.clear()
            world.wait_triggered("mock-one")
            annotations = world.kube.get(TARGETS, "mock-one", world.namespace)["metadata"]["annotations"]
            assert annotations[f"{OURS}/token-renewals"] == str(number) and claims(world, "mock-one")["jti"] != first["jti"]
            world.finish("mock-one")
            world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")


def test_with_access_by_the_agent_no_token_is_stored(world):
    """S5: account and binding are made, the agent requests the token. A Target of the pair that exists already is removed."""
    process = world.start()
    agent = environment("one")
    agent["metadata"]["annotations"] = {f"{OURS}/access": "agent"}
    world.create(agent)
    mark = world.apiserver.audit.mark()
    world.create(registration("mock"))
    made = world.wait_triggered("mock-one")
    assert made["spec"]["imports"]["targets"] == [{"name": "cluster", "target": "#one"}]
    assert world.targets() == ["one"] and world.accounts() == ["mock-one"] and world.bindings() == ["mock-one"]
    assert "create serviceaccounts/token" not in world.writes(mark, process.user)
    labels = world.kube.get("serviceaccounts", "mock-one", world.namespace)["metadata"]["labels"]
    assert labels["deployers.landscaper.gardener.cloud/environment"] == "one"
    world.finish("mock-one")
    world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"annotations": {f"{OURS}/access": None}}})
    world.finish("mock-one")
    wait_until(lambda: sorted(world.targets()) == ["mock-one", "one"], "the Target")
    world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"annotations": {f"{OURS}/access": "agent"}}})
    world.finish("mock-one")
    wait_until(lambda: world.targets() == ["one"], "the Target to go")


def test_an_expression_of_an_agent_reaches_no_installation(make_apiserver):
    """S6: also in an Environment that the definition of v0.98 has accepted."""
    server = make_apiserver()
    lax = copy.deepcopy(crds.load(DEFINITIONS))
    for definition in lax:
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
            "type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crds.install(server.kube, lax + [INSTALLATION_DEFINITION])
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "deployers"}})
    world = RegistrationsWorld(server, "deployers")
    try:
        world.start()
        world.create(registration("mock"))
        bad = [{"namespace": '(( read("/etc/passwd") ))'},
               {"targetSelectors": [{"annotations": [{"key": "a", "operator": "=", "values": ["x", "((!y))"]}]}]},
               {"targetSelectors": [{"annotations": [{"key": "a", "operator": "(( x ))"}]}]},
               {"targetSelectors": [{"annotations": [{"key": "a", "operator": "exists", "((x))": 1}]}]},
               {"targetSelectors": [{"targets": [{"name": "((n))"}]}]},
               {"targetSelectors": [{"annotations": [{"key": "a", "operator": "=", "values": ["{{ .imports }}"]}]}]}]
        for number, spec in enumerate(bad):
            world.create(environment(f"bad-{number}", **spec))
        world.create(environment("good"))
        for number in range(len(bad)):
            world.wait_condition(ENVIRONMENTS, f"bad-{number}", "Valid", "False", "Invalid")
        world.wait_triggered("mock-good")
        world.quiet()
        found = world.kube.items(INSTALLATIONS, world.namespace)
        assert [i["metadata"]["name"] for i in found] == ["mock-good"] and "((" not in json.dumps(found[0]["spec"])
    finally:
        world.close()


def test_events_and_a_restart_write_nothing(world):
    """R1: labels, finalizers and annotations of others start no job; a restart writes nothing at all."""
    process = world.start()
    world.create(environment("one"))
    world.create(registration("mock"))
    world.finish("mock-one")
    world.wait_condition(ENVIRONMENTS, "one", "DeployersReady", "True")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
    mark = world.apiserver.audit.mark()
    for resource, name in ((ENVIRONMENTS, "one"), (REGISTRATIONS, "mock")):
        world.kube.patch(resource, name, {"metadata": {"labels": {"touched": "1"}, "annotations": {"a": "b"},
                                                       "finalizers": ["example.com/other", MANAGEMENT_FINALIZER]}})
    world.kube.patch(INSTALLATIONS, "mock-one", {"metadata": {"labels": {"touched": "1"}}}, world.namespace)
    world.quiet()
    assert [w for w in world.writes(mark, process.user) if "installations" in w or "targets" in w or "accounts" in w or "bindings" in w] == []
    world.wait_counted("one", "1/1")
    assert process.stop() == 0
    mark = world.apiserver.audit.mark()
    process = world.start()
    wait_until(lambda: "all environments evaluated" in process.output(), "the first evaluation")
    wait_until(lambda: "statuses compared" in process.output(), "the first report")
    assert world.writes(mark, process.user) == []
    # A list may be repeated on a busy machine.
    assert len({e["requestURI"].partition("?")[0] for e in world.apiserver.audit.entries(mark, user=process.user) if e["verb"] == "list"}) <= 8
    for resource, name in ((ENVIRONMENTS, "one"), (REGISTRATIONS, "mock")):
        world.kube.patch(resource, name, {"metadata": {"finalizers": [MANAGEMENT_FINALIZER]}})


def test_a_long_name_gets_a_hash_and_delays_nobody(world):
    """N2, R2, R3: names up to the limit of Kubernetes work; both halves can be deleted."""
    world.start()
    long_name = "r" + "-with-a-long-name" * 12
    world.create(environment("one"))
    world.create(registration(long_name))
    world.create(registration("short"))
    world.finish("short-one")
    [name] = wait_until(lambda: [i["metadata"]["name"] for i in world.kube.items(INSTALLATIONS, world.namespace)
                                 if i["metadata"]["name"] != "short-one"] or None, "the long one")
    assert len(name) <= 58
    assert world.installation(name)["metadata"]["annotations"][f"{OURS}/registration"] == long_name
    world.finish(name)
    world.wait_condition(ENVIRONMENTS, "one", "DeployersReady", "True")
    world.kube.delete(REGISTRATIONS, long_name)
    world.uninstall(name)
    wait_until(lambda: world.kube.find(REGISTRATIONS, long_name) is None, "the registration to go")


def test_what_is_deleted_or_changed_by_hand_is_restored(world):
    """R5, R9: Installation, binding, account and Targets."""
    world.start()
    world.create(environment("one"))
    world.create(registration("mock"))
    world.finish("mock-one")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
    world.kube.patch(BINDINGS, "mock-one", {"subjects": []})
    wait_until(lambda: world.kube.get(BINDINGS, "mock-one").get("subjects"), "the subject")
    world.kube.patch(TARGETS, "one", {"metadata": {"annotations": {DEPLOYER_ONLY: None}}}, world.namespace)
    wait_until(lambda: DEPLOYER_ONLY in world.kube.get(TARGETS, "one", world.namespace)["metadata"]["annotations"], "the annotation")
    world.kube.patch(TARGETS, "mock-one", {"spec": {"config": {"kubeconfig": "broken"}}}, world.namespace)
    wait_until(lambda: "token" in world.kube.get(TARGETS, "mock-one", world.namespace)["spec"]["config"]["kubeconfig"], "the kubeconfig")
    world.finish("mock-one")  # with the new token
    world.kube.delete("serviceaccounts", "mock-one", world.namespace)
    wait_until(lambda: world.accounts() == ["mock-one"], "the account")
    world.kube.delete(TARGETS, "mock-one", world.namespace)
    wait_until(lambda: "mock-one" in world.targets(), "the Target")
    world.finish("mock-one")
    world.kube.delete(INSTALLATIONS, "mock-one", world.namespace)
    world.uninstall("mock-one")
    world.wait_triggered("mock-one")


def test_orphans_are_collected(world):
    """R13, R12: halves that vanished while nobody looked. Objects without our marks stay."""
    process = world.start()
    for name in ("one", "two"):
        world.create(environment(name))
    for name in ("mock", "other"):
        world.create(registration(name))
    names = ["mock-one", "mock-two", "other-one", "other-two"]
    for name in names:
        world.finish(name)
    world.wait_condition(REGISTRATIONS, "other", "Ready", "True")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
    assert process.stop() == 0
    for resource, name in ((ENVIRONMENTS, "two"), (REGISTRATIONS, "other")):
        world.kube.patch(resource, name, {"metadata": {"finalizers": None}})
        world.kube.delete(resource, name)
    foreign = world.kube.create({"apiVersion": LANDSCAPER, "kind": "Installation", "metadata": {"name": "foreign", "namespace": world.namespace},
                                 "spec": {}})
    world.start()
    for name in names[1:]:
        world.uninstall(name)
    wait_until(lambda: sorted(world.left()) == ["foreign", "mock-one", "mock-one", "mock-one", "mock-one", "one", "two"], "the orphans to go")
    assert world.installation("foreign")["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    world.kube.delete(TARGETS, "two", world.namespace)  # the garbage collector of Kubernetes does this


def test_a_job_that_found_no_deployer_is_repeated_when_there_is_one(world):
    """R6, D2: needs are seen in the items. The pickup timeout ends the job before the provider is ready."""
    world.start()
    world.create(environment("one"))
    world.create(registration("beta"))
    world.create(registration("alpha"))
    item(world, "alpha-item", "example.com/beta", "alpha-one")
    world.finish("alpha-one", phase="Failed")
    wait_phase(world, "alpha", "WaitingForDeployer")
    waiting = world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "False", "WaitingForDeployer")
    assert "beta" in waiting["message"]
    world.finish("beta-one")
    world.finish("alpha-one")
    world.wait_condition(REGISTRATIONS, "alpha", "Ready", "True")
    # A job that fails for another reason is not repeated.
    world.kube.patch(REGISTRATIONS, "alpha", {"spec": {"installationTemplate": {"importDataMappings": {"values": {"a": 2}}}}})
    world.finish("alpha-one", phase="Failed")
    world.quiet()
    assert "landscaper.gardener.cloud/operation" not in world.installation("alpha-one")["metadata"].get("annotations", {})


def test_blocked_jobs_are_interrupted_and_continue(world):
    """D1, D2, D3: no deployer, a cycle and a selector that misses, seen in the items of a running job, also in a sub-installation."""
    world.start()
    world.create(environment("one"))
    world.create(registration("alpha"))
    made = world.wait_triggered("alpha-one")
    world.kube.patch(INSTALLATIONS, "alpha-one", {"metadata": {"annotations": {"landscaper.gardener.cloud/operation": None}}}, world.namespace)
    world.kube.patch(INSTALLATIONS, "alpha-one", {"status": {"phase": "Progressing", "jobID": "job-1", "observedGeneration": 1}},
                     world.namespace, "status")
    world.kube.create({"apiVersion": LANDSCAPER, "kind": "Installation", "spec": {}, "metadata": {
        "name": "sub", "namespace": world.namespace, "ownerReferences": [{
            "apiVersion": LANDSCAPER, "kind": "Installation", "name": "alpha-one", "uid": made["metadata"]["uid"]}]}})
    # The Target of a sub-installation is a copy with the same annotations.
    copied = environment("one")["spec"]["hostTarget"]["annotations"]
    world.kube.create({"apiVersion": LANDSCAPER, "kind": "Target", "metadata": {"name": "hashed", "namespace": world.namespace, "annotations": copied},
                       "spec": {"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {}}})
    item(world, "of-sub", "example.com/beta", "sub", target="hashed")
    told = world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "True", "DeployerMissing")
    assert "example.com/beta" in told["message"]
    assert world.wait_condition(ENVIRONMENTS, "one", "DeployersReady", "False", "DeployerMissing")["message"] in f"alpha: DeployerMissing: {told['message']}"
    world.wait_triggered("alpha-one", "interrupt")

    # Landscaper ends the job. A provider that needs alpha makes it a cycle, and one that does not resolves it.
    world.kube.patch(INSTALLATIONS, "alpha-one", {"metadata": {"annotations": {"landscaper.gardener.cloud/operation": None}}}, world.namespace)
    world.kube.patch(INSTALLATIONS, "alpha-one", {"status": {"phase": "Failed", "jobIDFinished": "job-1"}}, world.namespace, "status")
    world.create(registration("beta", required=["example.com/alpha"]))
    told = world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "True", "DependencyCycle")
    assert "alpha → example.com/beta (beta) → example.com/alpha (alpha)" in told["message"]
    world.kube.patch(REGISTRATIONS, "beta", {"spec": {"requiredTypes": [HELM]}})
    world.finish("beta-one")
    world.finish("alpha-one")
    world.wait_condition(ENVIRONMENTS, "one", "DeployersReady", "True")

    # Selectors that miss the host Target.
    world.kube.patch(ENVIRONMENTS, "one", {"spec": {"targetSelectors": [{"annotations": [{"key": ENVIRONMENT_ANNOTATION, "operator": "=",
                                                                                         "values": ["another"]}]}]}})
    told = world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "True", "SelectorMismatch")
    assert "beta" in told["message"]


def test_base_types_unblock_an_interrupted_job(world):
    """D2: the agent serves the missing type later. The job continues although no provider has changed."""
    world.start()
    world.create(environment("one"))
    world.create(registration("alpha"))
    item(world, "alpha-item", "example.com/own", "alpha-one")
    world.wait_triggered("alpha-one")
    world.kube.patch(INSTALLATIONS, "alpha-one", {"metadata": {"annotations": {"landscaper.gardener.cloud/operation": None}}}, world.namespace)
    world.kube.patch(INSTALLATIONS, "alpha-one", {"status": {"phase": "Progressing", "jobID": "job-1", "observedGeneration": 1}},
                     world.namespace, "status")
    world.wait_triggered("alpha-one", "interrupt")
    world.kube.patch(INSTALLATIONS, "alpha-one", {"metadata": {"annotations": {"landscaper.gardener.cloud/operation": None}}}, world.namespace)
    world.kube.patch(INSTALLATIONS, "alpha-one", {"status": {"phase": "Failed", "jobIDFinished": "job-1"}}, world.namespace, "status")
    world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "True", "DeployerMissing")
    world.kube.patch(ENVIRONMENTS, "one", {"status": {"agent": {"types": ["example.com/own"]}}}, subresource="status")
    world.finish("alpha-one")
    world.wait_condition(REGISTRATIONS, "alpha", "Ready", "True")


def test_a_cycle_of_installed_deployers_is_reported_when_they_are_to_be_removed(world):
    """X2: a cycle that an update introduced has no order. Both stay until one is deleted without uninstalling."""
    world.start()
    world.create(environment("one"))
    world.create(registration("alpha", required=[HELM]))
    world.finish("alpha-one")
    world.create(registration("beta", required=["example.com/alpha"]))
    world.finish("beta-one")
    world.kube.patch(REGISTRATIONS, "alpha", {"spec": {"requiredTypes": ["example.com/beta"]}})
    world.wait_condition(REGISTRATIONS, "alpha", "Blocked", "True", "DependencyCycle")
    for name in ("alpha", "beta"):
        world.kube.delete(REGISTRATIONS, name)
    held = wait_phase(world, "alpha", "DeletionCycle")
    assert "delete-without-uninstall" in held["message"]
    wait_phase(world, "beta", "DeletionCycle")
    world.quiet()
    assert not any(i["metadata"].get("deletionTimestamp") for i in world.kube.items(INSTALLATIONS, world.namespace))
    world.kube.patch(INSTALLATIONS, "alpha-one", {"metadata": {"annotations": {WITHOUT_UNINSTALL: "true"}}}, world.namespace)
    world.kube.delete(INSTALLATIONS, "alpha-one", world.namespace)
    world.uninstall("alpha-one")
    world.uninstall("beta-one")
    wait_until(lambda: not world.kube.find(REGISTRATIONS, "alpha") and not world.kube.find(REGISTRATIONS, "beta"), "both to go")


def test_a_deployer_that_serves_items_is_kept_unless_forced(world):
    """X1, X3: the number of items is reported; permissions exist until the deployer is uninstalled."""
    world.start()
    world.create(environment("one"))
    world.create(registration("mock"))
    world.finish("mock-one")
    for number in range(3):
        item(world, f"users-{number}", "example.com/mock", "users", identity="mock-one")
    world.quiet()
    world.kube.delete(REGISTRATIONS, "mock")
    assert "3 DeployItems" in wait_phase(world, "mock", "ServesItems")["message"]
    assert not world.installation("mock-one")["metadata"].get("deletionTimestamp")
    world.kube.delete(DEPLOYITEMS, "users-0", world.namespace)
    wait_until(lambda: "2 DeployItems" in entry(world, "mock").get("message", ""), "the new number")
    world.kube.patch(REGISTRATIONS, "mock", {"metadata": {"annotations": {f"{OURS}/force-removal": "true"}}})
    wait_until(lambda: world.installation("mock-one")["metadata"].get("deletionTimestamp"), "the deletion")
    assert world.bindings() == ["mock-one"] and world.accounts() == ["mock-one"]
    world.uninstall("mock-one")
    wait_until(lambda: world.kube.find(REGISTRATIONS, "mock") is None, "the registration to go")
    assert world.left() == ["one"]


def test_an_environment_whose_cluster_is_gone_leaves_nothing(world):
    """S7, R8: with the annotation, deployers are deleted without uninstalling, and the part of the silent agent is done for it. Secrets
    and Leases of others stay, whatever the agent has written."""
    world.start()
    dead = environment("one")
    dead["spec"]["hostTarget"]["secretRef"]["name"] = "precious"
    dead["metadata"]["finalizers"] = [AGENT_FINALIZER]
    world.create(dead)
    for name in ("precious", "one-target-access"):
        world.secret(name, {"kubeconfig": "x"})
    world.beat("one", 1)
    world.beat("one", 2)
    world.create(registration("alpha"))
    world.create(registration("beta", required=["example.com/alpha"]))
    world.finish("alpha-one")
    world.finish("beta-one")
    world.wait_condition(ENVIRONMENTS, "one", "AgentReady", "True")
    world.kube.patch(ENVIRONMENTS, "one", {"metadata": {"annotations": {WITHOUT_UNINSTALL: "true"}}})
    world.kube.delete(ENVIRONMENTS, "one")
    for name in ("alpha-one", "beta-one"):
        wait_until(lambda: world.installation(name)["metadata"]["annotations"].get(WITHOUT_UNINSTALL) == "true", "the mark")
        world.uninstall(name)
    # The agent is alive: it does its part itself.
    wait_until(lambda: world.kube.get(ENVIRONMENTS, "one")["metadata"]["finalizers"] == [AGENT_FINALIZER] and world.targets() == [], "our part")
    assert world.kube.find("secrets", "one-target-access", world.namespace)
    world.beat("one", 3, seconds=1)
    wait_until(lambda: world.kube.find(ENVIRONMENTS, "one") is None, "the environment to go")
    assert world.left() == [] and not world.kube.find(LEASES, "one", world.namespace)
    assert [s["metadata"]["name"] for s in world.kube.items("secrets", world.namespace)] == ["precious"]


def test_an_environment_of_another_owner_is_never_written(world):
    """N3, R3: the name of a host Target that somebody else uses is reported as a condition; the Environment can be deleted."""
    world.start()
    foreign = world.kube.create({"apiVersion": LANDSCAPER, "kind": "Target", "metadata": {"name": "taken", "namespace": world.namespace},
                                 "spec": {"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {}}})
    world.create(environment("taken"))
    told = world.wait_condition(ENVIRONMENTS, "taken", "Valid", "False", "NameConflict")
    assert f"{world.namespace}/taken" in told["message"]
    assert world.kube.get(TARGETS, "taken", world.namespace)["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    world.kube.delete(TARGETS, "taken", world.namespace)
    world.wait_condition(ENVIRONMENTS, "taken", "Valid", "True")
    wait_until(lambda: world.targets() == ["taken"], "our Target")


def test_an_agent_cannot_write_the_status_of_another_field_manager(world):
    """O1: our conditions and what the agent writes into the same status do not replace each other."""
    world.start()
    world.create(environment("one"))
    world.wait_condition(ENVIRONMENTS, "one", "Valid", "True")
    world.kube.apply({"apiVersion": LANDSCAPER, "kind": "Environment", "metadata": {"name": "one", "annotations": {"a": "b"}},
                      "spec": environment("one")["spec"]})
    with pytest.raises(ApiError):
        world.kube.patch(ENVIRONMENTS, "one", {"status": {"conditions": [{"type": "Valid"}]}}, subresource="status")
    world.kube.patch(ENVIRONMENTS, "one", {"status": {"agent": {"version": "v1"}}}, subresource="status")
    world.create(registration("mock"))
    wait_until(lambda: world.kube.get(ENVIRONMENTS, "one")["status"]["deployers"]["total"] == 1, "our status")
    assert world.kube.get(ENVIRONMENTS, "one")["status"]["agent"]["version"] == "v1"
