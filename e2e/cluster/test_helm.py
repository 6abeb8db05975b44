# SPDX-License-Identifier: Apache-2.0
"""Helm items in a real cluster: the image longshore-helm runs in a namespace with the restricted Pod Security standard, and the deployer
is a release of charts/helm-deployer with no permissions but those of its roles."""

import pytest

from api.helm.harness import VERSION
from bench import images, paths
from bench.charts import chart_archive, raw, template
from bench.waiting import wait_until
from cluster.conftest import OwnTarget, restricted
from ship import helm, release

CHART = paths.CHECKOUT / "charts" / "helm-deployer"
HOST = "longshore-helm"
RELEASE = "helm-deployer"
DEPLOYMENTS, JOBS = "apps/v1/deployments", "batch/v1/jobs"

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: 1
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: a, image: "{{ .Values.image }}", imagePullPolicy: IfNotPresent, command: [/bin/sh, -c, "sleep 3600"]}]
"""
HOOK = """
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: "{{ .Values.hookImage }}", imagePullPolicy: IfNotPresent, command: [/bin/sh, -c, "sleep {{ .Values.delay }}"]}]
"""
LIST = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {color: {{ .Values.color | quote }}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {kube: {{ .Capabilities.KubeVersion.Version | quote }}}}
"""
SUBCHART = {"charts/sub/Chart.yaml": {"apiVersion": "v2", "name": "sub", "version": "0.1.0"},
            "charts/sub/templates/sub.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {word: {{ .Values.word | quote }}}\n"}
VALUES = {"values.yaml": {"image": images.BUSYBOX, "hookImage": images.BUSYBOX, "color": "red", "delay": 0, "sub": {"word": "parent"}},
          "values.schema.json": '{"type": "object", "properties": {"color": {"type": "string"}}}'}


@pytest.fixture(scope="module")
def helm_deployer(node):
    """The deployer, for the tests of this file."""
    restricted(node, HOST)
    release.load(node)
    release.build(paths.CHECKOUT, "helm", LONGSHORE_RELEASE_BUILD=str(release.BUILD), LONGSHORE_OUT=str(release.OUT))
    node.load_archive(release.OUT / "longshore-helm.oci.tar")
    helm.run("install", RELEASE, CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, namespace=HOST,
             values={"imageRegistry": "localhost"})
    yield node
    helm.run("uninstall", RELEASE, "--wait", "--timeout", "2m", kubeconfig=node.kubeconfig, namespace=HOST)


class Charts(OwnTarget):
    def __init__(self, node, namespace):
        super().__init__(node, namespace, HOST, "landscaper.gardener.cloud/helm")

    def deploy(self, name, archive, *, job="job-1", **config):
        self.put(name, {"apiVersion": VERSION, "kind": "ProviderConfiguration", "name": "app", "namespace": self.namespace,
                        "chart": raw(archive), **config}, job)

    def found(self, resource, name):
        return self.kube.find(resource, name, self.namespace)

    def releases(self):
        """Revision and status of the release, by the labels of its Secrets."""
        labels = [s["metadata"]["labels"] for s in self.kube.items("secrets", self.namespace) if s["type"] == "helm.sh/release.v1"]
        return {int(found["version"]): found["status"] for found in labels}


@pytest.fixture
def charts(helm_deployer, node_namespace):
    world = Charts(helm_deployer, node_namespace)
    yield world
    world.release_items()


def rich_chart(charts):
    """Subchart, CRD and an object of its kind, hook, list, schema and a workload."""
    return chart_archive({**VALUES, **SUBCHART, "crds/thing.yaml": charts.definition(), "templates/deployment.yaml": DEPLOYMENT,
                          "templates/list.yaml": LIST, "templates/hook.yaml": HOOK,
                          "templates/thing.yaml": f"apiVersion: {charts.group}/v1\nkind: Thing\nmetadata: {{name: thing}}\n"})


def on_the_command_line(charts, archive, values):
    """The objects that `helm template` of the version in the image renders, by kind and name."""
    version = charts.kube.request("GET", "/version")["gitVersion"]
    rendered = template(archive, values, charts.namespace, "--kube-version", version, major=3)
    return {(t["kind"], t["metadata"]["name"]): t for thing in rendered for t in thing.get("items", [thing])}


def check_config_maps(charts, wanted):
    for (kind, name), thing in wanted.items():
        if kind == "ConfigMap":
            assert charts.found("configmaps", name)["data"] == thing["data"], name


