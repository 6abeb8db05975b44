# SPDX-License-Identifier: Apache-2.0
"""The chart as rendered by the real Helm and accepted by a real API server."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from bench import paths
from bench.kube import ApiError
from ship import helm

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
FULL = {
    "replicaCount": 2, "imageRegistry": "registry.example/longshore", "priorityClassName": "system-cluster-critical",
    "podLabels": {"team": "platform"}, "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
    "deployer": {
        "identity": "all", "deleteOperation": "skip", "garbageCollection": {"requeueTimeSeconds": 60}, "debug": {"keepPod": True},
        "pod": {"sharedVolumeSizeLimit": "1Gi", "nodeSelector": {"a": "b"}, "resources": {"limits": {"memory": "1Gi"}},
                "terminationGracePeriodSeconds": 60, "maxTerminationGracePeriodSeconds": 600},
        "script": {"image": "registry.example/shell:1"}, "leaderElection": {"enabled": True, "leaseName": "mine"},
        "initContainer": {"pullPolicy": "Always", "resources": {"limits": {"memory": "64Mi"}}}},
    "metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "rules": {"enabled": True},
                "dashboard": {"enabled": True}},
    "podDisruptionBudget": {"enabled": True},
    "networkPolicy": {"enabled": True, "metricsFrom": [{"namespaceSelector": {}}], "extraEgress": [{"ports": [{"port": 8443}]}]},
}
MATRIX = {
    "defaults": {},
    "everything": FULL,
    "several replicas": {"hpa": {"maxReplicas": 3}},
    "no account of its own": {"serviceAccount": {"create": False, "name": "given"}},
    "Landscaper elsewhere": {"deployer": {"landscaperClusterKubeconfig": {"kubeconfig": "apiVersion: v1\nkind: Config\n"}}},
    "host elsewhere": {"deployer": {"hostClusterKubeconfig": {"secretRef": "host"}}},
    "both elsewhere": {"deployer": {"hostClusterKubeconfig": {"kubeconfig": "{}"}, "landscaperClusterKubeconfig": {"secretRef": "ls"}}},
    "no oci, no metrics, no probes": {"deployer": {"oci": None}, "metrics": {"port": 0}, "probes": {"enabled": False}},
    "another namespace for the runs": {"deployer": {"namespace": "kube-public"}},
    "images of the Go deployer": {"deployer": {"initContainer": {"goImage": True}, "waitContainer": {"goImage": True}}},
    "no scripts": {"deployer": {"script": {"enabled": False, "resources": {"limits": {"memory": "1Gi"}}}}},
    "no election": {"deployer": {"leaderElection": {"enabled": False}}},
    "items of two namespaces": {"rbac": {"namespaces": ["default", "kube-public"]}, "hpa": {"maxReplicas": 2}},
    "a restricted namespace for the runs": {
        "deployer": {"namespace": "runs"}, "runs": {"resourceQuota": {"pods": "10", "limits.memory": "8Gi"},
                                                    "limitRange": [{"type": "Container", "default": {"memory": "64Mi"}}],
                                                    "networkPolicy": {"enabled": True, "egress": [{"ports": [{"port": 443}]}]}}},
    "a proxy and certificates for init": {"deployer": {"initContainer": {"env": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}]},
                                                       "oci": {"caBundle": "-----BEGIN CERTIFICATE-----\n"}}},
    "a name of 53 characters": {},
}
# Minimal definitions of the kinds of the Prometheus operator that the chart uses.
MONITORING = [("ServiceMonitor", "servicemonitors"), ("PrometheusRule", "prometheusrules")]


@pytest.fixture(scope="module")
def monitoring(apiserver):
    for kind, plural in MONITORING:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        apiserver.kube.apply({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.monitoring.coreos.com"},
            "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": kind + "List"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
        apiserver.kube.wait_for("apiextensions.k8s.io/v1/customresourcedefinitions", f"{plural}.monitoring.coreos.com",
                                lambda found: any(c["type"] == "Established" and c["status"] == "True"
                                                  for c in found.get("status", {}).get("conditions") or []))


def dry_run(kube, thing, namespace):
    """Creates the object in a dry run: with defaults, validation and admission of the real server."""
    namespace = thing["metadata"].get("namespace") or namespace
    resource = kube.resource_of(thing)
    scoped = thing["kind"] in ("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "ValidatingAdmissionPolicy",
                               "ValidatingAdmissionPolicyBinding")
    path = kube.path(resource, namespace=None if scoped else namespace)
    status, body = kube.raw("POST", path, body=thing, query={"dryRun": "All", "fieldValidation": "Strict"})
    return None if status < 300 or (status == 409 and scoped) else ApiError(status, body)


def must_be_accepted(things, kube, namespace, folder):
    """The API server accepts every object of a deployer's chart, and the program its configuration, which is returned."""
    refused = {f"{thing['kind']} {thing['metadata']['name']}": str(error) for thing in things
               if thing["kind"] != "Pod" and (error := dry_run(kube, thing, namespace))}
    assert not refused
    secret, = [thing for thing in things if thing["kind"] == "Secret" and thing["metadata"]["name"].endswith("-config")]
    config = folder / "config.yaml"
    config.write_bytes(base64.b64decode(secret["data"]["config.yaml"]))
    done = subprocess.run([BUILD / "deployer" / "longshore", "validate", "--strict", config], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return yaml.safe_load(config.read_text())


class Loader(yaml.SafeLoader):
    """Parses "=" as a string, as Kubernetes does."""


Loader.yaml_implicit_resolvers = {key: value for key, value in yaml.SafeLoader.yaml_implicit_resolvers.items() if key != "="}


def config_text(things):
    secret, = [thing for thing in things if thing["kind"] == "Secret" and thing["metadata"]["name"].endswith("-config")]
    return base64.b64decode(secret["data"]["config.yaml"]).decode()


def config_of(things):
    return yaml.load(config_text(things), Loader)


def test_helm_lint_reports_nothing():
    helm.run("lint", "--strict", helm.CHART, kube_version="1.34.0")
    helm.run("lint", "--strict", helm.CHART, kube_version="1.34.0", values=paths.CHECKOUT / "e2e" / "ship" / "original-values.yaml")


@pytest.mark.parametrize("case", MATRIX)
def test_the_api_server_accepts_every_object_and_the_program_its_configuration(apiserver, kube, namespace, monitoring, tmp_path, case):
    # Creates the pod of the Deployment too, because many namespaces enforce the restricted Pod Security standard on pods.
    kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    release = "a" * 53 if "53" in case else "deployer"
    things = helm.render(apiserver, MATRIX[case], release=release, namespace=namespace)
    if case == "a restricted namespace for the runs" and kube.find("namespaces", "runs") is None:
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "runs"}})
    refused = {f"{thing['kind']} {thing['metadata']['name']}": str(error) for thing in things
               if thing["kind"] != "Pod" and (error := dry_run(kube, thing, namespace))}
    assert not refused
    kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bench", "namespace": namespace}})
    template = helm.find(things, "Deployment")["spec"]["template"]
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "labels": template["metadata"]["labels"]}, "spec": template["spec"]},
            helm.find(things, "Pod")]
    for pod in pods:
        pod["spec"]["serviceAccountName"] = "bench"  # the account of the release does not exist in a dry run
        error = dry_run(kube, pod, namespace)
        assert error is None, error
    check_configuration(things, tmp_path)


