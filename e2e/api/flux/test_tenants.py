# SPDX-License-Identifier: Apache-2.0
"""Tenants in one cluster 1, as docs/kustomize.md describes it: with a shared Flux, and with a Flux of their own. Both real controllers."""

import contextlib
import copy

import pytest

from bench.flux import KUSTOMIZE, SOURCE, Flux, condition
from bench.kube import DEPLOYITEMS, ApiError
from flux_harness import FLUX_KINDS, FluxWorld, application, wait_until

SHARED_FLAGS = ["--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=tenant"]
ROLE_BINDINGS = "rbac.authorization.k8s.io/v1/rolebindings"


class Tenant(FluxWorld):
    """A tenant with the objects of tenant.yaml. Its Target has the Role tenant-items and nothing else."""

    def __init__(self, apiserver, namespace, first, git, **more):
        super().__init__(apiserver, namespace, first, None, **more)
        self.git = git
        for thing in self.documents("tenant.yaml"):
            self.remote.apply(thing)
        user = f"items-{namespace}"
        self.reach(first, "cluster1", user=user, groups=())
        self.remote.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                           "metadata": {"name": "tenant-items", "namespace": self.space},
                           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant-items"},
                           "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})
        self.account = f"system:serviceaccount:{self.space}:tenant"

    def own_flux(self):
        """The Flux of tenant-flux.yaml: with the arguments of its Deployments and the permissions of its ServiceAccount."""
        flags = {}
        for thing in self.documents("tenant-flux.yaml"):
            self.remote.apply(thing)
            if thing["kind"] == "Deployment":
                flags[thing["metadata"]["name"]] = thing["spec"]["template"]["spec"]["containers"][0]["args"]
        kubeconfig = self.cluster.token_kubeconfig(self.cluster.service_account("flux", self.space, seconds=7200))
        return Flux(self.cluster, controllers=[SOURCE, KUSTOMIZE], flags=flags, kubeconfig=kubeconfig, namespace=self.space, with_crds=False)

    def local_item(self, **spec):
        """flux-control.yaml, deploying to cluster 1 itself, with strict rules."""
        item = self.example("flux-control.yaml")["app"]
        kustomization = item["spec"]["config"]["manifests"][1]["manifest"]
        del kustomization["spec"]["kubeConfig"]
        # A long interval: while Flux tries again, the condition does not say why it failed. A changed specification does not wait for it.
        kustomization["spec"].update({"retryInterval": "5m", "targetNamespace": self.space, **spec})
        item["spec"]["config"]["readinessChecks"] = {"strict": True}
        return item


@pytest.fixture
def alone(flux):
    """Stops the usual Flux of cluster 1, which would reconcile the objects of every tenant."""
    flux.stop()
    yield
    flux.start()


@pytest.fixture(params=["shared", "own"])
def tenants(request, alone, apiserver, namespace, first, git):
    """Two tenants, and what runs as their Flux: one for both, or one each."""
    other = f"other-{namespace.rpartition('-')[2]}"
    apiserver.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    with contextlib.ExitStack() as stack:
        stack.callback(remove_items, apiserver.kube, other)
        made = []
        for name in (namespace, other):
            # One controller serves the items of both.
            made.append(Tenant(apiserver, name, first, git, with_controller=name == namespace))
            stack.callback(made[-1].close)
        if request.param == "shared":
            running = [Flux(first, controllers=[SOURCE, KUSTOMIZE], flags={KUSTOMIZE: SHARED_FLAGS}, with_crds=False)]
        else:
            running = [tenant.own_flux() for tenant in made]
        for flux in running:
            stack.callback(flux.stop)
        yield *made, running


def remove_items(kube, namespace):
    """Removes what a failed test left, which the controllers of later tests would find."""
    for item in kube.items(DEPLOYITEMS, namespace):
        kube.patch(DEPLOYITEMS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace)
        if "deletionTimestamp" not in item["metadata"]:
            kube.delete(DEPLOYITEMS, item["metadata"]["name"], namespace)
    kube.delete("namespaces", namespace)


def said(world):
    """What Flux says about the present specification of the Kustomization."""
    thing = world.kustomization()
    return "; ".join(entry["message"] for entry in (thing or {}).get("status", {}).get("conditions", ())
                     if entry["type"] == "Ready" and entry.get("observedGeneration") == thing["metadata"]["generation"])


def overlay(resource):
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [resource]}


