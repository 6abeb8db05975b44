# SPDX-License-Identifier: Apache-2.0
"""A release as users get it: images and charts from an OCI registry, verified, installed, upgraded from 0.1.0 and removed, on a real node."""

import hashlib
import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from bench import paths
from bench.connect_proxy import ConnectProxy
from bench.kube import DEPLOYITEMS, TARGETS
from bench.registry import Registry
from bench.waiting import wait_until
from init.test_registries import publish
from ship import containers, helm, old_release, release
from ship.items import API, SCRIPT, delete_item, export_of, finished, run_item, start_deletion, start_item
from ship.test_release import things

sys.path.insert(0, str(paths.CHECKOUT / "images"))
import signature  # noqa: E402

pytestmark = pytest.mark.node

NAME = "deployer"
FULL = f"{NAME}-container-deployer"
# Runs in one operation until the test lets it go on, so that the upgrade happens meanwhile.
WAITING = """
if [ "$OPERATION" = %s ]; then until [ -e "$STATE_PATH/go" ]; do sleep 0.2; done; fi
if [ "$OPERATION" = RECONCILE ]; then echo '{"done": true}' > "$EXPORTS_PATH"; fi
"""


@pytest.fixture(scope="module")
def published(node, tmp_path_factory):
    """The prefix of the images in the registry of the node, after the commands of docs/install.md have copied images and charts there."""
    released = release.files()
    home = tmp_path_factory.mktemp("home")
    prefix = f"{node.registry.host}/longshore"
    page = (paths.CHECKOUT / "docs" / "install.md").read_text()
    block = re.search(r"^    publish\(\) \{.*?^    publish [^\n]*$", page, re.MULTILINE | re.DOTALL)[0]
    environment = {**os.environ, **containers.configure(home, node.registry.host), "VERSION": released.version, "REGISTRY": prefix}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=released.directory, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, archive in old_release.archives(tmp_path_factory.mktemp("old")).items():
        subprocess.run(["skopeo", "copy", "--quiet", f"oci-archive:{archive}:v{old_release.VERSION}", f"docker://{prefix}/{name}:v{old_release.VERSION}"],
                       env=environment, check=True, capture_output=True)
    return prefix


def chart_of(published):
    return [f"oci://{published}/charts/container-deployer", "--version", release.files().version, "--plain-http"]


def call(node, namespace, *arguments, **options):
    return helm.run(*arguments, kubeconfig=node.kubeconfig, namespace=namespace, **options)


def verify(client, repository, digest, public):
    """Verifies the signature of a manifest as cosign does: signature and signed text come from the registry."""
    layer, = json.loads(release.pull(client, repository, digest.replace(":", "-") + ".sig"))["layers"]
    payload = client.request("GET", f"{client.url}/v2/{repository}/blobs/{layer['digest']}", repository)[1]
    assert signature.verify(payload, layer["annotations"]["dev.cosignproject.cosign/signature"], public), repository
    assert json.loads(payload)["critical"]["image"]["docker-manifest-digest"] == digest


def test_images_and_chart_in_the_registry_have_valid_signatures(node, published, tmp_path):
    released, client = release.files(), node.registry.client()
    for name, tag in [*((name, f"v{released.version}") for name in release.RELEASED), ("charts/container-deployer", released.version)]:
        manifest = release.pull(client, f"longshore/{name}", tag)
        for digest in ["sha256:" + hashlib.sha256(manifest).hexdigest(), *(image["digest"] for image in json.loads(manifest).get("manifests", []))]:
            verify(client, f"longshore/{name}", digest, released.public)
    # The commands of the page for those who do not have cosign.
    page = (paths.CHECKOUT / "docs" / "install.md").read_text()
    block = re.search(r"^    digest=.*?^    grep [^\n]*$", page, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "longshore.pub").write_bytes(released.public.read_bytes())
    environment = {**os.environ, **containers.configure(tmp_path, node.registry.host), "VERSION": released.version, "REGISTRY": published}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "Verified OK" in done.stdout, done.stdout + done.stderr


def images_of(node, namespace):
    """The names of the images that the pods of the release use."""
    return {container["image"] for pod in node.kube.items("pods", namespace) for container in pod["spec"]["containers"]
            if pod["metadata"]["name"].startswith(FULL)}


