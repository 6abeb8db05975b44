# SPDX-License-Identifier: Apache-2.0
"""From and to the original. Its objects are made here as it was seen to leave them: names, labels, annotations, finalizers, owners, field
managers and status of one cluster with one module that is Ready. The original itself cannot be built for these tests."""

import yaml

from bench.waiting import wait_until
from lifecycle_harness import (API, DATA, DEFINITIONS, DEPLOYMENTS, GROUP, HARBOURS, KYMAS, LABEL, MANAGER, MANIFESTS, RELEASES, SYSTEM, TEMPLATES,
                               module_file)

MANIFEST = "fleet-0001-harbour-1079662839"
COMPONENT = "kyma-project.io/module/harbour"
LAYER = "sha256:35b223d24ae26a27726ed7db70ad953734c7975704f95bd01d55dcc82b5a5efc"
OWNED_BY = "deprecated-operator.kyma-project.io/owned-by"
DISCLAIMER = ("DO NOT EDIT - This resource is managed by Kyma.\n"
              "Any modifications are discarded and the resource is reverted to the original state.")
KYMA_FINALIZERS = [f"{GROUP}/Kyma"]
MANIFEST_FINALIZERS = ["declarative.kyma-project.io/finalizer", "label-removal-finalizer", "resource.kyma-project.io/finalizer"]
RESOURCE = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Harbour", "metadata": {"name": "harbour", "namespace": SYSTEM}, "spec": {"initKey": "initValue"}}
WEBHOOKS = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
APPLIER, RESOURCE_MANAGER = "declarative.kyma-project.io/applier", "resource.kyma-project.io/finalizer"
TIME = "2026-11-17T05:14:17Z"


def condition(kind, message, reason="Ready"):
    return {"type": kind, "status": "True", "reason": reason, "message": message, "observedGeneration": 1, "lastTransitionTime": TIME}


def kyma_status(template_namespace, with_manifest):
    reference = {"manifest": {"apiVersion": API, "kind": "Manifest", "metadata": {"name": MANIFEST, "namespace": template_namespace}}} if with_manifest else {}
    return {"state": "Ready", "activeChannel": "regular", "lastOperation": {"lastUpdateTime": TIME, "operation": "kyma is ready"},
            "conditions": [condition("CRDsSync", "CRDs are synchronized to the SKR"), condition("Modules", "all modules are in ready state"),
                           condition("ModuleCatalog", "module templates are synchronized"), condition("SKRWebhook", "skrwebhook is synchronized")],
            "modules": [{"name": "harbour", "channel": "regular", "fqdn": COMPONENT, "ocmComponentName": COMPONENT, "version": "1.0.0", "state": "Ready",
                         "maintenance": False, **reference, "resource": {k: v for k, v in RESOURCE.items() if k != "spec"},
                         "template": {"apiVersion": API, "kind": "ModuleTemplate",
                                      "metadata": {"name": "harbour-1.0.0", "namespace": template_namespace, "generation": 1}}}]}


