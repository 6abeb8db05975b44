# SPDX-License-Identifier: Apache-2.0
"""The admission policy of the chart: what the token of a wait container may do with Secrets, on a real API server."""

import copy
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

import pytest
import yaml

from bench import paths
from bench.kube import ApiError
from bench.waiting import wait_until
from ship import helm

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
GROUP = "container.deployer.landscaper.gardener.cloud"
OURS = f"longshore.{GROUP}"
UUID = "0b6cbd4c-4a3c-4c3e-9a52-0c6b1d5f3a10"
ITEMS = {"plain": ("team-a", "hello"), "dotted": ("team-a", "db.v1.main"), "long": ("team-a", "n" * 50 + ".x" + "y" * 150),
         "cut at dashes": ("team-a", "m" * 38 + "-" * 8 + "rest"), "too long for Go": ("n" * 60, "l" * 35 + "-" * 8 + "x" * 205), "digits": ("1", "0")}


def hash_of(namespace, name):
    return hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:16]


@functools.cache
def render(namespace, name, host):
    """The objects that the controller would create for an item: {kind: object}."""
    item = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": "landscaper.gardener.cloud/container", "config": {
                "apiVersion": f"{GROUP}/v1alpha1", "kind": "ProviderConfiguration", "image": "registry.example/image:1"}}}
    config = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Configuration", "namespace": host}
    with tempfile.TemporaryDirectory() as directory:
        files = [pathlib.Path(directory) / "config.yaml", pathlib.Path(directory) / "item.yaml"]
        for file, content in zip(files, (config, item)):
            file.write_text(json.dumps(content))
        done = subprocess.run([BUILD / "deployer" / "longshore", "render", "--config", files[0], files[1]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {thing["kind"]: thing for thing in yaml.safe_load_all(done.stdout) if thing}


def labels_of(namespace, name):
    """The labels of the item on objects that wait writes."""
    labels = render(namespace, name, "any")["ServiceAccount"]["metadata"]["labels"]
    return {key: value for key, value in labels.items() if key.partition("/")[0] in (f"deployitem.{GROUP}", OURS, "app.kubernetes.io")}


def secret(namespace, name, called, kind=None):
    labels = labels_of(namespace, name)
    labels.update({f"{GROUP}/type": "state"} if kind == "state" else {f"{OURS}/role": "run"})
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"config": "e30="},
            "metadata": {"name": called, "labels": labels, "annotations": {f"{OURS}/job": "1", f"{GROUP}/num": "0"}}}


class Wait:
    """The account and the settings of a wait container, as the controller creates them."""

    def __init__(self, apiserver, host, namespace, name):
        self.kube, self.host, self.item = apiserver.kube, host, (namespace, name)
        made = render(namespace, name, host)
        for kind in ("ServiceAccount", "Role", "RoleBinding"):
            apiserver.kube.apply(made[kind])
        container, = [container for container in made["Pod"]["spec"]["containers"] if container["name"] == "wait"]
        settings = {entry["name"]: entry.get("value") for entry in container["env"]}
        self.export = made["Pod"]["metadata"]["annotations"][f"{OURS}/export"]
        self.prefix = settings["LONGSHORE_STATE_NAME_PREFIX"].rstrip("-")
        self.client = apiserver.token_client(apiserver.kube.token(made["ServiceAccount"]["metadata"]["name"], host))
        wait_until(lambda: self.may("create") and self.may("update", self.export), "the API server to apply the Role", 30)

    def may(self, verb, name=""):
        wanted = {"namespace": self.host, "verb": verb, "resource": "secrets", "name": name}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": wanted}}
        return self.client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body=review)["status"]["allowed"]

    def state(self, called=None):
        return secret(*self.item, called or f"{self.prefix}-{UUID}-0", "state")

    def exported(self):
        return secret(*self.item, self.export)

    def create(self, thing):
        return self.client.create(thing, self.host)


