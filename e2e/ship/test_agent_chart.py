# SPDX-License-Identifier: Apache-2.0
"""The chart of the agent: it accepts the values of the chart of Landscaper v0.98 and grants only what is used (C1 to C4, S3)."""

import base64
import json
import os
import subprocess

import pytest
import yaml

from bench import paths
from ship import helm
from ship.test_chart import BUILD, dry_run

CHART = paths.CHECKOUT / "charts" / "landscaper-agent"
ENVIRONMENT = "landscaper.gardener.cloud/environment"
# Every value that the chart of v0.98 knows.
OLD_VALUES = {
    "agent": {"verbosity": "info", "name": "env", "namespace": "deployers", "landscaperNamespace": "ls-user",
              "landscaperClusterKubeconfig": {"secretRef": {"name": "my-kubeconfig-secret"}},
              "targetSelectors": [{"annotations": [{"key": "a", "operator": "exists"}]}],
              "registryConfig": {"allowPlainHttpRegistries": False, "insecureSkipVerify": False, "secrets": {"default": {"auths": {}}},
                                 "cache": {"useInMemoryOverlay": False}}},
    "image": {"repository": "example.com/landscaper-agent", "pullPolicy": "IfNotPresent", "tag": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "pull"}], "nameOverride": "", "fullnameOverride": "",
    "serviceAccount": {"create": True, "annotations": {}, "name": ""}, "podAnnotations": {"a": "b"}, "podSecurityContext": {},
    "securityContext": {}, "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
    "nodeSelector": {}, "tolerations": [], "affinity": {},
}
KUBECONFIG = {"agent": {"landscaperClusterKubeconfig": {"kubeconfig": "apiVersion: v1\n"}}}
# C2: the documentation of v0.98 shows this form, which its chart rejects.
REFERENCE = {"agent": {"landscaperClusterKubeconfig": {"secretRef": "a-secret"}, "access": "agent", "hostAccess": "none",
                       "acceptance": "manual"}}
DOCUMENT = (paths.CHECKOUT / "docs" / "agent.md").read_text()
# The example of the documentation.
NO_HELM = {**KUBECONFIG, **yaml.safe_load(DOCUMENT.partition("### Helm items")[2].partition("```yaml\n")[2].partition("```")[0])}
NO_HOST_RULES = {"hostRules": {"namespace": [], "cluster": []}}
MANIFEST, HELM = "landscaper.gardener.cloud/kubernetes-manifest", "landscaper.gardener.cloud/helm"


def config_of(things, key="config.yaml"):
    secret, = [t for t in things if t["kind"] == "Secret" and t["metadata"]["name"].endswith("-config")]
    return yaml.safe_load(base64.b64decode(secret["data"][key]))