def test_values_of_the_original_chart_keep_their_meaning(apiserver, tmp_path):
    things = helm.render(apiserver, paths.CHECKOUT / "e2e" / "ship" / "original-values.yaml", release="old", namespace="default")
    check_configuration(things, tmp_path)
    names = {(thing["kind"], thing["metadata"]["name"]) for thing in things}
    # Different object names would leave the objects of the old release orphaned after an upgrade.
    assert {("Secret", "my-deployer-config"), ("Secret", "my-deployer-registry"), ("ServiceAccount", "deployer-account-tmp"),
            ("Deployment", "my-deployer")} <= names
    assert config_of(things) == {
        "apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "Configuration",
        "identity": "container-europe", "namespace": "runs",
        "initContainer": {"image": "registry.example/mirror/container-deployer-init:v0.152.0"},
        "waitContainer": {"image": "registry.example/mirror/container-deployer-wait@sha256:0f1d2c3b4a5968778695a4b3c2d1e0ff0f1d2c3b4a5968778695a4b3c2d1e0ff"},
        "defaultImage": {"image": "registry.example/tools/shell:3.20"},
        "oci": {"allowPlainHttp": False, "insecureSkipVerify": False, "configFiles": ["/app/ls/registry/secrets/default"]},
        "targetSelector": [{"annotations": [{"key": "region", "operator": "=", "values": ["europe"]}]}],
        # "controller" is accepted but not passed on: its fields have no effect, and the program would warn about them at every start.
        "hpa": {"maxReplicas": 1, "averageCpuUtilization": 80, "averageMemoryUtilization": 80},
        # Our additional fields, with their defaults.
        "script": {"enabled": True}, "manifest": {"enabled": False}, "helm": {"enabled": False},
        "deleteOperation": "run", "imageGracePeriod": "5m", "state": {"generations": 2}, "logTail": {"lines": 20},
        "leaderElection": {"enabled": True, "leaseName": "my-deployer"}, "serve": {"metricsPort": 8080, "healthPort": 8081}}
    registry = helm.find(things, "Secret", "my-deployer-registry")
    assert json.loads(base64.b64decode(registry["data"]["default"])) == {"auths": {"registry.example": {"auth": "dXNlcjpwYXNzd29yZA=="}}}
    deployment = helm.find(things, "Deployment")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    # Immutable: an upgrade of the old release fails if this differs.
    assert deployment["spec"]["selector"] == {"matchLabels": {"app.kubernetes.io/name": "container-deployer", "app.kubernetes.io/instance": "old"}}
    pod = deployment["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert container["name"] == "container-deployer"
    assert container["image"] == "registry.example/mirror/container-deployer-controller:v0.152.0"
    assert container["args"] == ["--config=/app/ls/config/config.yaml",
                                 "--landscaper-kubeconfig=/app/ls/landscaper-cluster-kubeconfig/kubeconfig", "--verbosity=debug"]
    environment = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert environment == {"MY_POD_NAME": None, "MY_POD_NAMESPACE": None, "LS_HOST_CLIENT_BURST": "40", "LS_HOST_CLIENT_QPS": "30",
                           "LS_RESOURCE_CLIENT_BURST": "80", "LS_RESOURCE_CLIENT_QPS": "60"}
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {
        "/app/ls/config", "/app/ls/registry/secrets", "/app/ls/landscaper-cluster-kubeconfig"}
    assert {volume["secret"]["secretName"] for volume in pod["volumes"]} == {"my-deployer-config", "my-deployer-registry", "my-landscaper"}
    assert pod["serviceAccountName"] == "deployer-account-tmp"
    assert pod["imagePullSecrets"] == [{"name": "mirror"}]
    assert pod["nodeSelector"] == {"disk": "fast"}
    # Fields that the values set are kept; the others get restricted defaults.
    assert pod["securityContext"]["fsGroup"] == 2000 and pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["runAsUser"] == 1000 and container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"] == {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}}
    assert deployment["spec"]["template"]["metadata"]["annotations"]["example.test/scrape"] == "true"


# Every chart that can be installed, with the values that it requires besides imageRegistry.
REQUIRED = {
    "container-deployer": {}, "manifest-deployer": {}, "helm-deployer": {}, "deployer-registrations": {}, "lifecycle-manager": {"registry": {"host": "r.example"}},
    "landscaper-agent": {"agent": {"landscaperClusterKubeconfig": {"secretRef": "landscaper"}}}}
DEPLOYERS = ["container-deployer", "manifest-deployer", "helm-deployer"]
COMMANDS = ["deployer-registrations", "lifecycle-manager"]


def reviews_are_granted(things):
    granted = {resource for thing in things if thing["kind"] == "ClusterRole" for rule in thing["rules"] for resource in rule["resources"]}
    return {"tokenreviews", "subjectaccessreviews"} <= granted


@pytest.mark.parametrize("chart", DEPLOYERS + COMMANDS)
def test_the_status_page_is_off_unless_enabled_and_reviews_tokens_only_with_authentication(chart, tmp_path):
    for ui, reviews in (({}, False), ({"enabled": True}, False), ({"enabled": True, "authentication": True}, True), ({"authentication": True}, False)):
        things = helm.template({**REQUIRED[chart], "ui": ui}, chart=helm.CHART.parent / chart)
        assert reviews_are_granted(things) is reviews
        if chart in COMMANDS:
            option = [f"--ui={'token' if reviews else 'on'}"] if ui.get("enabled") else []
            for spec in (helm.find(things, "Deployment")["spec"]["template"]["spec"], helm.find(things, "Pod")["spec"]):
                assert [argument for argument in spec["containers"][0]["args"] if argument.startswith("--ui")] == option
        else:
            assert config_of(things).get("ui") == ({"enabled": True, "authentication": reviews} if ui.get("enabled") else None)
            check_configuration(things, tmp_path)
    with pytest.raises(helm.HelmError, match="ui.enabled needs metrics.port"):
        helm.template({**REQUIRED[chart], "ui": {"enabled": True}, "metrics": {"port": 0}}, chart=helm.CHART.parent / chart)


@pytest.mark.parametrize("chart", REQUIRED)
def test_every_chart_needs_a_registry_and_knows_all_of_its_values(chart):
    folder = helm.CHART.parent / chart
    helm.run("lint", "--strict", folder, kube_version="1.34.0", values=REQUIRED[chart])
    with pytest.raises(helm.HelmError, match="imageRegistry is not set.* --set imageRegistry=registry.example/longshore"):
        helm.template({**REQUIRED[chart], "imageRegistry": ""}, chart=folder)
    with pytest.raises(helm.HelmError, match="replicaCuont"):
        helm.template({**REQUIRED[chart], "replicaCuont": 1}, chart=folder)
    things = helm.template({**REQUIRED[chart], "imageRegistry": "registry.example/our/"}, chart=folder)
    version = (paths.CHECKOUT / "images" / "version").read_text().strip()
    assert {container["image"] for container in helm.find(things, "Deployment")["spec"]["template"]["spec"]["containers"]} == {
        f"registry.example/our/longshore:v{version}"}


def test_a_numeric_verbosity_of_older_charts_is_translated():
    things = helm.template({"deployer": {"verbosityLevel": 9}})
    assert "--verbosity=debug" in helm.find(things, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize("elects, most, replicas, expected", [
    (True, 1, 1, 1), (True, 1, 3, 3), (True, 2, 1, 2), (True, 5, 3, 3),  # one replica leads, the others stand by
    (False, 1, 1, 1), (False, 2, 1, (1, 2)), (False, 5, 2, (2, 5))])  # all replicas work
def test_only_replicas_that_would_work_are_scaled(elects, most, replicas, expected):
    things = helm.template({"hpa": {"maxReplicas": most}, "replicaCount": replicas, "deployer": {"leaderElection": {"enabled": elects}}})
    spec = helm.find(things, "Deployment")["spec"]
    scalers = [thing["spec"] for thing in things if thing["kind"] == "HorizontalPodAutoscaler"]
    assert config_of(things)["hpa"]["maxReplicas"] == most
    assert ("strategy" in spec) == (most == 1)
    if isinstance(expected, int):
        assert (spec["replicas"], scalers) == (expected, [])
        return
    # A fixed number of replicas would undo the scaling at every upgrade.
    assert "replicas" not in spec
    scaler, = scalers
    assert (scaler["minReplicas"], scaler["maxReplicas"], scaler["scaleTargetRef"]["name"]) == (*expected, "deployer-container-deployer")
    # Memory does not depend on the load, so it would never trigger.
    assert [metric["resource"]["name"] for metric in scaler["metrics"]] == ["cpu"]


SWITCHES = {
    "PodDisruptionBudget": {"podDisruptionBudget": {"enabled": True}}, "NetworkPolicy": {"networkPolicy": {"enabled": True}},
    "ServiceMonitor": {"metrics": {"serviceMonitor": {"enabled": True}}}, "PrometheusRule": {"metrics": {"rules": {"enabled": True}}},
    "ConfigMap": {"metrics": {"dashboard": {"enabled": True}}}, "HorizontalPodAutoscaler": {"hpa": {"maxReplicas": 2}, "deployer": {"leaderElection": {"enabled": False}}},
    "CustomResourceDefinition": {"crds": {"install": True}}}


def test_optional_objects_are_rendered_only_if_enabled():
    before = {thing["kind"] for thing in helm.template()}
    assert not before & set(SWITCHES)
    for kind, values in SWITCHES.items():
        assert {thing["kind"] for thing in helm.template(values)} - before == {kind}
    assert before - {thing["kind"] for thing in helm.template({"admissionPolicy": {"enabled": False}})} == {
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


def test_definitions_have_structural_schemas_and_columns():
    for file in (helm.CHART / "files" / "crds").glob("*.yaml"):
        for version in yaml.safe_load(file.read_text())["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            assert schema["type"] == "object" and schema["properties"], file.name
            assert [column["name"] for column in version["additionalPrinterColumns"]], file.name


def test_disabling_leader_election_reaches_the_program():
    assert config_of(helm.template({"deployer": {"leaderElection": {"enabled": False}}}))["leaderElection"]["enabled"] is False


@pytest.mark.parametrize("values, is_enabled", [({}, True), ({"deployer": {"script": {"enabled": False}}}, False),
                                                ({"deployer": {"script": {"image": "registry.example/shell:1"}}}, True)])
def test_disabling_script_items_reaches_the_program(tmp_path, values, is_enabled):
    things = helm.template(values)
    assert config_of(things)["script"]["enabled"] is is_enabled
    check_configuration(things, tmp_path)


def check_configuration(things, directory):
    """The program must accept the configuration and know all of its fields."""
    (directory / "config.yaml").write_text(config_text(things))
    done = subprocess.run([BUILD / "deployer" / "longshore", "validate", directory / "config.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr


def test_definitions_for_use_without_a_landscaper(make_apiserver):
    server = make_apiserver(with_crds=False)
    values = {"crds": {"install": True}, "replicaCount": 0}
    helm.run("install", "alone", helm.CHART, kubeconfig=server.kubeconfig, values=values, namespace="default")
    definitions = "apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {found["metadata"]["name"] for found in server.kube.items(definitions)}
    assert names == {f"{kind}.landscaper.gardener.cloud" for kind in ("deployitems", "targets", "contexts", "syncobjects", "criticalproblems")}
    for name in names:
        server.kube.wait_for(definitions, name, lambda found: any(c["type"] == "Established" and c["status"] == "True"
                                                                  for c in found.get("status", {}).get("conditions") or []))
    server.kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
                        "metadata": {"name": "first", "namespace": "default"}, "spec": {"type": "landscaper.gardener.cloud/container"}})
    helm.run("uninstall", "alone", kubeconfig=server.kubeconfig, namespace="default")
    assert server.kube.get("landscaper.gardener.cloud/v1alpha1/deployitems", "first", "default")


@pytest.mark.parametrize("values, complaint", [
    ({"replicaCount": "two"}, "replicaCount"),
    ({"hpa": {"maxReplicas": 0}}, "maxReplicas"),
    ({"deployer": {"deleteOperation": "sometimes"}}, "deleteOperation"),
    ({"deployer": {"script": {"enabled": "no"}}}, "enabled"),
    ({"deployer": {"script": {"args": ["-x"]}}}, "args"),
    ({"image": {"pullPolicy": "Often"}}, "pullPolicy"),
    ({"networkPolicy": {"enabeld": True}}, "enabeld"),
    ({"imageRegisty": "x"}, "imageRegisty"), ({"deployer": {"identiy": "a"}}, "identiy"), ({"hpa": {"maxreplicas": 3}}, "maxreplicas"),
    ({"resources": {"limit": {"memory": "5Mi"}}}, "limit"), ({"deployer": {"initContainer": {"envs": []}}}, "envs"),
    ({"rbac": {"namespaces": ["A_b"]}}, "namespaces"),
    # Explained by the templates.
    ({"imageRegistry": ""}, "imageRegistry is not set.* --set imageRegistry=registry.example/longshore.* docs/install.md"),
    ({"imageRegistry": "", "image": {"repository": "a/b"}}, "the image longshore-init"),
    ({"runs": {"createNamespace": True}}, "runs.createNamespace needs deployer.namespace"),
    ({"runs": {"createNamespace": True}, "deployer": {"namespace": "runs", "hostClusterKubeconfig": {"secretRef": "x"}}}, "hostClusterKubeconfig"),
    ({"deployer": {"landscaperClusterKubeconfig": {"secret": "x"}}}, "landscaperClusterKubeconfig"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_invalid_values_are_reported(values, complaint):
    with pytest.raises(helm.HelmError, match=complaint):
        helm.run("template", "x", helm.CHART, kube_version="1.34.0", values=values)


def test_schemas_are_those_that_the_script_writes():
    sys.path.insert(0, str(helm.CHART.parent))
    import schemas
    for chart in schemas.CHARTS:
        assert (helm.CHART.parent / chart / "values.schema.json").read_text() == schemas.text_of(chart), "run /usr/bin/python3 charts/schemas.py"


def test_every_chart_has_the_version_of_the_release_and_a_schema():
    """After a change of the version, or for a new chart: images/release version X.Y.Z, and an entry in charts/schemas.py."""
    assert {file.parent.name for file in helm.CHART.parent.glob("*/Chart.yaml")} == {*REQUIRED, "longshore-library"}
    version = (paths.CHECKOUT / "images" / "version").read_text().strip()
    for file in helm.CHART.parent.glob("*/Chart.yaml"):
        chart = yaml.safe_load(file.read_text())
        assert chart["version"] == version and chart.get("appVersion", f"v{version}") == f"v{version}", file
        assert chart["type"] == "library" or (file.parent / "values.schema.json").exists(), file


def test_a_new_version_is_written_to_every_chart_and_to_the_examples_of_the_documentation(tmp_path):
    old = (paths.CHECKOUT / "images" / "version").read_text().strip()
    (tmp_path / "images").mkdir()
    for name in ("images/release", "images/version", "README.md"):
        shutil.copy(paths.CHECKOUT / name, tmp_path / name)
    shutil.copytree(paths.CHECKOUT / "charts", tmp_path / "charts", symlinks=True)
    shutil.copytree(paths.CHECKOUT / "docs", tmp_path / "docs")
    subprocess.run([tmp_path / "images" / "release", "version", "9.8.7"], check=True)
    charts = list((tmp_path / "charts").glob("*/Chart.yaml"))
    assert (tmp_path / "images" / "version").read_text() == "9.8.7\n"
    assert len(charts) == len(REQUIRED) + 1 and all("version: 9.8.7\n" in chart.read_text() for chart in charts)
    for file in [*charts, tmp_path / "README.md", *(tmp_path / "docs").glob("*.md")]:
        # In names of files, images and tags; text about a version stays.
        assert not re.search(rf"(?<=[-:=/v]){re.escape(old)}\b", file.read_text()), file


@pytest.mark.parametrize("chart", sorted(set(REQUIRED) - {"landscaper-agent"}))  # test_agent_chart.py runs its containers
def test_helm_test_checks_the_program_with_the_account_and_the_options_of_the_release(chart):
    things = helm.template({**REQUIRED[chart], "imageRegistry": "registry.example"}, chart=helm.CHART.parent / chart)
    pod, template = helm.find(things, "Pod"), helm.find(things, "Deployment")["spec"]["template"]["spec"]
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test" and pod["spec"]["restartPolicy"] == "Never"
    (test,), (program, *_) = pod["spec"]["containers"], template["containers"]
    assert "--check" in test["args"] and set(test["args"]) - {"--check"} <= set(program["args"])  # not the verbosity
    assert (test["image"], test.get("command"), pod["spec"]["serviceAccountName"]) == (
        program["image"], program.get("command"), template["serviceAccountName"])


def test_roles_in_namespaces_replace_the_cluster_role():
    everywhere = helm.template()
    chosen = helm.template({"rbac": {"namespaces": ["a", "b"]}})
    assert not [thing for thing in chosen if thing["kind"] in ("ClusterRole", "ClusterRoleBinding")]
    rules = helm.find(everywhere, "ClusterRole")["rules"]
    roles = [thing for thing in chosen if thing["kind"] == "Role" and thing["metadata"]["name"].endswith("-items")]
    assert [(role["metadata"]["namespace"], role["rules"]) for role in roles] == [("a", rules), ("b", rules)]
    assert config_of(chosen)["namespaces"] == ["a", "b"] and "namespaces" not in config_of(everywhere)


@pytest.mark.parametrize("chart", ["container-deployer", "helm-deployer"])  # those with an init container
def test_proxies_and_certificates_reach_the_configuration_of_init(chart, tmp_path):
    environment, bundle = [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}], "-----BEGIN CERTIFICATE-----\n"
    things = helm.template({"deployer": {"initContainer": {"env": environment}, "oci": {"caBundle": bundle}}}, chart=helm.CHART.with_name(chart))
    config = config_of(things)
    assert (config["initContainer"]["env"], config["oci"]["caBundle"]) == (environment, bundle)
    check_configuration(things, tmp_path)


def test_the_network_policy_of_runs_selects_the_pods_of_items_and_no_others():
    things = helm.template({"deployer": {"namespace": "runs"}, "runs": {"networkPolicy": {"enabled": True}}})
    policy = helm.find(things, "NetworkPolicy", "deployer-container-deployer-runs")
    assert policy["metadata"]["namespace"] == "runs" and policy["spec"]["policyTypes"] == ["Ingress", "Egress"] and "ingress" not in policy["spec"]
    wanted = {entry["key"] for entry in policy["spec"]["podSelector"]["matchExpressions"] if entry["operator"] == "Exists"}
    assert wanted and policy["spec"]["podSelector"].keys() == {"matchExpressions"}
    item = paths.CHECKOUT / "e2e" / "examples" / "script-counter" / "item.yaml"
    rendered = subprocess.run([BUILD / "deployer" / "longshore", "render", item], capture_output=True, text=True, check=True).stdout
    run = helm.find([thing for thing in yaml.safe_load_all(rendered) if thing], "Pod")
    assert wanted <= run["metadata"]["labels"].keys()
    for pod in (helm.find(things, "Deployment")["spec"]["template"], helm.find(things, "Pod")):
        assert not wanted & pod["metadata"]["labels"].keys()


@pytest.mark.parametrize("keep", [True, False])
def test_the_namespace_of_runs_is_kept_unless_the_values_say_otherwise(keep):
    things = helm.template({"deployer": {"namespace": "runs"}, "runs": {"createNamespace": True, "keepNamespace": keep}})
    annotations = helm.find(things, "Namespace", "runs")["metadata"].get("annotations") or {}
    assert (annotations.get("helm.sh/resource-policy") == "keep") is keep


# The memory of the lifecycle manager grows with the number of its clusters.
@pytest.mark.parametrize("chart", sorted(set(REQUIRED) - {"lifecycle-manager"}))
def test_every_container_has_a_limit_of_memory_that_another_request_drops(chart):
    def resources(**more):
        things = helm.template({**REQUIRED[chart], **more}, chart=helm.CHART.parent / chart)
        return [container["resources"] for container in helm.find(things, "Deployment")["spec"]["template"]["spec"]["containers"]]
    assert all(set(given["limits"]) == {"memory"} and set(given["requests"]) == {"cpu", "memory"} for given in resources())
    assert resources(resources={"requests": {"memory": "1Gi"}})[0]["limits"] == {}


@pytest.mark.parametrize("given, expected", [
    ({}, {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}),
    ({"requests": {"memory": "1Gi"}}, {"requests": {"cpu": "20m", "memory": "1Gi"}, "limits": {}}),
    ({"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}, {"requests": {"cpu": "20m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}})])
def test_the_default_limit_is_never_below_a_chosen_request(given, expected):
    things = helm.template({"resources": given})
    assert helm.find(things, "Deployment")["spec"]["template"]["spec"]["containers"][0]["resources"] == expected


@pytest.mark.parametrize("chart", REQUIRED)
def test_a_package_of_helm_contains_the_library(chart, tmp_path):
    folder, values = helm.CHART.parent / chart, {**REQUIRED[chart], "imageRegistry": "x"}
    helm.run("package", folder, "--destination", tmp_path)
    package, = tmp_path.glob("*.tgz")
    assert helm.template(values, chart=package) == helm.template(values, chart=folder)


def paths_of(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from paths_of(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_the_readme_lists_every_value():
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    documented = set(re.findall(r"^\| `([^`]+)` \|", (helm.CHART / "README.md").read_text(), re.MULTILINE))
    known = set(paths_of(values))
    covered = {path for path in known if any(path == name or path.startswith(name + ".") for name in documented)}
    assert known - covered == set()
    assert {name for name in documented if not any(path == name or path.startswith(name + ".") for path in known)} == set()


def test_the_command_of_the_readme_prints_the_rules_for_another_cluster():
    command, = re.findall(r"^    helm (template .+)$", (helm.CHART / "README.md").read_text(), re.MULTILINE)
    done = subprocess.run([helm.program(), *command.split(), "--kube-version", "1.34.0"], cwd=paths.CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0 and helm.find(list(yaml.safe_load_all(done.stdout)), "ClusterRole")["rules"], done.stderr


def test_alerts_and_dashboard_use_metrics_that_exist():
    written = (paths.CHECKOUT / "deployer" / "serve" / "metrics.c").read_text()
    exist = set(re.findall(r'"((?:longshore|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+)', written))
    asked = set()
    for file in ("alerts.yaml", "dashboard.json"):
        text = (helm.CHART / "files" / file).read_text()
        asked |= set(re.findall(r"\b(?:longshore|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+", text))
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    assert asked and asked <= exist
