# SPDX-License-Identifier: Apache-2.0
"""Longshore as a DeployerRegistration, in both forms. Helm stands in for Landscaper: both render Go templates with sprig."""

import base64
import gzip
import hashlib
import io
import json
import subprocess
import tarfile

import pytest
import yaml

from controller_harness import PROGRAM
from registrations_harness import REGISTRATIONS
from ship import helm
from ship.registration import blueprint_of, build

RELEASE, NAMESPACE = "longshore-one", "deployers"
SELECTORS = [{"annotations": [{"key": "landscaper.gardener.cloud/environment", "operator": "exists"}]}]
IMPORTS = {"releaseName": RELEASE, "releaseNamespace": NAMESPACE, "identity": RELEASE, "targetSelectors": SELECTORS, "values": {},
           "landscaperCluster": {"spec": {"config": {"kubeconfig": "apiVersion: v1\nkind: Config\n"}}}}


@pytest.fixture(scope="module")
def inline():
    return build("inline")


def render(blueprint, imports, directory):
    """The DeployItem that Landscaper makes."""
    directory.mkdir(exist_ok=True)
    (directory / "templates").mkdir(exist_ok=True)
    (directory / "Chart.yaml").write_text("apiVersion: v2\nname: blueprint\nversion: 0.1.0\n")
    (directory / "templates" / "item.yaml").write_text("{{- with .Values }}\n" + blueprint["deployExecutions"][0]["template"] + "{{- end }}\n")
    text = helm.run("template", "x", directory, values={"imports": imports})
    [item] = yaml.safe_load(text)["deployItems"]
    return item


def objects(item):
    assert all(entry["policy"] == "manage" for entry in item["config"]["manifests"])
    return {(m["kind"], m["metadata"]["name"]): m for m in (entry["manifest"] for entry in item["config"]["manifests"])}


def test_the_inline_blueprint_makes_the_objects_of_the_chart(inline, tmp_path):
    item = render(blueprint_of(inline), IMPORTS, tmp_path / "chart")
    assert item["type"] == "landscaper.gardener.cloud/kubernetes-manifest" and item["target"] == {"import": "cluster"}
    made = objects(item)
    values = {"fullnameOverride": RELEASE, "admissionPolicy": {"enabled": False}, "image": {"repository": "registry.example/longshore/longshore", "tag": "v0.1.0"},
              "deployer": {"identity": RELEASE, "namespace": NAMESPACE, "targetSelector": SELECTORS, "manifest": {"enabled": True},
                           "landscaperClusterKubeconfig": {"secretRef": f"{RELEASE}-landscaper-cluster-kubeconfig"},
                           "initContainer": {"repository": "registry.example/longshore/longshore-init", "tag": "v0.1.0"},
                           "waitContainer": {"repository": "registry.example/longshore/longshore-wait", "tag": "v0.1.0"}}}
    wanted = {(t["kind"], t["metadata"]["name"]): t for t in helm.template(values, release=RELEASE, namespace=NAMESPACE) if t["kind"] != "Pod"}
    access = made.pop(("Secret", f"{RELEASE}-landscaper-cluster-kubeconfig"))
    assert access["stringData"]["kubeconfig"] == IMPORTS["landscaperCluster"]["spec"]["config"]["kubeconfig"]
    assert sorted(made) == sorted(wanted)
    config = json.loads(made[("Secret", f"{RELEASE}-config")].pop("stringData")["config.yaml"])
    assert config == yaml.safe_load(base64.b64decode(wanted[("Secret", f"{RELEASE}-config")].pop("data")["config.yaml"]))
    for key, thing in wanted.items():
        assert without_details(made[key]) == without_details(thing), key


def without_details(thing):
    """Without what only Helm's or only the blueprint's objects have: the manager, checksums, and empty members."""
    thing = json.loads(json.dumps({key: value for key, value in thing.items() if value is not None}))
    template = thing.get("spec", {}).get("template", {}).get("metadata", {})
    for labels in (thing["metadata"].get("labels", {}), template.get("labels", {})):
        labels.pop("app.kubernetes.io/managed-by", None)
    for name in [name for name in template.get("annotations", {}) if name.startswith("checksum/")]:
        del template["annotations"][name]
    return thing


