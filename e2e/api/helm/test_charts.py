# SPDX-License-Identifier: Apache-2.0
"""Where charts come from: the controller reads the credentials, the real init uses them. More sources: e2e/init/test_chart.py."""

import base64
import json

import pytest

from api.helm.harness import chart_archive, raw
from api.helm.sources import CREDENTIALS, FILES, check_registry_credentials, check_repository_credentials, credentials, repository, texts
from bench.certificates import session_authority
from bench.chart_repository import basic, serving
from init.parts import context, descriptor, push_component

PLAIN = {"oci": {"allowPlainHttp": True}}
COMPONENT = "example.com/team/chart"


def test_a_classic_repository_with_wrong_valid_and_rotated_credentials(world):
    world.start(config=PLAIN)
    with serving(FILES, credentials=CREDENTIALS) as server:
        check_repository_credentials(world, server, repository(server))


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
def test_a_private_registry_with_wrong_valid_and_rotated_credentials(request, world, flavour):
    """The chart of chart.ref, with the credentials of the Context."""
    world.start(config=PLAIN)
    check_registry_credentials(world, request.getfixturevalue(flavour))


def test_a_private_certificate_authority_of_a_repository(world):
    """customCAData of the Context. Credentials need no permission for plain HTTP then."""
    authority = session_authority()
    with serving(FILES, credentials=("user", "CANARY-secret"), authority=authority) as server:
        auth = {"url": server.url, "authHeader": basic(server.credentials)}
        credentials(world, [auth])
        world.start()
        world.deploy("item", repository(server))
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
    """A component with this resource, in the repository of the Context. Returns the fields of the Context."""
    resource = {"name": "chart", "version": "1.0.0", "type": "helmChart", "relation": "external", "access": access}
    push_component(registry.client(), world.namespace, descriptor(COMPONENT, resources=[resource]), [])
    fields = {"repositoryContext": context(f"{registry.url}/{world.namespace}")}
    world.context(**fields)
    return fields


def test_a_classic_repository_that_a_component_names(world, registry):
    world.start(config=PLAIN)
    with serving(FILES, credentials=CREDENTIALS) as server:
        fields = component(world, registry, {"type": "helm", "helmRepository": f"{server.url}/charts", "helmChart": "app:1.0.0"})
        check_repository_credentials(world, server, resource_ref("chart"), **fields)


def test_a_secret_of_another_repository_may_be_missing(world, registry):
    lost = {"url": "http://127.0.0.1:1", "secretRef": {"name": "lost"}}
    with serving(FILES) as server:
        fields = component(world, registry, {"type": "helm", "helmRepository": f"{server.url}/charts", "helmChart": "app:1.0.0"})
        credentials(world, [lost], **fields)
        world.start(config=PLAIN)
        world.deploy("item", resource_ref("chart"))
        world.succeeded("item")
        # That of the repository may not.
        credentials(world, [{**lost, "url": server.url}], **fields)
        world.trigger("item", "job-2")
        assert '"lost"' in world.failed("item", "job-2")["lastError"]["message"]


def test_a_hostile_archive_fails_the_job_before_helm_runs(world):
    world.start()
    world.deploy("item", raw(chart_archive({"../../../escaped": "x"})))
    assert "chart" in world.failed("item")["lastError"]["message"] and world.kubelet.outputs == [] and world.names() == []
