# SPDX-License-Identifier: Apache-2.0
"""Helm items on one machine: the real helm runs in an OCI runtime, and renders, or deploys to a cluster that is given."""

import functools
import json

import yaml

from bench import images, oci
from bench.charts import MAJOR, chart_archive, helm_program, raw, template

GROUP = "helm.deployer.landscaper.gardener.cloud"
CHART = {
    "values.yaml": {"color": "red", "sub": {"word": "parent"}},
    "templates/main.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: main}\ndata: {color: {{ .Values.color | quote }}, "
                           "kube: {{ .Capabilities.KubeVersion.Version | quote }}}\n---\n"
                           'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: "{{ .Release.Namespace }}-role"}\nrules: []\n',
    "templates/list.yaml": "{{ if .Values.more }}\napiVersion: v1\nkind: List\nitems:\n"
                           "- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}\n{{ end }}",
    "charts/sub/Chart.yaml": {"apiVersion": "v2", "name": "sub", "version": "0.1.0"},
    "charts/sub/templates/sub.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {word: {{ .Values.word }}}\n",
}


@functools.cache
def helm_image():
    return oci.archive(images.program(helm_program(), user="65532:65532"), "localhost/longshore-helm:1")


class Desk:
    """A user with a helm item, the image of helm and perhaps a cluster."""

    def __init__(self, local, namespace):
        self.local, self.space = local, namespace
        self.image = local.write("helm.oci.tar", helm_image())
        local.write("config.yaml", json.dumps({"apiVersion": f"{GROUP}/v1alpha1", "kind": "Configuration", "helm": {"version": MAJOR}}))

    def item(self, files, *, is_release=False, **config):
        return self.local.documents({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": "item", "namespace": "example"},
            "spec": {"type": "landscaper.gardener.cloud/helm", "target": {"name": "cluster", "namespace": "example"}, "timeout": "5m",
                     "config": {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderConfiguration", "name": "app", "namespace": self.space,
                                "chart": raw(chart_archive(files)), "helmDeployment": is_release, **config}}})

    def target(self, apiserver):
        kubeconfig = yaml.safe_load(open(apiserver.kubeconfig))
        return self.local.documents({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
                                     "metadata": {"name": "cluster", "namespace": "example"},
                                     "spec": {"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {"kubeconfig": kubeconfig}}},
                                    name="target.yaml")

    def run(self, item, *more):
        return self.local.run(item, "--image", f"oci-archive:{self.image}", "--config", "config.yaml", *more)


def names(kube, namespace):
    return sorted(t["metadata"]["name"] for t in kube.items("configmaps", namespace) if t["metadata"]["name"] != "kube-root-ca.crt")


def outcomes(result):
    return {o["name"]: o["outcome"] for o in result.data["objects"]}


def test_a_chart_is_rendered_and_its_objects_are_printed(local):
    desk = Desk(local, "space")
    wanted = {"values": {"color": "blue", "more": True}, "exports": {"exports": [{"key": "seen.color", "jsonPath": ".Values.color"}]}}
    result = desk.run(desk.item(CHART, **wanted))
    assert result.code == 0, result
    printed = {t["metadata"]["name"]: t for t in yaml.safe_load_all(result.out)}
    rendered = [t for thing in template(chart_archive(CHART), wanted["values"], "space") for t in thing.get("items", [thing])]
    assert set(printed) == {t["metadata"]["name"] for t in rendered} == {"main", "one", "sub", "space-role"}
    for thing in rendered:
        assert printed[thing["metadata"]["name"]].get("data") == thing.get("data")
    # As the controller would apply them.
    assert printed["main"]["metadata"]["namespace"] == "space" and "namespace" not in printed["space-role"]["metadata"]
    assert printed["one"]["metadata"]["labels"][f"{GROUP}/deployitem"] == "item"

    # For programs, and of an item whose chart would be installed as a release. Nothing that was rendered stays on the disk.
    result = desk.run(desk.item(CHART, is_release=True, **wanted), "-o", "json")
    assert result.code == 0 and result.data["exports"] == {"seen": {"color": "blue"}}, result
    assert {t["metadata"]["name"]: t for t in result.data["manifests"]} == printed
    assert "state" not in result.data and set(result.data["durations"]) == {"image", "init", "main", "wait"}
    assert list((local.state_of("item") / "state").iterdir()) == []


def test_what_goes_wrong_is_told(local):
    desk = Desk(local, "space")
    failing = desk.run(desk.item({"templates/a.yaml": "{{ fail \"no color\" }}"}), "-o", "json")
    assert failing.code == 1 and failing.data["reason"] == "MainFailed" and "no color" in "".join(failing.data["logTail"]), failing
    assert list((local.state_of("item") / "state").iterdir()) == []
    # helm writes two lines before the document.
    broken = desk.run(desk.item({"crds/broken.yaml": "a: b\n  c: d\n"}), "-o", "json")
    assert broken.code == 125 and "app/crds/broken.yaml" in broken.data["error"] and "line 4" in broken.data["error"], broken
    item = desk.item(CHART)
    hopeless = desk.run(item, "--operation", "DELETE")
    assert hopeless.code == 2 and "--target FILE or --kubeconfig FILE" in " ".join(hopeless.err.split()), hopeless
    for option in ("--shell", "--imports"):
        refused = desk.run(item, option, *([item] if option == "--imports" else []))
        assert refused.code == 2 and f"option {option}" in refused.err, refused
    other = local.documents({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
                             "metadata": {"name": "clusterr", "namespace": "example"}, "spec": {"type": "x", "config": {}}}, name="other.yaml")
    missing = desk.run(item, "--target", other)
    assert missing.code == 2 and "clusterr" in missing.err and "kind: ConfigMap" not in missing.out, missing


def test_rendered_objects_are_applied_updated_and_removed(local, apiserver, kube, namespace):
    desk = Desk(local, namespace)
    exports = {"exports": [{"key": "color", "jsonPath": ".Values.color"},
                           {"key": "kube", "jsonPath": ".data.kube", "fromResource": {
                               "apiVersion": "v1", "kind": "ConfigMap", "name": "main", "namespace": namespace}}]}
    target = desk.target(apiserver)
    result = desk.run(desk.item(CHART, values={"more": True}, exports=exports), "--target", target, "-o", "json")
    version = kube.request("GET", "/version")["gitVersion"]
    assert result.code == 0 and result.data["exports"] == {"color": "red", "kube": version}, result
    assert outcomes(result) == dict.fromkeys(["main", "one", "sub", f"{namespace}-role"], "created") and "manifests" not in result.data
    assert {"main", "apply", "ready"} <= set(result.data["durations"])
    assert names(kube, namespace) == ["main", "one", "sub"]

    # What left the chart is removed. A chart that cannot be rendered changes nothing.
    result = desk.run(desk.item(CHART, values={"color": "green"}), "--target", target, "-o", "json")
    assert result.code == 0 and outcomes(result)["one"] == "removed" and outcomes(result)["main"] == "changed", result
    assert desk.run(desk.item({"templates/a.yaml": "{{ fail \"\" }}"}), "--target", target).code == 1
    assert names(kube, namespace) == ["main", "sub"] and kube.get("configmaps", "main", namespace)["data"]["color"] == "green"

    # The deletion needs neither helm nor a valid chart.
    gone = local.run(desk.item({}, chart={}), "--target", target, "--operation", "DELETE", "-o", "json")
    assert gone.code == 0 and set(outcomes(gone).values()) == {"removed"} and names(kube, namespace) == [], gone
    assert kube.find("rbac.authorization.k8s.io/v1/clusterroles", f"{namespace}-role") is None


def test_a_release_is_installed_upgraded_and_uninstalled(local, apiserver, kube, namespace):
    desk = Desk(local, namespace)
    local.write("kubeconfig", open(apiserver.kubeconfig, "rb").read())
    exports = {"exports": [{"key": "color", "jsonPath": ".Values.color"}]}
    for revision, color in ((1, "red"), (2, "blue")):
        item = desk.item(CHART, is_release=True, values={"color": color}, exports=exports)
        result = desk.run(item, "--kubeconfig", "kubeconfig", "-o", "json")
        assert result.code == 0 and result.data["exports"] == {"color": color}, result
        assert kube.get("configmaps", "main", namespace)["data"]["color"] == color
        assert kube.find("secrets", f"sh.helm.release.v1.app.v{revision}", namespace), revision
    text = " ".join([result.out, result.err])
    assert "client-key-data" not in text and "certificate" not in text
    result = desk.run(item, "--kubeconfig", "kubeconfig", "--operation", "DELETE", "-o", "json")
    assert result.code == 0 and names(kube, namespace) == [], result
    assert [s["metadata"]["name"] for s in kube.items("secrets", namespace) if "helm" in s["metadata"]["name"]] == []