def test_a_new_token_or_configuration_replaces_the_pods(inline, tmp_path):
    def checksum(number, **changes):
        made = objects(render(blueprint_of(inline), {**IMPORTS, **changes}, tmp_path / str(number)))
        return made[("Deployment", RELEASE)]["spec"]["template"]["metadata"]["annotations"]["checksum/imports"]

    sums = [checksum(0), checksum(1), checksum(2, landscaperCluster={"spec": {"config": {"kubeconfig": "other"}}}), checksum(3, identity="other"),
            checksum(4, values={"podAnnotations": {"longshore.deployers.landscaper.gardener.cloud/token-renewals": "1"}})]
    assert sums[0] == sums[1] and len(set(sums)) == 4


def test_with_access_by_the_agent_its_secret_is_mounted(inline, tmp_path):
    imports = {key: value for key, value in IMPORTS.items() if key != "landscaperCluster"}
    made = objects(render(blueprint_of(inline), imports, tmp_path / "chart"))
    assert not [name for kind, name in made if "kubeconfig" in name]
    volumes = made[("Deployment", RELEASE)]["spec"]["template"]["spec"]["volumes"]
    assert f"{RELEASE}-landscaper-access" in [v.get("secret", {}).get("secretName") for v in volumes]


def test_texts_of_an_environment_cannot_change_the_structure(inline, tmp_path):
    hostile = '"}, "x": {{ .imports }} \n- {y: ((z))}'
    made = objects(render(blueprint_of(inline), {**IMPORTS, "targetSelectors": [{"targets": [{"name": hostile}]}], "releaseNamespace": hostile},
                          tmp_path / "chart"))
    assert len(made) == len(objects(render(blueprint_of(inline), IMPORTS, tmp_path / "plain")))
    assert made[("Deployment", RELEASE)]["metadata"]["namespace"] == hostile
    assert json.loads(made[("Secret", f"{RELEASE}-config")]["stringData"]["config.yaml"])["targetSelector"][0]["targets"][0]["name"] == hostile


def test_both_forms_are_valid_and_the_api_server_accepts_them(inline, registrations_server, tmp_path):
    archive = tmp_path / "component.tgz"
    component = build("ctf", "--output", str(archive), "--name", "longshore-component")
    for registration in (inline, component):
        file = tmp_path / "registration.json"
        file.write_text(json.dumps(registration))
        done = subprocess.run([PROGRAM, "validate", "--strict", file], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        registrations_server.kube.create(registration)
        registrations_server.kube.delete(REGISTRATIONS, registration["metadata"]["name"])
    item = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": "longshore", "namespace": "default"},
            "spec": {**render(blueprint_of(inline), IMPORTS, tmp_path / "chart"), "target": {"name": "one"}}}
    del item["spec"]["name"]
    file = tmp_path / "item.json"
    file.write_text(json.dumps(item))
    done = subprocess.run([PROGRAM, "validate", "--strict", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_component_has_the_resources_that_the_original_blueprint_expects(inline, tmp_path):
    """A transport archive: every blob has its digest, and the same bytes are written each time."""
    first, second = tmp_path / "a.tgz", tmp_path / "b.tgz"
    registration = build("ctf", "--output", str(first))
    build("ctf", "--output", str(second))
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar.getmembers()}
    for name, data in files.items():
        assert name == "artifact-index.json" or name == f"blobs/sha256.{hashlib.sha256(data).hexdigest()}"
    reference = registration["spec"]["installationTemplate"]["componentDescriptor"]["ref"]
    [artifact] = json.loads(files["artifact-index.json"])["artifacts"]
    assert artifact["repository"] == f"component-descriptors/{reference['componentName']}" and artifact["tag"] == reference["version"]

    def blob(digest):
        return files[f"blobs/{digest.replace(':', '.')}"]

    manifest = json.loads(blob(artifact["digest"]))
    with tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0]["digest"]))) as tar:
        descriptor = yaml.safe_load(tar.extractfile("component-descriptor.yaml").read())
    resources = {r["name"]: r for r in descriptor["component"]["resources"]}
    assert set(resources) == {"container-deployer-blueprint", "container-deployer-chart", "container-deployer-image", "container-init-image",
                              "container-wait-image"}
    local = resources["container-deployer-blueprint"]["access"]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(local["localReference"])))) as tar:
        assert json.loads(tar.extractfile("blueprint.yaml").read()) == blueprint_of(inline)