class Original:
    """Writes what the original leaves."""

    def __init__(self, world):
        self.world, self.kcp, self.skr, self.namespace = world, world.kcp, world.skr, world.namespace

    def install(self):
        self.world.catalog()
        self.world.access("fleet-0001")
        self.cluster_basics()
        self.module_objects()
        kyma = self.control_plane_kyma()
        self.manifest(kyma)
        self.remote_kyma()
        self.catalog()
        self.watcher()

    def write_status(self, kube, resource, name, namespace, status, manager):
        path = kube.path(resource, name, namespace, "status")
        kube.request("PATCH", path, body={"status": status}, content_type="application/merge-patch+json", query={"fieldManager": manager})

    def cluster_basics(self):
        self.skr.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM, "labels": {
            LABEL: "kyma", "istio-injection": "enabled", "namespaces.warden.kyma-project.io/validate": "enabled"}}}, manager="kyma-sync-context")
        for plural in ("kymas", "moduletemplates", "modulereleasemetas"):
            found = self.kcp.get(DEFINITIONS, f"{plural}.{GROUP}")
            self.skr.apply({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                            "metadata": {"name": f"{plural}.{GROUP}", "labels": {LABEL: "kyma"}},
                            "spec": {**found["spec"], "conversion": {"strategy": "None"}}}, manager="lifecycle-manager")
        wait_until(lambda: self.world.left(KYMAS) == [] and self.skr.request("GET", f"/apis/{API}"), "the kinds are served")

    def module_objects(self):
        for thing in yaml.safe_load_all((DATA / "modules" / "harbour" / "raw-manifest-1.0.0.yaml").read_text()):
            metadata = thing["metadata"]
            metadata.setdefault("labels", {}).update({LABEL: "kyma", "app.kubernetes.io/component": MANIFEST, "app.kubernetes.io/part-of": "Kyma"})
            metadata.setdefault("annotations", {}).update({OWNED_BY: f"{self.namespace}/{MANIFEST}", f"{GROUP}/managed-by-reconciler-disclaimer": DISCLAIMER})
            self.skr.apply(thing, manager=APPLIER)
        self.world.roll_out()
        path = wait_until(lambda: self.world.left(HARBOURS) is not None and self.skr.path(HARBOURS, None, SYSTEM), "the kind")
        wait_until(lambda: self.skr.raw("POST", path, body=RESOURCE, query={"fieldManager": RESOURCE_MANAGER})[0] in (201, 409), "the resource")

    def control_plane_kyma(self):
        kyma = {"apiVersion": API, "kind": "Kyma", "metadata": {"name": "fleet-0001", "namespace": self.namespace, "finalizers": KYMA_FINALIZERS, "labels": {
            f"{GROUP}/managed-by": "lifecycle-manager", "kyma-project.io/runtime-id": "rt-1"}},
            "spec": {"channel": "regular", "modules": [{"name": "harbour", "managed": True}]}}
        made = self.kcp.create(kyma)
        self.write_status(self.kcp, KYMAS, "fleet-0001", self.namespace, kyma_status(self.namespace, True), "lifecycle-manager")
        return made

    def manifest(self, kyma):
        source = {"name": COMPONENT, "ref": LAYER, "repo": self.world.registry.url.split("//")[-1], "type": "oci-ref"}
        manifest = {"apiVersion": API, "kind": "Manifest", "metadata": {"name": MANIFEST, "namespace": self.namespace, "labels": {
            f"{GROUP}/channel": "regular", f"{GROUP}/kyma-name": "fleet-0001", f"{GROUP}/managed-by": "lifecycle-manager", f"{GROUP}/module-name": "harbour"},
            "annotations": {f"{GROUP}/fqdn": COMPONENT, f"{GROUP}/ocm-component-name": COMPONENT},
            "ownerReferences": [{"apiVersion": API, "kind": "Kyma", "name": "fleet-0001", "uid": kyma["metadata"]["uid"], "controller": True,
                                 "blockOwnerDeletion": True}]},
            "spec": {"customResourcePolicy": "CreateAndDelete", "install": {"name": "raw-manifest", "source": source}, "remote": False, "resource": RESOURCE,
                     "manager": {"group": "apps", "kind": "Deployment", "name": MANAGER, "namespace": SYSTEM, "version": "v1"}, "version": "1.0.0"}}
        self.kcp.apply(manifest, manager="lifecycle-manager")
        name = {"apiVersion": API, "kind": "Manifest", "metadata": {"name": MANIFEST, "namespace": self.namespace}}
        self.kcp.apply({**name, "metadata": {**name["metadata"], "finalizers": MANIFEST_FINALIZERS[:2], "annotations": {"sync-oci-ref": LAYER}}}, manager=APPLIER)
        self.kcp.apply({**name, "metadata": {**name["metadata"], "finalizers": MANIFEST_FINALIZERS[2:]}}, manager=RESOURCE_MANAGER)
        synced = []
        for thing in yaml.safe_load_all((DATA / "modules" / "harbour" / "raw-manifest-1.0.0.yaml").read_text()):
            group, _, version = thing["apiVersion"].rpartition("/")
            synced.append({"group": group, "version": version, "kind": thing["kind"], "name": thing["metadata"]["name"],
                           "namespace": thing["metadata"].get("namespace", "")})
        self.write_status(self.kcp, MANIFESTS, MANIFEST, self.namespace, {
            "state": "Ready", "lastOperation": {"lastUpdateTime": TIME, "operation": "installation is ready and resources can be used"}, "synced": synced,
            "conditions": [condition("Resources", "resources are parsed and ready for use", "ResourcesAvailable"),
                           condition("Installation", "installation is ready and resources can be used"),
                           condition("ModuleCR", "module CR was created", "ModuleCRCreated")]}, APPLIER)

    def remote_kyma(self):
        self.skr.raw("POST", self.skr.path(KYMAS, None, SYSTEM), query={"fieldManager": "lifecycle-manager"}, body={
            "apiVersion": API, "kind": "Kyma", "metadata": {"name": "default", "namespace": SYSTEM}, "spec": {
                "channel": "regular", "modules": [{"name": "harbour", "managed": True, "customResourcePolicy": "CreateAndDelete"}]}})
        self.skr.request("PATCH", self.skr.path(KYMAS, "default", SYSTEM), content_type="application/merge-patch+json", query={"fieldManager": "kyma-sync-context"},
                         body={"metadata": {"labels": {"kyma-project.io/runtime-id": "rt-1", LABEL: "kyma", f"{GROUP}/watched-by": "kyma"},
                                            "annotations": {OWNED_BY: f"{self.namespace}/fleet-0001"}}})
        self.write_status(self.skr, KYMAS, "default", SYSTEM, kyma_status(SYSTEM, False), "lifecycle-manager")

    def catalog(self):
        for path in ("moduletemplate-1.0.0.yaml", "moduletemplate-1.1.0.yaml", "modulereleasemeta.yaml"):
            found = module_file(f"modules/harbour/{path}", self.namespace)
            metadata = {"name": found["metadata"]["name"], "namespace": SYSTEM, "labels": {**found["metadata"].get("labels", {}), LABEL: "kyma"}}
            if found["metadata"].get("annotations"):
                metadata["annotations"] = found["metadata"]["annotations"]
            self.skr.apply({**found, "metadata": metadata}, manager="catalog-sync")

    def watcher(self):
        """What the original needs to be told of changes."""
        self.skr.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "webhooks": [],
                        "metadata": {"name": "skr-webhook", "labels": {LABEL: "kyma"}}}, manager="lifecycle-manager")


