# SPDX-License-Identifier: Apache-2.0
"""Charts of helm items on one machine whose source needs credentials: they come from the Context and the Secrets that are given as files."""

import base64
import json

import pytest

from bench.chart_repository import basic, index, serving
from bench.charts import chart_archive
from bench.oci import Blob
from init.parts import context as repository_context
from init.parts import descriptor, push_artifact, push_component
from local.test_helm import Desk

CHART = chart_archive({"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
FILES = {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"]}), "/charts/app.tgz": CHART}
COMPONENT = "example.com/team/chart"
GOOD, WRONG = ("user", "CANARY-good"), ("user", "CANARY-wrong")


class Credentials(Desk):
    """The same user with a Context and a Secret for the source of the chart."""

    def __init__(self, local, namespace="space"):
        super().__init__(local, namespace)
        self.files = []

    def chart(self, **chart):
        self.wanted = self.item({}, chart=chart)

    def context(self, auths=None, **more):
        configurations = {"configurations": {"helmChartRepoCredentials": {"auths": auths}}} if auths else {}
        path = self.local.documents({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Context",
                                     "metadata": {"name": "default", "namespace": "example"}, **configurations, **more}, name="context.yaml")
        self.files = ["--context", path]

    def secret(self, name, data, **more):
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        path = self.local.documents({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "example"},
                                     "data": encoded, **more}, name="secret.yaml")
        self.files = [*self.files[:2], "--secret", path]

    def render(self, *more):
        result = self.run(self.wanted, *self.files, "--plain-http", "-o", "json", *more)
        assert "CANARY" not in result.out + result.err and basic(GOOD) not in result.out + result.err, result
        return result

    def succeeds(self):
        result = self.render()
        assert result.code == 0 and [m["metadata"]["name"] for m in result.data["manifests"]] == ["a"], result

    def fails(self, *parts, code=125):
        result = self.render()
        assert result.code == code and not [p for p in parts if p not in result.data["error"]], result


def repository(server, name="app"):
    return {"helmChartRepo": {"helmChartRepoUrl": f"{server.url}/charts", "helmChartName": name, "helmChartVersion": "1.0.0"}}


def test_a_classic_repository_with_missing_wrong_and_valid_credentials(local):
    desk = Credentials(local)
    with serving(FILES, credentials=GOOD) as server:
        desk.chart(**repository(server))
        refused = (f'"{server.url}/charts/index.yaml"', "401", "helmChartRepoCredentials")
        desk.fails(*refused)

        # An entry of the Context without its Secret, with another one, and with one that has no such key.
        entry = {"url": server.url, "secretRef": {"name": "chart-credentials"}}
        desk.context([{"url": "http://127.0.0.1:1", "authHeader": basic(GOOD)}, entry])
        secret = 'the Secret with the credentials of the chart repository "example/chart-credentials" not found in the files; '
        desk.fails(secret + "add it with --secret FILE", code=2)
        desk.secret("chart-credential", {"authHeader": basic(GOOD)})
        desk.fails(secret + 'they contain Secret "example/chart-credential" (did you mean that?)', code=2)
        desk.secret("chart-credentials", {"header": basic(GOOD)})
        desk.fails('Secret "chart-credentials"', 'no usable key "authHeader"', "secretRef.key", code=2)
        assert {sent for _, sent in server.seen} == {""}

        # A header that the server refuses, and the right one: in the Secret, under another key, and in the Context itself.
        desk.secret("chart-credentials", {"authHeader": basic(WRONG)})
        desk.fails(*refused)
        desk.secret("chart-credentials", {"authHeader": basic(GOOD), "other": basic(WRONG)})
        desk.succeeds()
        desk.secret("chart-credentials", {"authHeader": basic(WRONG), "other": basic(GOOD)})
        desk.context([{**entry, "secretRef": {"name": "chart-credentials", "key": "other"}}])
        desk.files += ["--secret", local.home / "secret.yaml"]
        desk.succeeds()
        desk.context([{"url": server.url, "authHeader": basic(WRONG)}])
        desk.fails(*refused)
        desk.context([{"url": server.url, "authHeader": basic(GOOD)}])
        desk.succeeds()


def test_a_classic_repository_that_a_component_names_needs_only_its_own_secret(local, registry):
    desk = Credentials(local)
    with serving(FILES, credentials=GOOD) as server:
        resource = {"name": "chart", "version": "1.0.0", "type": "helmChart", "relation": "external",
                    "access": {"type": "helm", "helmRepository": f"{server.url}/charts", "helmChart": "app:1.0.0"}}
        place = local.home.name.lower()
        push_component(registry.client(), place, descriptor(COMPONENT, resources=[resource]), [])
        key = {"component": {"name": COMPONENT, "version": "1.0.0"}, "resource": {"name": "chart"}}
        desk.chart(resourceRef=base64.b64encode(json.dumps(key).encode()).decode())
        of_component = {"repositoryContext": repository_context(f"{registry.url}/{place}")}
        lost = {"url": "http://127.0.0.1:1", "secretRef": {"name": "lost"}}
        desk.context([lost, {"url": server.url, "authHeader": basic(GOOD)}], **of_component)
        desk.succeeds()
        # That of the repository must be there.
        desk.context([{**lost, "url": server.url}], **of_component)
        desk.fails('the Secret with the credentials of the chart repository "example/lost" not found in the files', "--secret FILE")
        desk.secret("lost", {"authHeader": basic(WRONG)})
        desk.fails("401", "helmChartRepoCredentials")
        desk.secret("lost", {"authHeader": basic(GOOD)})
        desk.succeeds()


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
def test_a_private_registry_with_missing_wrong_and_valid_credentials(request, local, flavour):
    registry, desk = request.getfixturevalue(flavour), Credentials(local)
    place = f"{local.home.name.lower()}/charts/app"
    push_artifact(registry.client(), place, "1.0.0", Blob(CHART, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
                  "application/vnd.cncf.helm.config.v1+json")
    desk.chart(ref=f"{registry.host}/{place}:1.0.0")

    def pull_secret(user, password):
        desk.secret("pull", {".dockerconfigjson": json.dumps({"auths": {registry.host: {"username": user, "password": password}}})},
                    type="kubernetes.io/dockerconfigjson")

    refused = (f"{registry.host}/{place}", "registryPullSecrets")
    desk.fails(*refused)
    desk.context(registryPullSecrets=[{"name": "pull"}])
    desk.fails('"example/pull" not found in the files; add it with --secret FILE', code=2)
    pull_secret(*WRONG)
    desk.fails(*refused)
    pull_secret(*registry.credentials)
    desk.succeeds()
    # Those of the user's own docker login do as well.
    desk.files = []
    (local.home / ".docker").mkdir()
    local.write(".docker/config.json", json.dumps({"auths": {registry.host: dict(zip(("username", "password"), registry.credentials))}}))
    desk.succeeds()


def test_credentials_are_sent_to_their_own_host_only(local):
    """An index that leads to another server, and a redirect."""
    desk = Credentials(local)
    with serving({"/app.tgz": CHART}) as other, serving({"/charts/app.tgz": f"{other.url}/app.tgz", "/charts/index.yaml": index(
            {"version": "1.0.0", "urls": ["app.tgz"]}, {"version": "2.0.0", "urls": [f"{other.url}/app.tgz"]})}, credentials=GOOD) as server:
        desk.context([{"url": server.url, "authHeader": basic(GOOD)}])
        for version in ("1.0.0", "2.0.0"):
            desk.chart(helmChartRepo={**repository(server)["helmChartRepo"], "helmChartVersion": version})
            desk.succeeds()
        assert {path for path, _ in other.seen} == {"/app.tgz"} and {sent for _, sent in other.seen} == {""}
        assert {sent for _, sent in server.seen} == {basic(GOOD)}
