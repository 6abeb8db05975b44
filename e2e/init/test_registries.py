# SPDX-License-Identifier: Apache-2.0
"""Registries with and without authentication and TLS, and the number of requests."""

import base64
import collections

import pytest

from bench.connect_proxy import ConnectProxy
from bench.oci import Blob
from init.parts import (BLUEPRINT_YAML, blueprint_blob, context, descriptor, push_artifact, push_component, reference,
                        resource)

NAME = "example.com/team/app"


def publish(registry, prefix="private"):
    blob = blueprint_blob({"data": b"x"})
    push_component(registry.client(), prefix, descriptor(NAME, resources=[resource(blob)]), [blob])
    return reference(context(f"{registry.url}/{prefix}"), NAME, blueprint="blueprint")


def ocm_credentials(host, user, password, **properties):
    name, _, port = host.partition(":")
    return {"type": "credentials.config.ocm.software", "consumers": [{
        "identity": {"type": "OCIRegistry", "hostname": name, "port": port},
        "credentials": [{"type": "Credentials", "properties": {"username": user, "password": password, **properties}}]}]}


SECRETS = {
    "the Go controller's": lambda pod, host, user, password: pod.pull_secret(host, (user, password)),
    "docker's": lambda pod, host, user, password: pod.write(
        "registry_secrets/x/.dockerconfigjson",
        {"auths": {f"https://{host}/v2/": {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}}}),
    "the older file": lambda pod, host, user, password: pod.write(
        "registry_secrets/x/.dockercfg", {host: {"auth": base64.b64encode(f"{user}:{password}\n".encode()).decode()}}),
    "OCM's": lambda pod, host, user, password: pod.ocm(ocm_credentials(host, user, password)),
    "a path prefix": lambda pod, host, user, password: pod.write(
        "registry_secrets/x/.dockerconfigjson",
        {"auths": {host: {"username": "nobody", "password": "wrong"}, f"{host}/private": {"username": user, "password": password}}}),
}


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
@pytest.mark.parametrize("form", SECRETS)
def test_every_form_of_credentials(request, pod, flavour, form):
    registry = request.getfixturevalue(flavour)
    configuration = publish(registry)
    SECRETS[form](pod, registry.host, *registry.credentials)
    result = pod.run(configuration).must_succeed()
    assert result.content()["data"] == b"x"
    assert registry.credentials[1] not in result.error


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
@pytest.mark.parametrize("credentials", [None, ("ship", "CANARY-wrong")])
def test_missing_or_wrong_credentials_fail_at_once(request, pod, flavour, credentials):
    registry = request.getfixturevalue(flavour)
    configuration = publish(registry)
    if credentials:
        pod.pull_secret(registry.host, credentials)
    mark = registry.mark()
    result = pod.run(configuration).must_fail("denied" if flavour == "basic_registry" else "rejected")
    assert result.failure["kind"] == "denied"
    assert "pull secrets" in result.failure["advice"]
    assert len(registry.requests(mark)) <= 2
    assert "CANARY" not in result.error + result.message


def test_each_artifact_prefers_its_own_secret(pod, basic_registry):
    """Both secrets are for the same host: one is preferred for components, the other for blueprints."""
    client = basic_registry.client()
    push_artifact(client, "private/blueprint", "1", blueprint_blob())
    access = {"type": "ociArtifact", "imageReference": f"http://{basic_registry.host}/private/blueprint:1"}
    body = descriptor(NAME, "2.0.0", resources=[{**resource(blueprint_blob()), "access": access}])
    push_component(client, "private", body)
    configuration = reference(context(f"{basic_registry.url}/private"), NAME, "2.0.0", "blueprint")
    pod.pull_secret(basic_registry.host, basic_registry.credentials, "cd-pull-secret")
    pod.pull_secret(basic_registry.host, ("ship", "wrong"), "blueprint-pull-secret")
    assert pod.run(configuration).must_fail("rejected the credentials").failure["step"] == "blueprint"
    pod.pull_secret(basic_registry.host, ("ship", "wrong"), "cd-pull-secret")
    pod.pull_secret(basic_registry.host, basic_registry.credentials, "blueprint-pull-secret")
    assert pod.run(configuration).must_fail("rejected the credentials").failure["step"] == "components"


# --- certificates ---

def test_a_private_authority_must_be_trusted(pod, tls_registry):
    result = pod.run(publish(tls_registry)).must_fail("certificate")
    assert result.failure["kind"] == "denied"
    assert "certificate authority" in result.failure["advice"]


def test_the_proxy_of_the_environment_is_used(pod, tls_registry):
    configuration = publish(tls_registry)
    trusted = {"SSL_CERT_FILE": str(pod.write("ca.pem", tls_registry.authority.certificate.read_text()))}
    with ConnectProxy() as proxy:
        for more, through in (({}, True), ({"NO_PROXY": tls_registry.host.rpartition(":")[0]}, False)):
            proxy.requests.clear()
            result = pod.run(configuration, env={**trusted, "HTTPS_PROXY": proxy.url, **more}).must_succeed()
            assert result.content()["data"] == b"x"
            assert set(proxy.requests) == ({("CONNECT", tls_registry.host)} if through else set())