def everything(world):
    """Every object that the original or a module has, with its version."""
    found = {}
    for cluster, kube, kinds in (("kcp", world.kcp, (KYMAS, MANIFESTS, TEMPLATES, RELEASES)), ("skr", world.skr, (
            KYMAS, TEMPLATES, RELEASES, HARBOURS, "configmaps", "services", "serviceaccounts", DEPLOYMENTS, DEFINITIONS, WEBHOOKS, "namespaces",
            "rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1/clusterrolebindings"))):
        for kind in kinds:
            for thing in kube.items(kind, labelSelector=f"{LABEL}=kyma") if cluster == "skr" and kind != HARBOURS else kube.items(
                    kind, world.namespace if cluster == "kcp" else SYSTEM):
                found[cluster, kind.rpartition("/")[2], thing["metadata"]["name"]] = thing
    return found


def identity(thing):
    """What must not change when another program takes an object over."""
    metadata = thing["metadata"]
    kept = {key: metadata.get(key) for key in ("uid", "labels", "annotations", "finalizers", "ownerReferences", "generation")}
    return kept, {key: value for key, value in thing.items() if key not in ("metadata", "status")}


def managers(thing):
    return {(entry["manager"], entry["operation"], entry.get("subresource", "")) for entry in thing["metadata"]["managedFields"]
            if entry["manager"] not in ("bench", "kube-apiserver") and "python" not in entry["manager"].lower()}


def wait_for_watches(world, mark):
    kinds = {"configmaps", "services", "clusterroles", "clusterrolebindings", "serviceaccounts", "deployments", "customresourcedefinitions"}
    wait_until(lambda: kinds <= {r.split()[1] for r in world.requests(mark) if r.startswith("watch ")}, "watches")


def wait_for_renewals(world, program, count=2):
    """Lets some seconds pass in which nothing but the Lease has to be written."""
    mark = world.control_plane.audit.mark()
    wait_until(lambda: world.control_plane.audit.count(mark, resource="leases", user=program.user) >= count, "renewals")


