# SPDX-License-Identifier: Apache-2.0
"""One Flux for several tenants, as docs/kustomize.md describes it, with the real source-controller and an OCI registry."""

import copy
import json

import pytest

from bench import oci
from bench.apiserver import ApiServer
from bench.flux import GIT_REPOSITORIES, OCI_REPOSITORIES, Artifacts, Flux, archive
from flux_harness import FluxWorld, files, wait_until

FLAGS = ("--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=tenant")
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
CONFIG_MAPS = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]


@pytest.fixture(scope="module")
def shared():
    """A cluster 1 with a Flux that many tenants use."""
    server = ApiServer(with_crds=False)
    flux = Flux(server, with_sources=True, flags=FLAGS)
    yield server
    flux.stop()
    server.close()


@pytest.fixture
def tenant(apiserver, namespace, shared):
    artifacts = Artifacts(shared.kube)
    world = FluxWorld(apiserver, namespace, shared, artifacts)
    # The Target of the tenant's items may write to the tenant's namespace only.
    world.reach(shared, "cluster1", user=f"tenant-{namespace}", groups=())
    shared.kube.allow(f"tenant-{namespace}", EVERYTHING, world.space)
    # Without the account Flux prunes nothing and drops its finalizer.
    shared.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tenant", "namespace": world.space}})
    world.account = f"system:serviceaccount:{world.space}:tenant"
    yield world
    for thing in shared.kube.items(OCI_REPOSITORIES, world.space):
        shared.kube.delete(OCI_REPOSITORIES, thing["metadata"]["name"], world.space)
    world.close()
    artifacts.close()


def push(registry, colour):
    layer = oci.Blob(archive(files(colour)), "application/vnd.cncf.flux.content.v1.tar+gzip")
    config = oci.Blob(b"{}", "application/vnd.cncf.flux.config.v1+json")
    return registry.client().push("apps/app", "v1", oci.manifest_of(config, [layer]), [config, layer])


def test_both_controllers_of_flux_with_an_oci_registry(tenant, registry):
    # In cluster 2 Flux acts for the tenant's account, too.
    tenant.kube.allow(tenant.account, CONFIG_MAPS, tenant.namespace)
    for number, colour in enumerate(("blue", "green", "red")):
        digest, job = push(registry, colour), f"job-{number}"
        text = json.dumps(tenant.example("landscaper-control.yaml", job)).replace("GitRepository", "OCIRepository")
        items = json.loads(text)
        source = items["source"]["spec"]["config"]["manifests"][0]["manifest"]
        source["spec"] = {"url": f"oci://{registry.host}/apps/app", "ref": {"tag": "v1"}, "insecure": True,
                          "interval": "876000h", "timeout": "60s"}
        for name in ("source", "app"):
            tenant.put(items[name], job)
            tenant.succeeded(name, job)
        assert tenant.exported("app-export") == {"colour": colour}
        assert tenant.kustomization()["status"]["lastAppliedRevision"] == f"v1@{digest}"
    tenant.removed("app")
    tenant.removed("source")
    tenant.assert_nothing_left()
    assert not tenant.remote.items(OCI_REPOSITORIES, tenant.space)


def test_a_tenant_reaches_only_what_its_account_may(tenant):
    """In cluster 1 itself, without a kubeconfig."""
    # A source that source-controller does not touch, because it is suspended: the test publishes its artifact.
    tenant.remote.create({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                          "metadata": {"name": "app", "namespace": tenant.space},
                          "spec": {"url": "http://127.0.0.1:1/none", "interval": "24h", "suspend": True}})
    tenant.publish("main@sha1:0001", "blue")
    item = tenant.example("flux-control.yaml")["app"]
    config = item["spec"]["config"]
    kustomization = config["manifests"][1]["manifest"]
    del config["manifests"][0], kustomization["spec"]["kubeConfig"]
    kustomization["spec"].update(targetNamespace="default", retryInterval="1s")
    config["readinessChecks"] = {"strict": True}
    tenant.remote.allow(tenant.account, CONFIG_MAPS, tenant.space)

    # The item itself cannot write Flux objects into another namespace.
    intruder = copy.deepcopy(item)
    intruder["metadata"]["name"] = "intruder"
    intruder["spec"]["config"]["manifests"][0]["manifest"]["metadata"]["namespace"] = "default"
    tenant.put(intruder, "job-1")
    wait_until(lambda: "forbidden" in tenant.shown("intruder"), "the API server to refuse the item")

    # Flux cannot for it: another namespace, and a source of another tenant.
    tenant.put(item, "job-1")
    wait_until(lambda: "condition Ready is False (ReconciliationFailed)" in tenant.shown("app"), "Flux to be refused")
    assert tenant.remote.find("configmaps", "pre-app", "default") is None
    kustomization["spec"].update(targetNamespace=tenant.space, sourceRef={
        "kind": "GitRepository", "name": "app", "namespace": "default"})
    tenant.interrupt("app", "job-1")
    tenant.put(item, "job-2")
    error = tenant.failed("app", "job-2")["lastError"]
    assert error["reason"] == "ReadinessFailed" and "AccessDenied" in error["message"], error

    kustomization["spec"]["sourceRef"] = {"kind": "GitRepository", "name": "app"}
    tenant.put(item, "job-3")
    tenant.succeeded("app", "job-3")
    assert tenant.found("pre-app")["data"] == {"colour": "blue"}
    tenant.removed("app")
    assert tenant.found("pre-app") is None
    tenant.remote.delete(GIT_REPOSITORIES, "app", tenant.space)