@pytest.mark.parametrize("way", ["SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CERT_DIR with two directories",
                                 "OCM root certificates", "OCM credentials", "insecureSkipVerify"])
def test_ways_to_trust_a_private_authority(pod, tls_registry, way):
    configuration = publish(tls_registry)
    pem = tls_registry.authority.certificate.read_text()
    env = {}
    if way == "SSL_CERT_FILE":
        env["SSL_CERT_FILE"] = str(pod.write("ca.pem", pem))
    elif way.startswith("SSL_CERT_DIR"):
        directory = pod.write("authorities/ca.pem", pem).parent
        env["SSL_CERT_DIR"] = f"/nowhere:{directory}" if "two" in way else str(directory)
    elif way == "OCM root certificates":
        pod.ocm({"type": "rootcerts.config.ocm.software", "rootCertificates": [{"stringdata": pem}]})
    elif way == "OCM credentials":
        pod.ocm(ocm_credentials(tls_registry.host, "any", "any", certificateAuthority=pem))
    else:
        env["LONGSHORE_OCI_INSECURE_SKIP_VERIFY"] = "true"
    assert pod.run(configuration, env=env).must_succeed().content()["blueprint.yaml"] == BLUEPRINT_YAML


def test_plain_http_must_be_allowed(pod, registry):
    configuration = publish(registry)
    configuration["componentDescriptor"]["ref"]["repositoryContext"]["baseUrl"] = f"{registry.host}/private"
    pod.run(configuration, env={"LONGSHORE_INIT_DEADLINE": "2s"}).must_fail()
    pod.run(configuration, env={"LONGSHORE_OCI_ALLOW_PLAIN_HTTP": "true"}).must_succeed()


# --- number of requests ---

def tower(client, prefix, count):
    """A component that refers to all others, which refer to the next two each."""
    names = [f"example.com/tower/c{i}" for i in range(count)]
    blob = blueprint_blob()
    for i, name in enumerate(names):
        wanted = names[1:] if i == 0 else names[i + 1:i + 3]
        body = descriptor(name, references=[(other, "1.0.0") for other in wanted], resources=[resource(blob)] if i == 0 else [])
        push_component(client, prefix, body, [blob] if i == 0 else [])
    return names


@pytest.mark.parametrize("flavour", ["registry", "basic_registry", "token_registry", "tls_registry"])
def test_three_requests_per_component_and_one_for_the_blueprint(request, pod, flavour):
    registry = request.getfixturevalue(flavour)
    names = tower(registry.client(), "tower", 12)
    if registry.credentials:
        pod.pull_secret(registry.host, registry.credentials)
    env = {"SSL_CERT_FILE": str(pod.write("ca.pem", registry.authority.certificate.read_text()))} if registry.authority else {}
    mark = registry.mark()
    tokens = len(registry.tokens.requests) if registry.tokens else 0
    result = pod.run(reference(context(f"{registry.url}/tower"), names[0], blueprint="blueprint"), env=env).must_succeed()
    assert len(result.components()) == 12
    requests = registry.requests(mark)
    good = collections.Counter(path for _, path, status in requests if status == 200)
    assert set(good.values()) == {1}
    # The same blob in two repositories takes two requests.
    assert len(good) == 12 * 3 + 1
    # Authentication costs one request, not one per component.
    refused = [status for _, _, status in requests if status != 200]
    assert refused == ([401] if registry.credentials else [])
    if registry.tokens:
        assert len(registry.tokens.requests) - tokens == 12
    connections = result.line("wrote component descriptors")["connections"]
    if flavour == "tls_registry":
        assert connections == 1
    else:
        # Four at a time to each server; on a busy machine a server may close one that is idle. Far less than one per request.
        assert connections <= (12 if registry.tokens else 6)


def test_a_blueprint_in_chunks(pod, registry):
    """Each chunk takes one request."""
    whole = blueprint_blob({"data": b"y" * 5000})
    pieces = [Blob(whole.data[i:i + 100], "application/octet-stream") for i in range(0, len(whole.data), 100)]
    entry = resource(whole)
    entry["access"]["localReference"] = ", ".join(piece.digest for piece in pieces)
    push_component(registry.client(), "pieces", descriptor("example.com/pieces/a", resources=[entry]), pieces)
    mark = registry.mark()
    result = pod.run(reference(context(f"{registry.url}/pieces"), "example.com/pieces/a", blueprint="blueprint")).must_succeed()
    assert result.content()["data"] == b"y" * 5000
    assert len(registry.requests(mark)) == 3 + len(pieces)
