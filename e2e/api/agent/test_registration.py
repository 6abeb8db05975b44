# SPDX-License-Identifier: Apache-2.0
"""An agent registers its cluster, keeps everything as it should be, and stays quiet otherwise."""

import yaml

from agent_harness import CHART, EVERYTHING, PREFIX, RBAC, claims_of, value
from bench.kube import LANDSCAPER, ApiError
from bench.waiting import wait_until
from registrations_harness import AGENT_FINALIZER, ENVIRONMENTS


def test_the_life_of_a_registration(world):
    """S1, S2, S3, R9, R10, O1-O4: registered with its own permissions only, repaired, unchanged by a restart."""
    marks = world.marks()
    agent = world.start()
    environment = world.environment()
    assert environment["metadata"]["finalizers"] == [AGENT_FINALIZER]
    spec = environment["spec"]
    assert spec["namespace"] == world.namespace and spec["landscaperClusterConfig"]["host"] == world.landscaper.server
    assert spec["hostTarget"]["secretRef"] == {"name": f"{world.name}-target-access", "key": "kubeconfig"}
    assert spec["hostTarget"]["annotations"] == {"landscaper.gardener.cloud/environment": world.name,
                                                 "landscaper.gardener.cloud/deployer-only": "true"}
    assert spec["targetSelectors"][0]["annotations"][0]["values"] == [world.name]
    kube_system = world.host.get("namespaces", "kube-system")["metadata"]["uid"]
    told = environment["status"]["agent"]
    assert told["clusterID"] == kube_system and told["leaseName"] == world.name and told["identity"] == "agent-pod" and told["version"]
    assert world.lease()["spec"]["leaseDurationSeconds"] == 40
    assert not world.refused(marks)

    # S1: the published token is that of the host account. S2: it expires, and so does the agent's own.
    config = yaml.safe_load(value(world.target_secret(), "kubeconfig"))
    assert config["clusters"][0]["cluster"]["server"] == world.managed.server
    host, own = claims_of(world.host_token()), claims_of(value(world.own_secret(), "token"))
    assert host["sub"] == f"system:serviceaccount:{world.namespace}:deployer-{world.name}" and host["exp"] - host["iat"] == 86400
    assert own["sub"] == world.account and own["exp"] - own["iat"] == 86400
    for kube in (world.ls, world.host):
        assert not [s for s in kube.items("secrets", world.namespace) if s["type"] == "kubernetes.io/service-account-token"]
    # S3: it is no administrator, but can install deployers in its namespace.
    deployer = world.managed.token_client(world.host_token())
    deployer.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a-deployer", "namespace": world.namespace}})
    world.host.delete("serviceaccounts", "a-deployer", world.namespace)
    for namespace, rules in (("default", EMPTY), (None, EVERYTHING)):
        try:
            deployer.create({"apiVersion": RBAC, "kind": "Role" if namespace else "ClusterRole", "rules": rules,
                             "metadata": {"name": "forbidden", **({"namespace": namespace} if namespace else {})}})
            raise AssertionError("created")
        except ApiError as error:
            assert error.status == 403

    # The defaults of program and chart are the same.
    rules = yaml.safe_load((CHART / "values.yaml").read_text())["agent"]["hostRules"]
    assert world.host.get(f"{RBAC}/roles", f"deployer-{world.name}", world.namespace)["rules"] == rules["namespace"]
    assert world.host.get(f"{RBAC}/clusterroles", f"landscaper:agent:deployer:{world.name}")["rules"] == rules["cluster"]

    # A restart writes nothing.
    assert agent.stop() == 0
    marks = world.marks()
    agent = world.start()
    assert not world.writes(marks)

    # R9: what is changed or deleted by hand is restored.
    for damage in (
            lambda: world.host.delete(f"{RBAC}/roles", f"deployer-{world.name}", world.namespace),
            lambda: world.host.patch(f"{RBAC}/clusterroles", f"landscaper:agent:deployer:{world.name}", {"rules": EVERYTHING}),
            lambda: world.host.delete("serviceaccounts", f"deployer-{world.name}", world.namespace),
            lambda: replace_role(world),
            lambda: world.ls.delete("secrets", f"{world.name}-target-access", world.namespace),
            lambda: world.ls.patch(ENVIRONMENTS, world.name, {"spec": {"namespace": "elsewhere"}})):
        before = picture(world)
        damage()
        wait_until(lambda: picture(world) == before, "the damage repaired")

    # R10: a second agent of this cluster stands by, and takes over at once when the first stops.
    marks = world.marks()
    second = world.start(env={"MY_POD_NAME": "second"}, waits=False)
    wait_until(lambda: '"rule":"candidate"' in second.output(), "the second agent stands by")
    assert not world.writes(marks)
    assert agent.stop() == 0
    second.wait_until(lambda: '"msg":"registered"' in second.output(), "the second agent takes over")
    assert world.writes(marks) == ["patch environments/status"]


EMPTY = []


def replace_role(world):
    """Another role for the host account: only a new binding can repair it."""
    name = f"landscaper:agent:deployer:{world.name}"
    world.host.delete(f"{RBAC}/clusterrolebindings", name)
    try:
        world.host.create({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": []})
    except ApiError as error:
        assert error.status == 409  # the agent was faster


def picture(world):
    """Everything that the agent is responsible for, without versions and tokens."""
    role = world.host.find(f"{RBAC}/roles", f"deployer-{world.name}", world.namespace) or {}
    cluster_role = world.host.find(f"{RBAC}/clusterroles", f"landscaper:agent:deployer:{world.name}") or {}
    binding = world.host.find(f"{RBAC}/clusterrolebindings", f"landscaper:agent:deployer:{world.name}") or {}
    return (world.host_objects(), role.get("rules"), cluster_role.get("rules"), binding.get("roleRef"), binding.get("subjects"),
            world.environment()["spec"], world.target_secret() is not None)


def test_an_environment_of_another_cluster_is_not_taken_over(world):
    """R10: refused with both clusters named, without a write and without touching the heartbeat, until a person moves it."""
    world.ls.create({"apiVersion": LANDSCAPER, "kind": "Environment", "metadata": {
        "name": world.name, "annotations": {f"{PREFIX}/cluster-id": "another-cluster"}}, "spec": {
        "namespace": "ls-system", "hostTarget": {"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {}},
        "landscaperClusterConfig": {"host": "https://landscaper.example", "apiPath": ""}, "targetSelectors": []}})
    marks = world.marks()
    agent = world.start(waits=False)
    agent.wait_until(lambda: "belongs to another cluster" in agent.output(), "the refusal")
    assert "another-cluster" in agent.output() and not world.writes(marks) and world.lease() is None
    kube_system = world.host.get("namespaces", "kube-system")["metadata"]["uid"]
    world.ls.patch(ENVIRONMENTS, world.name, {"metadata": {"annotations": {f"{PREFIX}/move-to-cluster": kube_system}}})
    agent.wait_until(lambda: '"msg":"registered"' in agent.output(), "the move")
    annotations = world.environment()["metadata"]["annotations"]
    assert annotations == {f"{PREFIX}/cluster-id": kube_system}