def test_a_tenant_reaches_only_its_own_namespace(tenants, artifacts):
    tenant, other, _ = tenants
    tenant.commit("blue")
    other.commit("red")
    other.put(other.local_item(), "job-1")
    other.succeeded("app")

    # The item itself cannot write Flux objects into another namespace.
    intruder = copy.deepcopy(tenant.local_item())
    intruder["metadata"]["name"] = "intruder"
    for entry in intruder["spec"]["config"]["manifests"]:
        entry["manifest"]["metadata"]["namespace"] = other.space
    tenant.put(intruder, "job-1")
    wait_until(lambda: "forbidden" in tenant.shown("intruder") and other.space in tenant.shown("intruder"), "the API server to refuse the item")
    tenant.interrupt("intruder", "job-1")

    # Neither can Flux for it: a change of the Kustomization, the reason that the item shows, and a part of Flux's message.
    cases = (
        ({"targetNamespace": other.space}, "ReconciliationFailed", "forbidden"),
        ({"sourceRef": {"kind": "GitRepository", "name": "app", "namespace": other.space}}, "AccessDenied", "cross-namespace"),
        ({"serviceAccountName": "flux"}, "ReconciliationFailed", "Forbidden"),
        ({"path": "./grant"}, "ReconciliationFailed", "forbidden"),
        ({"path": "./remote"}, "BuildFailed", "/base/"),
    )
    tenant.git.commit("base", application("red"))
    (artifacts.directory / "file.yaml").write_text(application("green")["app/app.yaml"])
    tenant.git.commit(tenant.namespace, {
        **application("blue"),
        "grant/role.yaml": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "grant"},
                            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                            "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": tenant.space}]},
        "remote/kustomization.yaml": overlay(f"{tenant.git.url('base')}//app"),
        "url/kustomization.yaml": overlay(f"{artifacts.url}/file.yaml")})
    for number, (change, reason, text) in enumerate(cases):
        tenant.put(tenant.local_item(**change), f"job-{number}")
        wait_until(lambda: f"({reason})" in tenant.shown("app") and text in said(tenant), f"{change}: {reason}, {text}")
        tenant.interrupt("app", f"job-{number}")
    assert tenant.found("pre-app") is None and tenant.found("grant", ROLE_BINDINGS) is None
    assert other.found("pre-app")["data"] == {"colour": "red"}

    # Its own namespace, and the second cluster as far as its account may there.
    tenant.put(tenant.local_item(), "job-8")
    tenant.succeeded("app", "job-8")
    assert tenant.found("pre-app")["data"] == {"colour": "blue"}
    # The flag for remote bases does not concern single files.
    tenant.put(tenant.local_item(path="./url"), "job-9")
    tenant.succeeded("app", "job-9")
    assert tenant.found("app")["data"] == {"colour": "green"}
    tenant.removed("app")
    assert tenant.found("pre-app") is None and tenant.found("app") is None
    item = tenant.example("flux-control.yaml")["app"]
    item["spec"]["config"]["readinessChecks"] = {"strict": True}
    item["spec"]["config"]["manifests"][1]["manifest"]["spec"]["retryInterval"] = "1s"
    item["metadata"]["name"] = "second"
    tenant.put(item, "job-1")
    wait_until(lambda: tenant.account in said(tenant), "the second cluster to refuse the account")
    assert tenant.deployed() is None
    tenant.kube.allow(tenant.account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}], tenant.namespace)
    tenant.succeeded("second")
    assert tenant.deployed() == "blue"
    tenant.removed("second")
    other.removed("app")
    assert not [thing for world in (tenant, other) for kind in FLUX_KINDS for thing in world.remote.items(kind, world.space)]


@pytest.mark.parametrize("tenants", ["own"], indirect=True)
def test_the_flux_of_a_tenant_leaves_the_others_alone(tenants):
    tenant, other, running = tenants
    running[1].stop()
    other.commit("red")
    other.put(other.local_item(), "job-1")
    tenant.commit("blue")
    tenant.put(tenant.local_item(), "job-1")
    tenant.succeeded("app")
    assert condition(other.kustomization(), "Ready") is None
    # It could not even if its flags were others: it has no permission there.
    client = tenant.cluster.token_client(tenant.cluster.service_account("flux", tenant.space))
    for resource in (*FLUX_KINDS, "secrets", "configmaps"):
        with pytest.raises(ApiError) as error:
            client.list(resource, other.space)
        assert error.value.status == 403
    running[1].start()
    other.succeeded("app")
    for world in (tenant, other):
        world.removed("app")
