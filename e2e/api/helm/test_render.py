# SPDX-License-Identifier: Apache-2.0
"""Helm items with helmDeployment: false: the pod renders, the controller applies."""

import json
import subprocess

import pytest

from api.controller.harness import BUILD
from api.helm.harness import GROUP, VERSION, chart_archive, raw
from api.helm.requests import CAPABILITIES, RUN, check_requests_to_the_target, requests_of_job
from api.helm.templates import BIG
from bench.waiting import wait_until


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def rich_chart(crd_group):
    """A subchart, CRDs, a hook, a list, a schema, and templates that look at values, release and capabilities."""
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"things.{crd_group}"},
           "spec": {"group": crd_group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
    return chart_archive({
        "values.yaml": {"color": "red", "nested": {"size": 1, "keep": "yes"}, "list": True, "sub": {"word": "parent"}},
        "values.schema.json": '{"type": "object", "properties": {"color": {"type": "string"}}}',
        "crds/thing.yaml": crd,
        "templates/NOTES.txt": "These notes are not an object: {{ .Release.Name }}\n",
        "templates/main.yaml": """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-main
data:
  color: {{ .Values.color | quote }}
  size: {{ .Values.nested.size | quote }}
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
  things: {{ .Capabilities.APIVersions.Has "apiextensions.k8s.io/v1/CustomResourceDefinition" | quote }}
  install: {{ .Release.IsInstall | quote }}
---
apiVersion: %s/v1
kind: Thing
metadata:
  name: thing
  namespace: {{ .Release.Namespace }}
spec: {color: {{ .Values.color }}}
""" % crd_group,
        "templates/list.yaml": """{{ if .Values.list }}
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: "2"}}
{{ end }}""",
        "templates/hook.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
data: {a: hook}
""",
        "templates/tests/check.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: check, annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: hook-succeeded}, labels: {of: "{{ .Release.Name }}"}}
data: {a: test}
""",
        "templates/role.yaml": """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}-role"}
rules: []
""",
        "charts/sub/Chart.yaml": {"apiVersion": "v2", "name": "sub", "version": "0.1.0"},
        "charts/sub/values.yaml": {"word": "default"},
        "charts/sub/templates/sub.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {word: {{ .Values.word }}}\n",
    })


def test_a_chart_is_rendered_applied_updated_and_removed(world):
    group = f"{world.namespace}.example.com"
    archive = rich_chart(group)
    exports = {"exports": [{"key": "chart.color", "jsonPath": ".Values.color"}, {"key": "chart.kept", "jsonPath": "Values.nested.keep"},
                           {"key": "version", "jsonPath": ".Chart.Version"},
                           {"key": "size", "jsonPath": ".data.size", "fromResource": {
                               "apiVersion": "v1", "kind": "ConfigMap", "name": "app-main", "namespace": world.space}}]}
    values = {"color": "blue", "nested": {"size": 3}}
    world.start()
    world.deploy("item", raw(archive), values=values, exports=exports)
    status = world.succeeded("item")

    # Everything that helm renders on the command line is there, and equal to it.
    wanted = world.rendered(archive, values)
    assert world.recorded("item") == sorted(f"{kind}/{name}" for kind, name in wanted)
    world.check_objects(wanted, {f"{GROUP}/deployitem": "item"})
    # Hooks and tests are objects like all others.
    assert {"hook", "check"} <= set(world.names())
    version = world.kube.request("GET", "/version")["gitVersion"]
    assert world.found("app-main")["data"]["kube"] == version and world.found("app-main")["data"]["things"] == "true"
    assert world.kube.find(f"{group}/v1/things", "thing", world.space)["spec"] == {"color": "blue"}
    assert world.exported("item") == {"chart": {"color": "blue", "kept": "yes"}, "version": "1.0.0", "size": "3"}
    assert {c["type"]: c["status"] for c in status["conditions"]}["Ready"] == "True"
    world.wait_for_cleanup()

    # An update changes, adds and removes; what somebody else changed comes back.
    world.kube.patch("configmaps", "sub", {"data": {"word": "drifted"}}, world.space)
    world.update("item", raw(archive), job="job-2", values={"color": "green", "list": False})
    world.succeeded("item", "job-2")
    assert world.names() == ["app-main", "check", "hook", "sub"] and world.found("app-main")["data"]["color"] == "green"
    assert world.found("sub")["data"] == {"word": "parent"}
    assert "exportRef" not in world.status("item")
    assert len(world.kubelet.ran("item")) == 2

    # The deletion needs no pod.
    world.delete("item")
    world.wait_until_deleted("item")
    assert world.names() == [] and world.kube.find("rbac.authorization.k8s.io/v1/clusterroles", f"{world.space}-role") is None
    assert len(world.kubelet.ran("item")) == 2
    wait_until(lambda: world.host_objects() == [], "nothing is left on the host")


def test_the_pod_that_renders_has_no_credentials(world):
    archive = chart_archive({"templates/a.yaml": config_map("a", a="b")})
    pods = []
    world.kubelet.hold = pods.append
    world.start()
    world.deploy("item", raw(archive), values={"password": "hunter2hunter2"})
    world.succeeded("item")
    [pod] = pods
    secret = world.kube.find("secrets", "cluster", world.namespace)
    text = str(pod.object)
    assert "hunter2" not in text and secret["data"]["kubeconfig"] not in text
    [mounts] = [{m["name"] for m in c["volumeMounts"]} for c in pod.object["spec"]["containers"] if c["name"] == "main"]
    assert mounts == {"script", "shared-volume"}
    assert "KUBECONFIG" not in str(pod.container("main")["env"])


BROKEN = {
    "a document that is not YAML": ({"templates/bad.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: [}\n"},
                                    ("templates/bad.yaml", "line")),
    "a document without apiVersion": ({"templates/bad.yaml": "kind: ConfigMap\nmetadata: {name: a}\n"}, ("templates/bad.yaml", "apiVersion")),
    "a document that is a list": ({"templates/bad.yaml": "- a\n- b\n"}, ("templates/bad.yaml",)),
    "a template that fails": ({"templates/bad.yaml": '{{ fail "no color given" }}'}, ("no color given",)),
}


def test_nothing_is_dropped_silently(world):
    """Each broken chart fails with the file in the message, and applies nothing."""
    world.start()
    for number, (files, _) in enumerate(BROKEN.values()):
        archive = chart_archive({"templates/good.yaml": config_map("good", a="b"), **files})
        world.deploy(f"item-{number}", raw(archive), spec={"timeout": "2m"})
    for number, (name, (_, words)) in enumerate(BROKEN.items()):
        error = world.failed(f"item-{number}")["lastError"]
        assert all(word in error["message"] for word in words), (name, error)
    assert world.names() == []


def test_two_megabytes_of_objects_are_applied(world):
    """More than a Secret has room for."""
    world.start()
    world.deploy("item", raw(BIG))
    world.succeeded("item", timeout=120)
    assert len(world.names()) == 40
    assert len(world.found("app-7")["data"]["text"]) == 60000
    world.delete("item")
    world.wait_until_deleted("item")


@pytest.mark.parametrize("when", ["while helm renders", "before objects are recorded"])
def test_a_killed_controller_goes_on(world, when):
    archive = chart_archive({"templates/a.yaml": config_map("a", a="{{ .Values.a }}"), "templates/b.yaml": config_map("b", a="b")})
    first = world.start()

    def kill(pod):
        first.expected = False
        first.kill()

    if when == "while helm renders":
        world.kubelet.hold = kill
    world.deploy("item", raw(archive), values={"a": "1"})
    if when == "while helm renders":
        wait_until(lambda: not first.running, "the controller is killed")
    else:
        wait_until(lambda: world.status("item").get("providerStatus", {}).get("podStatus"), "the run is reported")
        kill(None)
    world.kubelet.hold = None
    world.start()
    world.succeeded("item")
    assert world.names() == ["a", "b"] and len(world.kubelet.ran("item")) == 1


def test_the_commands_know_the_type(tmp_path):
    """Without a cluster: validate and render. e2e/local/test_helm.py runs items."""
    provider = {"apiVersion": VERSION, "kind": "ProviderConfiguration", "name": "app", "namespace": "apps", "helmDeployment": False,
                "chart": {"ref": "r.example/charts/app:1.0.0"}, "values": {"a": "b"}}
    item = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": "item", "namespace": "team"},
            "spec": {"type": "landscaper.gardener.cloud/helm", "config": provider}}
    file = tmp_path / "item.yaml"

    def run(command, **change):
        file.write_text(json.dumps({**item, "spec": {**item["spec"], "config": {**provider, **change}}}))
        return subprocess.run([BUILD / "deployer" / "longshore", command, file], capture_output=True, text=True)

    assert run("validate").returncode == 0
    assert "chart.ref" in run("validate", chart={"ref": "oci://r.example/a:1"}).stdout
    assert "--output-dir" in run("render").stdout


def test_a_job_costs_a_run_and_one_request_for_each_changed_object(world):
    """The target: two requests for its capabilities and one for each object that is new or changed. What was there before is compared,
    with one list for each kind and namespace, so that drift is found."""
    world.start(config={"garbageCollection": {"disable": True}})  # its first pass would be counted with a job if the machine is busy
    for job, ours in check_requests_to_the_target(world):
        assert ours == sorted([*RUN, *["get secrets"] * 2]), job
    world.kube.patch("configmaps", "b", {"metadata": {"labels": None}, "data": {"a": "drifted"}}, world.space)
    theirs, _ = requests_of_job(world, "job-6", "232")
    assert theirs == sorted([*CAPABILITIES, "list configmaps", "get configmaps", "update configmaps"]) and world.found("b")["data"] == {"a": "3"}
