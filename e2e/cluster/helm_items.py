# SPDX-License-Identifier: Apache-2.0
"""Helm items in a real cluster, and a chart with everything that a chart can have."""

import base64
import gzip
import json

import yaml

from api.helm.harness import HelmItems, objects
from bench import images
from bench.charts import chart_archive
from bench.waiting import wait_until
from cluster.conftest import OwnTarget

HOST = "longshore-helm"
RELEASE = "helm-deployer"
DEPLOYMENTS, JOBS = "apps/v1/deployments", "batch/v1/jobs"
DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: 1
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}", color: "{{ .Values.color }}"}}
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
LIST = """{{ if .Values.list }}
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {color: {{ .Values.color | quote }}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {kube: {{ .Capabilities.KubeVersion.Version | quote }}}}
{{ end }}"""
MORE = "{{ if .Values.more }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {color: {{ .Values.color | quote }}}\n{{ end }}"
SUBCHART = {"charts/sub/Chart.yaml": {"apiVersion": "v2", "name": "sub", "version": "0.1.0"},
            "charts/sub/templates/sub.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {word: {{ .Values.word | quote }}}\n"}
VALUES = {"values.yaml": {"image": images.BUSYBOX, "hookImage": images.BUSYBOX, "color": "red", "delay": 0, "list": True, "more": False,
                          "sub": {"word": "parent"}},
          "values.schema.json": '{"type": "object", "properties": {"color": {"type": "string"}}}'}
# Without workloads, and with a hook that takes a while.
HOOKED = chart_archive({**VALUES, "templates/list.yaml": LIST, "templates/hook.yaml": HOOK})


class Charts(HelmItems, OwnTarget):
    major = 3       # helm in our image

    def __init__(self, node, namespace):
        super().__init__(node, namespace, HOST, "landscaper.gardener.cloud/helm")
        self.space, self.audit = namespace, node.api.audit
        self.user = f"system:serviceaccount:{namespace}:applier"
        self.controller_user = f"system:serviceaccount:{HOST}:{self.deployer()['spec']['serviceAccountName']}"
        self.chart = chart_archive({
            **VALUES, **SUBCHART, "crds/thing.yaml": self.definition(), "templates/deployment.yaml": DEPLOYMENT,
            "templates/list.yaml": LIST, "templates/more.yaml": MORE, "templates/hook.yaml": HOOK,
            "templates/thing.yaml": f"apiVersion: {self.group}/v1\nkind: Thing\nmetadata: {{name: thing}}\nspec: {{color: {{{{ .Values.color | quote }}}}}}\n"})

    def deploy(self, name, chart, *, job="job-1", **config):
        """Creates or changes an item, and triggers it if there is a job."""
        self.put(name, self.provider(chart, **config), job)

    update = deploy

    def deployer(self):
        """The pod of the deployer."""
        [pod] = [p for p in self.pods() if p["metadata"]["name"].startswith(RELEASE) and "deletionTimestamp" not in p["metadata"]]
        return pod

    def deployer_container(self):
        [container] = self.deployer()["status"]["containerStatuses"]
        return container

    def kill(self, container):
        """SIGKILL, as the kernel sends it when memory runs out. The kubelet starts the container again."""
        self.node.sandbox.run("ctr", "--namespace=k8s.io", "tasks", "kill", "--signal", "SIGKILL",
                              container["containerID"].removeprefix("containerd://"))

    def log(self):
        pod = self.deployer()
        return self.kube.logs(pod["metadata"]["name"], HOST, pod["spec"]["containers"][0]["name"])

    def wait_for_cleanup(self):
        """Waits until the objects of finished runs are deleted from the host, except state and accounts."""
        wait_until(lambda: not [o for o in self.item_objects("item") if o.startswith(("pods/", "secrets/")) and "/state-" not in o],
                   "deletion of the objects of the run")

    def pods_of_the_chart(self):
        return [p for p in self.kube.items("pods", self.space) if p["metadata"].get("labels", {}).get("app")]

    def release_secrets(self):
        return [s for s in self.kube.items("secrets", self.space) if s["type"] == "helm.sh/release.v1"]

    def releases(self):
        """Revision and status of the release, by the labels of its Secrets."""
        return {int(s["metadata"]["labels"]["version"]): s["metadata"]["labels"]["status"] for s in self.release_secrets()}

    def manifest(self, revision):
        """The objects of a revision of the release with its hooks, by kind and name."""
        [secret] = [s for s in self.release_secrets() if s["metadata"]["labels"]["version"] == str(revision)]
        record = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
        texts = [record["manifest"], *(hook["manifest"] for hook in record.get("hooks", []))]
        return objects(thing for text in texts for thing in yaml.safe_load_all(text) if thing)

    def disturb(self):
        """What somebody else does to the objects of the chart."""
        self.kube.patch("configmaps", "one", {"data": {"color": "drifted"}}, self.space)
        self.kube.patch(DEPLOYMENTS, "app", {"spec": {"replicas": 0}}, self.space)
        self.kube.delete("configmaps", "sub", self.space)

    def release_items(self):
        super().release_items()
        # helm leaves CRDs behind.
        if self.kube.find(DEFINITIONS, f"things.{self.group}"):
            self.kube.delete(DEFINITIONS, f"things.{self.group}")