def main_is_running(node, namespace, name):
    for pod in node.kube.items("pods", namespace):
        if pod["metadata"].get("labels", {}).get("deployitem.container.deployer.landscaper.gardener.cloud/name") == name:
            states = {status["name"]: status["state"] for status in pod["status"].get("containerStatuses", [])}
            if "running" in states.get("main", {}):
                return pod
    return None


def let_go(node, pod):
    node.sandbox.run("touch", f"{node.volume_of(pod, 'shared-volume')}/state/go")


def test_a_release_of_0_1_0_is_upgraded_while_items_run_and_uninstalled_without_leftovers(node, node_namespace, published, tmp_path):
    """0.1.0 are the chart and the programs of that time: controller, init and wait."""
    kube, namespace = node.kube, node_namespace
    version = release.files().version
    kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    before = things(node, namespace)
    call(node, namespace, "install", NAME, old_release.chart(tmp_path), "--wait", "--timeout", "3m",
         values={"imageRegistry": published, "deployer": {"identity": "shore"}})
    assert images_of(node, namespace) == {f"{published}/longshore:v0.1.0"}
    assert export_of(node, run_item(node, namespace, "counter", SCRIPT, "job-1")) == {"count": 1}

    # Items whose main runs during the upgrade: one reconciles, one is being deleted.
    run_item(node, namespace, "leaving", WAITING % "DELETE", "job-1")
    start_deletion(node, namespace, "leaving", "job-2")
    start_item(node, namespace, "running", WAITING % "RECONCILE", "job-1")
    pods = {name: wait_until(lambda: main_is_running(node, namespace, name), f"main of {name} runs", 120) for name in ("leaving", "running")}
    assert {container["image"] for pod in pods.values() for container in pod["spec"]["initContainers"]} == {f"{published}/longshore-init:v0.1.0"}

    call(node, namespace, "upgrade", NAME, *chart_of(published), "--reset-then-reuse-values", "--wait", "--timeout", "3m")
    wait_until(lambda: images_of(node, namespace) == {f"{published}/longshore:v{version}"}, "only new pods", 120)
    call(node, namespace, "test", NAME, "--timeout", "2m")

    # The same pods go on; the new controller reports their results.
    for name, pod in pods.items():
        assert main_is_running(node, namespace, name)["metadata"]["uid"] == pod["metadata"]["uid"]
        let_go(node, pod)
    item = finished(node, namespace, "running", "job-1")
    assert item["status"]["phase"] == "Succeeded" and export_of(node, item) == {"done": True}, item["status"]
    kube.wait_for(DEPLOYITEMS, "leaving", lambda found: found is None, namespace, timeout=180)
    # State of the old release is found, and its values are kept.
    item = run_item(node, namespace, "counter", SCRIPT, "job-2")
    assert (export_of(node, item), item["status"]["deployer"]["identity"]) == ({"count": 2}, "shore"), item["status"]

    for name in ("counter", "running"):
        delete_item(node, namespace, name, "job-3")
    call(node, namespace, "uninstall", NAME, "--wait", "--timeout", "2m")
    wait_until(lambda: things(node, namespace) <= before, "removal of all objects", 60)


@pytest.fixture
def example(node, node_namespace, published):
    """Installs an example of the chart with changes, and removes the release and its items after the test."""
    created = []

    def install(name, *options, namespaces=(), proxy="http://proxy.example:3128"):
        for namespace in namespaces:
            node.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            created.append(namespace)
        text = (helm.CHART / "examples" / f"{name}.yaml").read_text().replace("registry.example/longshore", published)
        call(node, node_namespace, "install", NAME, *chart_of(published), *options, "--wait", "--timeout", "3m",
             values=yaml.safe_load(text.replace("http://proxy.example:3128", proxy)))
        call(node, node_namespace, "test", NAME, "--timeout", "2m")

    yield install
    if NAME in call(node, node_namespace, "list", "--short").split():
        call(node, node_namespace, "uninstall", NAME, "--wait", "--timeout", "2m")
    for namespace in created:
        for item in node.kube.items(DEPLOYITEMS, namespace):
            node.kube.patch(DEPLOYITEMS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace)
        node.kube.delete("namespaces", namespace)


@pytest.fixture
def private_registry(node):
    """With TLS and a certificate of a private authority."""
    registry = Registry(tls=True, location=node.sandbox)
    yield registry
    registry.close()