@pytest.mark.parametrize("values", [OLD_VALUES, KUBECONFIG, REFERENCE, NO_HELM], ids=["v0.98", "kubeconfig", "reference", "no helm"])
def test_the_api_server_accepts_every_object_and_the_programs_their_configurations(kube, namespace, tmp_path, values):
    things = helm.template(values, namespace=namespace, chart=CHART)
    kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bench", "namespace": namespace}})
    helm.find(things, "Pod")["spec"]["serviceAccountName"] = "bench"  # that of the release does not exist in a dry run
    refused = {f"{t['kind']} {t['metadata']['name']}": str(e) for t in things if (e := dry_run(kube, t, namespace))
               and t["metadata"].get("namespace", namespace) == namespace}
    assert not refused
    agent, deployer = tmp_path / "agent.yaml", tmp_path / "deployer.yaml"
    agent.write_text(json.dumps(config_of(things)))
    deployer.write_text(json.dumps(config_of(things, "deployer.yaml")))
    # The configuration is read before the kubeconfig, which does not exist.
    done = subprocess.run([BUILD / "deployer" / "longshore", "agent", "--config", agent, "--landscaper-kubeconfig", tmp_path / "none"],
                          capture_output=True, text=True)
    assert "none" in done.stderr and "configuration" not in done.stderr and "unknown" not in done.stderr, done.stderr
    done = subprocess.run([BUILD / "deployer" / "longshore", "validate", "--strict", deployer], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    name = config_of(things)["name"]
    assert config_of(things, "deployer.yaml")["targetSelector"] == [{"annotations": [
        {"key": ENVIRONMENT, "operator": "==", "values": [name]}, {"key": "landscaper.gardener.cloud/deployer-only", "operator": "exists"}]}]
    assert config_of(things, "deployer.yaml")["identity"] == f"agent-helm-deployer-{name}"


def test_the_deployer_beside_the_agent_serves_helm_items(apiserver, namespace, tmp_path):
    """With the images of the release. The account has the permissions for runs, whatever the host account may do."""
    values = {"agent": {**KUBECONFIG["agent"], **NO_HOST_RULES}}
    things = helm.template(values, release="runs", namespace=namespace, chart=CHART)
    config = config_of(things, "deployer.yaml")
    assert config_of(things)["types"] == [MANIFEST, HELM]
    tag = helm.find(things, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]
    assert [config[part]["image"] for part in ("helm", "initContainer", "waitContainer")] == [
        f"localhost/longshore-{name}:{tag}" for name in ("helm", "init", "wait")] and config["helm"]["enabled"]
    (tmp_path / "deployer.yaml").write_text(json.dumps(config))
    granted = [t for t in things if t["kind"] in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")]
    for thing in granted:
        apiserver.kube.apply(thing)
    try:
        host = apiserver.token_kubeconfig(apiserver.kube.token("runs-landscaper-agent", namespace))
        done = subprocess.run([BUILD / "deployer" / "longshore", "controller", "--check", "--config", tmp_path / "deployer.yaml",
                               "--landscaper-kubeconfig", apiserver.kubeconfig], capture_output=True, text=True, env={**os.environ, "KUBECONFIG": str(host)})
        assert done.returncode == 0 and "run DeployItems as pods" in done.stdout, done.stdout + done.stderr
    finally:
        for thing in granted:
            if thing["kind"].startswith("Cluster"):
                apiserver.kube.delete(f"rbac.authorization.k8s.io/v1/{thing['kind'].lower()}s", thing["metadata"]["name"])


def resources_of(things, kind):
    return {resource for t in things if t["kind"] == kind for rule in t["rules"] for resource in rule["resources"]}


def test_permissions_for_runs_are_granted_in_one_namespace_and_only_for_helm_items():
    def roles(values):
        things = helm.template({**values, "agent": {**KUBECONFIG["agent"], **NO_HOST_RULES}}, chart=CHART)
        return config_of(things)["types"], "helm" in config_of(things, "deployer.yaml"), resources_of(things, "Role"), resources_of(things, "ClusterRole")

    runs, cluster = {"pods", "pods/log", "configmaps"}, {"namespaces", "clusterroles", "clusterrolebindings"}
    types, has_helm, role, cluster_role = roles({})
    assert types == [MANIFEST, HELM] and has_helm and runs <= role and cluster_role == cluster
    for off, types in (({"deployer": NO_HELM["deployer"]}, [MANIFEST]), ({"deployer": {"enabled": False}}, [])):
        told, has_helm, role, cluster_role = roles(off)
        assert told == types and not has_helm and not runs & role and cluster_role == cluster
    # What deployer.configuration says counts.
    told, _, role, _ = roles({"deployer": {"configuration": {"helm": {"enabled": False}}}})
    assert told == [MANIFEST] and not runs & role


def test_the_values_of_v098_have_their_effect():
    """C1, C3, C4: every way to give a kubeconfig renders, selectors are used, an update never runs two agents."""
    things = helm.template(OLD_VALUES, release="rel", namespace="ns", chart=CHART)
    config = config_of(things)
    assert config["name"] == "env" and config["namespace"] == "deployers" and config["landscaperNamespace"] == "ls-user"
    assert config["targetSelectors"] == OLD_VALUES["agent"]["targetSelectors"]
    deployment = helm.find(things, "Deployment")
    assert deployment["metadata"]["name"] == "rel-landscaper-agent" and deployment["spec"]["strategy"] == {"type": "Recreate"}
    pod = deployment["spec"]["template"]["spec"]
    assert [c["name"] for c in pod["containers"]] == ["landscaper-agent", "deployer"]
    assert {c["image"] for c in pod["containers"] + pod["initContainers"]} == {"example.com/landscaper-agent@sha256:" + "0" * 64}
    assert [v["secret"]["secretName"] for v in pod["volumes"] if v["name"] == "landscaper-cluster-kubeconfig"] == ["my-kubeconfig-secret"]
    # The registries of charts.
    deployer, secret = config_of(things, "deployer.yaml"), helm.find(things, "Secret", "rel-landscaper-agent-registry")
    assert deployer["oci"] == {"allowPlainHttp": False, "insecureSkipVerify": False, "configFiles": ["/app/ls/registry/secrets/default"]}
    assert [v["secret"]["secretName"] for v in pod["volumes"] if v["name"] == "ociregistry"] == [secret["metadata"]["name"]]
    assert [c["name"] for c in pod["containers"] if "/app/ls/registry/secrets" in [m["mountPath"] for m in c["volumeMounts"]]] == ["deployer"]
    assert "ociregistry" not in str(helm.find(things, "Job")) + str(helm.find(things, "Pod"))
    hook = helm.find(things, "Job")
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    assert "--leave" in hook["spec"]["template"]["spec"]["containers"][0]["args"]
    with pytest.raises(helm.HelmError, match="needs kubeconfig or secretRef"):
        helm.template({}, chart=CHART)


def test_no_role_is_that_of_an_administrator():
    """S3: no wildcards; nothing but rules for the host account reaches objects by other than their names."""
    for values in (OLD_VALUES, KUBECONFIG, REFERENCE):
        things = helm.template(values, chart=CHART)
        rules = [rule for t in things if t["kind"] in ("Role", "ClusterRole") for rule in t["rules"]]
        assert not [rule for rule in rules if "*" in rule["verbs"] + rule["resources"] + rule["apiGroups"]]
        cluster = [rule for t in things if t["kind"] == "ClusterRole" for rule in t["rules"]]
        assert not [rule for rule in cluster if "secrets" in rule["resources"] or "escalate" in rule["verbs"] or "bind" in rule["verbs"]]


def test_helm_lint_reports_nothing():
    for values in (OLD_VALUES, KUBECONFIG, REFERENCE):
        helm.run("lint", "--strict", CHART, kube_version="1.34.0", values=values)


def test_check_finds_that_chart_and_documented_role_grant_everything(make_apiserver, apiserver, tmp_path):
    """--check with exactly the permissions of the chart in one cluster, and of files/landscaper-access.yaml in the other."""
    namespace = "deployers"
    values = {**KUBECONFIG, "agent": {**KUBECONFIG["agent"], "name": "env"}}
    apiserver.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for thing in helm.template(values, release="one", namespace=namespace, chart=CHART):
        if thing["kind"] in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"):
            apiserver.kube.apply(thing)
    access = [yaml.safe_load(part) for part in (CHART / "files" / "landscaper-access.yaml").read_text().replace("ENVIRONMENT", "env").split("\n---\n")]
    landscaper = make_apiserver()
    landscaper.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ls-system"}})
    for thing in access:
        landscaper.kube.apply(thing)
    things = helm.template(values, release="one", namespace=namespace, chart=CHART)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text(json.dumps(config_of(things)))
    (tmp_path / "credential").mkdir()
    pod = helm.find(things, "Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    host = apiserver.token_kubeconfig(apiserver.kube.token("one-landscaper-agent", namespace))
    there = landscaper.token_kubeconfig(landscaper.kube.token("landscaper-agent-env", "ls-system"))

    def run(container):
        assert container["command"] == ["/longshore"]
        arguments = [argument.replace("/app/ls/landscaper-cluster-kubeconfig/kubeconfig", str(there)).replace("/app/ls", str(tmp_path))
                     for argument in container["args"]]
        return subprocess.run([BUILD / "deployer" / "longshore", *arguments], capture_output=True, text=True, env={**os.environ, "KUBECONFIG": str(host)})

    def check():
        """Runs the containers of the pod of `helm test`."""
        (prepare,), (test,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
        done = run(prepare)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "credential" / "kubeconfig").is_file()
        return run(test)
    done = check()
    missing = [line for line in done.stdout.splitlines() if not line.startswith("ok")]
    assert done.returncode == 1 and len(missing) == 1 and "CRD" in missing[0], done.stdout + done.stderr
    landscaper.kube.delete("rbac.authorization.k8s.io/v1/rolebindings", "landscaper-agent-env", "ls-system")
    assert "missing  landscaper  update    leases.coordination.k8s.io env in namespace ls-system" in check().stdout
    for kind in ("clusterroles", "clusterrolebindings"):
        apiserver.kube.delete(f"rbac.authorization.k8s.io/v1/{kind}", "one-landscaper-agent")