def disturb(charts):
    """What somebody else does to the objects of the chart."""
    charts.kube.patch("configmaps", "one", {"data": {"color": "drifted"}}, charts.namespace)
    charts.kube.delete("configmaps", "sub", charts.namespace)


def test_objects_are_rendered_applied_and_removed(charts):
    archive = rich_chart(charts)
    exports = {"exports": [{"key": "color", "jsonPath": ".Values.color"}, {"key": "word", "jsonPath": ".Values.sub.word"},
                           {"key": "ready", "jsonPath": ".status.readyReplicas", "fromResource": {
                               "apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "namespace": charts.namespace}}]}
    charts.deploy("item", archive, helmDeployment=False, exports=exports)
    status = charts.succeeded("item")
    wanted = on_the_command_line(charts, archive, {})
    recorded = [e["resource"] for e in status["providerStatus"]["managedResources"]]
    assert sorted((r["kind"], r["name"]) for r in recorded) == sorted(wanted) and len(wanted) == 7
    check_config_maps(charts, wanted)
    assert charts.found(DEPLOYMENTS, "app")["status"]["readyReplicas"] == 1
    assert charts.found("configmaps", "two")["data"]["kube"] == charts.kube.request("GET", "/version")["gitVersion"]
    assert charts.exports("item") == '{"color":"red","ready":1,"word":"parent"}'

    # The schema does not count: the color is a number.
    disturb(charts)
    charts.deploy("item", archive, helmDeployment=False, job="job-2", values={"color": 5})
    charts.succeeded("item", "job-2")
    check_config_maps(charts, on_the_command_line(charts, archive, {"color": "5"}))
    charts.delete("item")
    charts.deleted("item")
    assert charts.found(DEPLOYMENTS, "app") is None and charts.found("configmaps", "one") is None


def test_a_release_is_installed_repaired_rolled_back_and_uninstalled(charts):
    archive = rich_chart(charts)
    charts.deploy("item", archive, exports={"exports": [{"key": "word", "jsonPath": ".Values.sub.word"}]})
    charts.succeeded("item")
    check_config_maps(charts, on_the_command_line(charts, archive, {}))
    assert charts.found(DEPLOYMENTS, "app")["status"]["readyReplicas"] == 1 and charts.found(f"{charts.group}/v1/things", "thing")
    assert charts.found(JOBS, "hook")["status"]["succeeded"] == 1 and charts.exports("item") == '{"word":"parent"}'

    disturb(charts)
    charts.deploy("item", archive, job="job-2", values={"color": "green"})
    charts.succeeded("item", "job-2")
    check_config_maps(charts, on_the_command_line(charts, archive, {"color": "green"}))
    charts.deploy("item", archive, job="job-3", values={"color": 5})
    assert "schema" in charts.failed("item", "job-3")["lastError"]["message"]
    charts.deploy("item", archive, job="job-4", values={"image": "longshore.test/missing:1", "color": "blue"},
                  helmDeploymentConfig={"upgrade": {"atomic": True, "timeout": "10s"}})
    error = charts.failed("item", "job-4")["lastError"]
    assert "rolled back" in error["message"], error
    assert charts.found("configmaps", "one")["data"] == {"color": "green"}
    charts.delete("item")
    charts.deleted("item")
    assert charts.found(DEPLOYMENTS, "app") is None and charts.releases() == {}
    # helm leaves CRDs behind.
    charts.kube.delete("apiextensions.k8s.io/v1/customresourcedefinitions", f"things.{charts.group}")


def test_a_release_survives_the_deployer(charts):
    """Its pod is killed while helm waits for a hook: the next one goes on with the same run, and helm does not run twice."""
    archive = chart_archive({**VALUES, "templates/list.yaml": LIST, "templates/hook.yaml": HOOK})
    charts.deploy("item", archive, values={"delay": 6})
    wait_until(lambda: charts.found(JOBS, "hook"), "helm waits for the hook")
    [deployer] = [p for p in charts.kube.items("pods", HOST) if p["metadata"]["name"].startswith(RELEASE)]
    charts.kube.delete("pods", deployer["metadata"]["name"], HOST, gracePeriodSeconds=0)
    charts.succeeded("item")
    assert charts.releases() == {1: "deployed"} and charts.found("configmaps", "one")["data"] == {"color": "red"}
    charts.delete("item")
    charts.deleted("item")
    assert charts.releases() == {}