def test_the_example_for_one_cluster_installs_and_init_uses_its_proxy_and_certificates(node, node_namespace, example, private_registry):
    content = 'if [ "$OPERATION" = RECONCILE ]; then echo "{\\"content\\": \\"$(cat "$CONTENT_PATH/data")\\"}" > "$EXPORTS_PATH"; fi'
    with ConnectProxy(node.sandbox.test_address) as proxy:
        example("same-cluster", "--set-file", f"deployer.oci.caBundle={private_registry.authority.certificate}", proxy=proxy.url)
        assert node.kube.get("apps/v1/deployments", FULL, node_namespace)["status"]["readyReplicas"] == 2
        item = run_item(node, node_namespace, "component", content, "job-1", config=publish(private_registry))
        assert item["status"]["phase"] == "Succeeded" and export_of(node, item) == {"content": "x"}, item["status"]
        assert set(proxy.requests) == {("CONNECT", private_registry.host)}
        delete_item(node, node_namespace, "component", "job-2")


def test_the_example_for_two_clusters_installs(node, node_namespace, example):
    """The other cluster is this one, reached through a kubeconfig."""
    kubeconfig = node.kubeconfig.read_text()
    node.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "landscaper-kubeconfig", "namespace": node_namespace},
                      "stringData": {"kubeconfig": kubeconfig}})
    example("two-clusters")
    node.kube.create({"apiVersion": API, "kind": "Target", "metadata": {"name": "target", "namespace": node_namespace, "annotations": {"region": "europe"}},
                      "spec": {"type": "example.test/target", "config": {}}})
    assert node.kube.get(TARGETS, "target", node_namespace)
    item = run_item(node, node_namespace, "counter", SCRIPT, "job-1", spec={"target": {"name": "target", "namespace": node_namespace}})
    assert item["status"]["phase"] == "Succeeded" and item["status"]["deployer"]["identity"] == "europe", item["status"]
    delete_item(node, node_namespace, "counter", "job-2")


def restrictions_apply_to_runs(node, runs):
    """The quota counts the pod of a run, the limits are its defaults, and the policy selects it."""
    start_item(node, "team-a", "restricted", WAITING % "RECONCILE", "job-1")
    pod = wait_until(lambda: main_is_running(node, runs, "restricted"), "main of restricted runs", 120)
    limits = {container["name"]: container["resources"]["limits"]["memory"] for container in pod["spec"]["containers"]}
    assert limits["main"] == "512Mi", limits
    quota = node.kube.get("resourcequotas", f"{FULL}-runs", runs)
    assert quota["spec"]["hard"]["pods"] == "50" and int(quota["status"]["used"]["pods"]) >= 1, quota["status"]
    policy = node.kube.get("networking.k8s.io/v1/networkpolicies", f"{FULL}-runs", runs)
    assert {entry["key"] for entry in policy["spec"]["podSelector"]["matchExpressions"]} <= pod["metadata"]["labels"].keys()
    let_go(node, pod)
    assert finished(node, "team-a", "restricted", "job-1")["status"]["phase"] == "Succeeded"
    delete_item(node, "team-a", "restricted", "job-2")


def test_the_example_with_a_namespace_for_runs_installs_without_a_cluster_role(node, node_namespace, example):
    runs = "longshore-runs"
    example("separate-namespace", namespaces=["team-a", "team-b"])
    try:
        names = {role["metadata"]["name"] for role in node.kube.items("rbac.authorization.k8s.io/v1/clusterroles")}
        assert FULL not in names
        for namespace in ("team-a", "team-b"):
            item = run_item(node, namespace, "counter", SCRIPT, "job-1")
            assert item["status"]["phase"] == "Succeeded" and export_of(node, item) == {"count": 1}, item["status"]
        restrictions_apply_to_runs(node, runs)
        # The state of both is in the namespace of the runs, which an uninstallation keeps.
        assert [secret for secret in node.kube.items("secrets", runs) if secret["metadata"]["name"].startswith("state-")]
        for namespace in ("team-a", "team-b"):
            delete_item(node, namespace, "counter", "job-2")
        call(node, node_namespace, "uninstall", NAME, "--wait", "--timeout", "2m")
        assert node.kube.get("namespaces", runs)["status"]["phase"] == "Active"
    finally:
        node.kube.delete("namespaces", runs)