def test_a_cluster_of_the_original_is_taken_over_without_a_change(world):
    """Only the status of the Kyma changes: the condition SKRWebhook is about something that does not exist any more."""
    Original(world).install()
    before = everything(world)
    assert {kind for _, kind, _ in before} >= {"kymas", "manifests", "moduletemplates", "harbours", "deployments", "namespaces"} and len(before) > 15, sorted(before)
    mark = world.cluster.audit.mark()
    program = world.start()
    wait_for_watches(world, mark)
    wait_until(lambda: [c["type"] for c in world.status()["conditions"]] == ["CRDsSync", "Modules", "ModuleCatalog"], "the status of the Kyma")
    wait_until(lambda: [c["type"] for c in world.skr.get(KYMAS, "default", SYSTEM)["status"]["conditions"]] == ["CRDsSync", "Modules", "ModuleCatalog"],
               "the status in the cluster")
    wait_for_renewals(world, program)
    after = everything(world)
    assert sorted(before) == sorted(after)
    changed = {key for key in before if before[key]["metadata"]["resourceVersion"] != after[key]["metadata"]["resourceVersion"]}
    assert changed == {("kcp", "kymas", "fleet-0001"), ("skr", "kymas", "default")}, changed
    for key in changed:
        assert identity(before[key]) == identity(after[key])
        old, new = before[key]["status"], after[key]["status"]
        assert {k: v for k, v in old.items() if k not in ("conditions", "lastOperation")} == {k: v for k, v in new.items() if k not in ("conditions", "lastOperation")}
        assert new["lastOperation"]["operation"] == "kyma is ready"
        assert [c for c in old["conditions"] if c["type"] != "SKRWebhook"] == new["conditions"]

    # What was adopted is managed: updated, pruned and removed.
    world.enable([{"name": "harbour", "channel": "fast", "managed": True}])
    wait_until(lambda: world.skr.find("configmaps", "harbour-tuning", SYSTEM), "the new object")
    wait_until(lambda: world.skr.find("configmaps", "harbour-settings", SYSTEM) is None, "the object of the old version gone")
    world.roll_out()
    wait_until(lambda: (m := world.module())["version"] == "1.1.0" and m["state"] == "Ready", "the update")
    updated = everything(world)
    kept = [key for key in before if key in updated and key[1] not in ("configmaps",)]
    assert all(before[key]["metadata"]["uid"] == updated[key]["metadata"]["uid"] for key in kept)
    world.delete()
    assert world.objects() == [] and world.left(HARBOURS) == []
    assert world.skr.find(WEBHOOKS, "skr-webhook"), "what the original needed is left to its operator"
    world.skr.delete(WEBHOOKS, "skr-webhook")


def test_the_original_finds_what_it_would_have_made(world):
    """Objects that we make have the same names, labels, annotations, finalizers, owners and field managers as those of the original."""
    program = world.start()
    world.catalog()
    world.access("fleet-0001")
    world.kyma(labels={"kyma-project.io/runtime-id": "rt-1"})
    world.roll_out()
    world.wait_state("Ready")
    wait_for_renewals(world, program)
    ours = everything(world)
    program.stop()
    world.kcp.patch(KYMAS, "fleet-0001", {"metadata": {"finalizers": None}}, world.namespace)
    world.kcp.delete(KYMAS, "fleet-0001", world.namespace)
    world.purge(world.kcp, MANIFESTS, world.manifest())
    world.clean_cluster()
    Original(world).install()
    theirs = everything(world)
    world.skr.delete(WEBHOOKS, "skr-webhook")
    del theirs["skr", WEBHOOKS.rpartition("/")[2], "skr-webhook"]
    assert sorted(ours) == sorted(theirs)
    for key, thing in theirs.items():
        for part in ("labels", "annotations"):
            assert ours[key]["metadata"].get(part) == thing["metadata"].get(part), (key, part)
        assert sorted(ours[key]["metadata"].get("finalizers", [])) == sorted(thing["metadata"].get("finalizers", [])), key
        owners = [[{k: v for k, v in o.items() if k != "uid"} for o in t["metadata"].get("ownerReferences", [])] for t in (ours[key], thing)]
        assert owners[0] == owners[1], key
        assert {name for name, _, _ in managers(ours[key])} <= {name for name, _, _ in managers(thing)} | {"lifecycle-manager", "kyma-sync-context"}, key
        if key[0] == "skr" and key[1] not in ("kymas", "harbours"):
            assert managers(ours[key]) == managers(thing), key
        assert identity(ours[key])[1] == identity(thing)[1] or key[1] in ("services", "clusterroles"), key
    recorded = [sorted(m["status"]["synced"], key=str) for m in (ours["kcp", "manifests", MANIFEST], theirs["kcp", "manifests", MANIFEST])]
    assert recorded[0] == recorded[1]