@pytest.fixture(scope="module")
def in_force(apiserver):
    """Installs the policy of a release in this namespace and waits until it is enforced."""
    kube, namespace = apiserver.kube, "admission-policy"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    things = helm.render(apiserver, namespace=namespace)
    made = [helm.find(things, "ValidatingAdmissionPolicy"), helm.find(things, "ValidatingAdmissionPolicyBinding")]
    for thing in made:
        kube.apply(thing)
    probe = Wait(apiserver, namespace, "probe", "probe")

    def refuses():
        try:
            probe.client.request("POST", kube.path("secrets", namespace=namespace), query={"dryRun": "All"},
                                 body={"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "anything"}})
        except ApiError as error:
            return "ValidatingAdmissionPolicy" in error.message
        return False
    wait_until(refuses, "the policy to be enforced", 60)
    yield namespace
    for thing in made:
        kube.delete(kube.resource_of(thing), thing["metadata"]["name"])
    kube.delete("namespaces", namespace)


@pytest.fixture
def policy(kube, in_force):
    yield in_force
    kube.delete_all("secrets", in_force)


@pytest.fixture
def wait(apiserver, policy):
    return Wait(apiserver, policy, "team-a", "hello")


@pytest.mark.parametrize("which", ITEMS)
def test_wait_can_write_its_own_state_and_export(apiserver, policy, which):
    """Uses the names that the controller generates, so that the test fails if the policy and the controller differ."""
    wait = Wait(apiserver, policy, *ITEMS[which])
    wait.create(wait.state())
    made = wait.create(wait.exported())
    made["data"] = {"config": "e30K"}
    wait.client.replace(made)


def refused(call, *arguments):
    with pytest.raises(ApiError) as caught:
        call(*arguments)
    assert caught.value.status in (403, 422) and "ValidatingAdmissionPolicy" in caught.value.message
    return caught.value.message


def test_wait_cannot_get_the_token_of_another_account(wait, kube):
    for thing in (wait.state(), wait.exported()):
        thing["type"] = "kubernetes.io/service-account-token"
        thing["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "default"}
        kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": wait.host}})
        assert "Opaque" in refused(wait.create, thing)


@pytest.mark.parametrize("kind", ["kubernetes.io/dockerconfigjson", "kubernetes.io/tls", "helm.sh/release.v1", "bootstrap.kubernetes.io/token"])
def test_other_secret_types_are_rejected(wait, kind):
    thing = wait.state()
    thing["type"] = kind
    with pytest.raises(ApiError):
        wait.create(thing)


@pytest.mark.parametrize("called", [
    "anything", "team-b-hello-export", "state-x", "sh.helm.release.v1.deployer.v1", f"state-{UUID}", f"x-state-a-{UUID}-0", f"state-a-{UUID}-0-more"])
def test_names_of_other_secrets_are_rejected(wait, called):
    refused(wait.create, wait.state(called))
    thing = wait.exported()
    thing["metadata"]["name"] = called
    refused(wait.create, thing)


def test_state_of_another_item_is_rejected(wait):
    others = {"item of another name": ("team-a", "other"), "item of the same start": ("team-a", "hello-more"), "same name elsewhere": ("team-b", "hello")}
    for item in others.values():
        refused(wait.create, secret(*item, f"state-x-{UUID}-0", "state"))
        forged = secret(*item, f"state-x-{UUID}-0", "state")  # the right hash with the wrong name; the Go deployer uses the name
        forged["metadata"]["labels"][f"{OURS}/item"] = hash_of("team-a", "hello")
        refused(wait.create, forged)


def test_secrets_without_the_labels_of_the_item_are_rejected(wait):
    for label in (f"{OURS}/item", f"deployitem.{GROUP}/name", f"deployitem.{GROUP}/namespace"):
        thing = wait.state()
        del thing["metadata"]["labels"][label]
        refused(wait.create, thing)
    thing = wait.state()
    del thing["metadata"]["labels"]
    refused(wait.create, thing)


def test_an_export_cannot_be_changed_into_state(wait):
    made = wait.create(wait.exported())
    changed = copy.deepcopy(made)
    changed["metadata"]["labels"][f"{GROUP}/type"] = "state"
    refused(wait.client.replace, changed)
    changed = copy.deepcopy(made)
    changed["metadata"]["labels"][f"{OURS}/item"] = hash_of("team-b", "hello")
    refused(wait.client.replace, changed)


def test_annotations_that_control_other_programs_are_rejected(wait):
    changes = [("labels", {"argocd.argoproj.io/secret-type": "cluster"}), ("annotations", {"reflector.example/allowed": "true"}),
               ("finalizers", ["example.test/stay"]),
               ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": UUID}])]
    for field, value in changes:
        thing = wait.state()
        thing["metadata"][field] = {**thing["metadata"][field], **value} if isinstance(value, dict) else value
        refused(wait.create, thing)


def test_other_accounts_and_other_namespaces_are_not_affected(apiserver, policy, kube):
    for account in ("builder", "hello-run", "hello-0123456789abcdeg-run"):
        token = apiserver.service_account(account, policy)
        kube.allow(f"{policy}:{account}", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}], policy,
                   name=account, kind="ServiceAccount")
        client = apiserver.token_client(token)
        wait_until(lambda: _creates(client, account, policy), f"{account} may create Secrets", 30)


def _creates(client, name, namespace):
    try:
        return client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"of-{name}"}}, namespace)
    except ApiError as error:
        if "ValidatingAdmissionPolicy" in error.message:
            raise
        return None  # RBAC rules take effect with a delay
