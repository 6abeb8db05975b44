# SPDX-License-Identifier: Apache-2.0
"""Where charts come from: the controller reads the credentials, the real init uses them. More sources: e2e/init/test_chart.py."""

import base64
import json

import pytest

from api.helm.harness import chart_archive, raw
from bench.certificates import session_authority
from bench.chart_repository import basic, index, serving
from bench.oci import Blob
from init.parts import context, descriptor, push_artifact, push_component

CHART = chart_archive({"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
FILES = {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"]}), "/charts/app.tgz": CHART}
PLAIN = {"oci": {"allowPlainHttp": True}}
COMPONENT = "example.com/team/chart"


def credentials(world, auths, **more):
    world.context(configurations={"helmChartRepoCredentials": {"auths": auths}}, **more)


def texts(world, name):
    """Everything that users and operators can read about an item."""
    return json.dumps([world.status(name), world.events(name)]) + "".join(c.output() for c in world.controllers)


def check_credentials(world, server, chart):
    """None, wrong, valid, and rotated, for a repository whose entry of the Context has a Secret."""
    header = {"good": basic(("user", "secret-1")), "wrong": basic(("user", "CANARY-wrong"))}
    world.start(config=PLAIN)
    world.deploy("item", chart)
    error = world.failed("item")["lastError"]["message"]
    assert "401" in error, error
    world.secret("chart-credentials", {"authHeader": header["wrong"]})
    credentials(world, [{"url": "http://127.0.0.1:1", "authHeader": header["good"]},
                        {"url": server.url, "secretRef": {"name": "chart-credentials"}}], **world.more)
    world.trigger("item", "job-2")
    error = world.failed("item", "job-2")["lastError"]["message"]
    assert "401" in error and "helmChartRepoCredentials" in error, error
    world.secret("chart-credentials", {"authHeader": header["good"]})
    world.trigger("item", "job-3")
    world.succeeded("item", "job-3")
    server.credentials = ("user", "secret-2")
    world.trigger("item", "job-4")
    world.failed("item", "job-4")
    world.secret("chart-credentials", {"authHeader": basic(server.credentials)})
    world.trigger("item", "job-5")
    world.succeeded("item", "job-5")
    told = texts(world, "item")
    for secret in ("CANARY-wrong", "secret-1", "secret-2", *header.values()):
        assert secret not in told and secret.removeprefix("Basic ") not in told


def test_a_classic_repository_with_wrong_valid_and_rotated_credentials(world):
    world.more = {}
    with serving(FILES, credentials=("user", "secret-1")) as server:
        check_credentials(world, server, {"helmChartRepo": {
            "helmChartRepoUrl": f"{server.url}/charts", "helmChartName": "app", "helmChartVersion": "1.0.0"}})


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
def test_a_private_registry_with_wrong_valid_and_rotated_credentials(request, world, flavour):
    """The chart of chart.ref, with the credentials of the Context."""
    registry = request.getfixturevalue(flavour)
    place = f"{world.namespace}/charts/app"
    push_artifact(registry.client(), place, "1.0.0", Blob(CHART, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
                  "application/vnd.cncf.helm.config.v1+json")

    def use(credentials):
        entry = dict(zip(("username", "password"), credentials))
        world.secret("pull", {".dockerconfigjson": {"auths": {registry.host: entry}}}, type="kubernetes.io/dockerconfigjson")

    def fails(job):
        world.trigger("item", job)
        error = world.failed("item", job)["lastError"]["message"]
        assert "registryPullSecrets" in error, error

    world.start(config=PLAIN)
    use(("ship", "CANARY-wrong"))
    world.context(registryPullSecrets=[{"name": "pull"}])
    world.deploy("item", {"ref": f"{registry.host}/{place}:1.0.0"}, job=None)
    fails("job-1")
    use(registry.credentials)
    world.trigger("item", "job-2")
    world.succeeded("item", "job-2")
    assert world.names() == ["a"]
    with registry.rotated("CANARY-rotated") as rotated:
        fails("job-3")
        use(rotated)
        world.trigger("item", "job-4")
        world.succeeded("item", "job-4")
    assert "CANARY" not in texts(world, "item")


def test_a_private_certificate_authority_of_a_repository(world):
    """customCAData of the Context. Credentials need no permission for plain HTTP then."""
    authority = session_authority()
    with serving(FILES, credentials=("user", "CANARY-secret"), authority=authority) as server:
        auth = {"url": server.url, "authHeader": basic(server.credentials)}
        credentials(world, [auth])
        world.start()
        world.deploy("item", {"helmChartRepo": {"helmChartRepoUrl": f"{server.url}/charts", "helmChartName": "app", "helmChartVersion": "1.0.0"}})
        error = world.failed("item")["lastError"]["message"]
        assert "certificate" in error and server.seen == [], error
        credentials(world, [{**auth, "customCAData": authority.certificate.read_text()}])
        world.trigger("item", "job-2")
        world.succeeded("item", "job-2")
    assert world.names() == ["a"] and "CANARY" not in texts(world, "item")


def resource_ref(name):
    key = {"component": {"name": COMPONENT, "version": "1.0.0"}, "resource": {"name": name}}
    return {"resourceRef": base64.b64encode(json.dumps(key).encode()).decode()}


def component(world, registry, access):
    """A component with this resource, in the repository of the Context."""
    resource = {"name": "chart", "version": "1.0.0", "type": "helmChart", "relation": "external", "access": access}
    push_component(registry.client(), world.namespace, descriptor(COMPONENT, resources=[resource]), [])
    world.more = {"repositoryContext": context(f"{registry.url}/{world.namespace}")}
    world.context(**world.more)


def test_a_classic_repository_that_a_component_names(world, registry):
    with serving(FILES, credentials=("user", "secret-1")) as server:
        component(world, registry, {"type": "helm", "helmRepository": f"{server.url}/charts", "helmChart": "app:1.0.0"})
        check_credentials(world, server, resource_ref("chart"))


def test_a_secret_of_another_repository_may_be_missing(world, registry):
    lost = {"url": "http://127.0.0.1:1", "secretRef": {"name": "lost"}}
    with serving(FILES) as server:
        component(world, registry, {"type": "helm", "helmRepository": f"{server.url}/charts", "helmChart": "app:1.0.0"})
        credentials(world, [lost], **world.more)
        world.start(config=PLAIN)
        world.deploy("item", resource_ref("chart"))
        world.succeeded("item")
        # That of the repository may not.
        credentials(world, [{**lost, "url": server.url}], **world.more)
        world.trigger("item", "job-2")
        assert '"lost"' in world.failed("item", "job-2")["lastError"]["message"]


def test_a_hostile_archive_fails_the_job_before_helm_runs(world):
    world.start()
    world.deploy("item", raw(chart_archive({"../../../escaped": "x"})))
    assert "chart" in world.failed("item")["lastError"]["message"] and world.kubelet.outputs == [] and world.names() == []
