# SPDX-License-Identifier: Apache-2.0
"""Helm items in a real cluster: the image longshore-helm runs in a namespace with the restricted Pod Security standard, and the deployer
is a release of charts/helm-deployer with no permissions but those of its roles."""

import pytest

from api.helm.harness import VERSION
from bench import images, paths
from bench.charts import chart_archive, raw
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
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: a, image: "{{ .Values.image }}", imagePullPolicy: IfNotPresent, command: [/bin/true]}]}
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
VALUES = {"values.yaml": {"image": images.BUSYBOX, "color": "red", "sub": {"word": "parent"}},
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


@pytest.fixture
def charts(helm_deployer, node_namespace):
    world = Charts(helm_deployer, node_namespace)
    yield world
    world.release_items()


def test_objects_are_rendered_applied_and_removed(charts):
    archive = chart_archive({**VALUES, **SUBCHART, "crds/thing.yaml": charts.definition(), "templates/deployment.yaml": DEPLOYMENT, "templates/list.yaml": LIST,
                             "templates/thing.yaml": f"apiVersion: {charts.group}/v1\nkind: Thing\nmetadata: {{name: thing}}\n"})
    exports = {"exports": [{"key": "color", "jsonPath": ".Values.color"}, {"key": "ready", "jsonPath": ".status.readyReplicas", "fromResource": {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "namespace": charts.namespace}}]}
    charts.deploy("item", archive, helmDeployment=False, exports=exports)
    status = charts.succeeded("item")
    assert sorted(e["resource"]["name"] for e in status["providerStatus"]["managedResources"]) == [
        "app", "one", "sub", "thing", f"things.{charts.group}", "two"]
    assert charts.found(DEPLOYMENTS, "app")["status"]["readyReplicas"] == 1
    assert charts.found("configmaps", "two")["data"]["kube"] == charts.kube.request("GET", "/version")["gitVersion"]
    assert charts.exports("item") == '{"color":"red","ready":1}'
    charts.deploy("item", archive, helmDeployment=False, job="job-2", values={"color": "blue"})
    charts.succeeded("item", "job-2")
    assert charts.found("configmaps", "one")["data"] == {"color": "blue"}
    charts.delete("item")
    charts.deleted("item")
    assert charts.found(DEPLOYMENTS, "app") is None and charts.found("configmaps", "one") is None


def test_a_release_is_installed_rolled_back_and_uninstalled(charts):
    archive = chart_archive({**VALUES, **SUBCHART, "templates/deployment.yaml": DEPLOYMENT, "templates/list.yaml": LIST, "templates/hook.yaml": HOOK})
    charts.deploy("item", archive)
    charts.succeeded("item")
    assert charts.found(DEPLOYMENTS, "app")["status"]["readyReplicas"] == 1
    assert charts.found(JOBS, "hook")["status"]["succeeded"] == 1
    charts.deploy("item", archive, job="job-2", values={"image": "longshore.test/missing:1", "color": "blue"},
                  helmDeploymentConfig={"upgrade": {"atomic": True, "timeout": "10s"}})
    error = charts.failed("item", "job-2")["lastError"]
    assert "rolled back" in error["message"], error
    assert charts.found("configmaps", "one")["data"] == {"color": "red"}
    charts.delete("item")
    charts.deleted("item")
    assert charts.found(DEPLOYMENTS, "app") is None
    wait_until(lambda: not [s for s in charts.kube.items("secrets", charts.namespace) if s["type"] == "helm.sh/release.v1"],
               "the release is gone")
