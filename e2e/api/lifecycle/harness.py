# SPDX-License-Identifier: Apache-2.0
"""A control plane, a managed cluster and a registry with modules. The test acts as the user of both, and as the controllers of the
managed cluster: it writes the status of Deployments."""

import base64
import io
import json
import os
import pathlib
import re
import tarfile
import urllib.request

import yaml

from bench.audit import resource_of
from bench.kube import ApiError
from bench.oci import Blob
from bench.waiting import wait_until
from controller_harness import PROGRAM, Controller

DATA = pathlib.Path(__file__).parent / "data"
GROUP = "operator.kyma-project.io"
API = f"{GROUP}/v1beta2"
KYMAS, MANIFESTS = f"{API}/kymas", f"{API}/manifests"
TEMPLATES, RELEASES = f"{API}/moduletemplates", f"{API}/modulereleasemetas"
HARBOURS = f"{GROUP}/v1alpha1/harbours"
DEPLOYMENTS, STATEFUL_SETS, DEFINITIONS = "apps/v1/deployments", "apps/v1/statefulsets", "apiextensions.k8s.io/v1/customresourcedefinitions"
LEASES, LEASE = "coordination.k8s.io/v1/leases", "893110f7.kyma-project.io"
SYSTEM = "kyma-system"
MANAGER = "harbour-controller-manager"
AVAILABLE = {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1, "conditions": [
    {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}
LABEL = f"{GROUP}/managed-by"
# What every managed cluster gets, in addition to its modules.
OWN_DEFINITIONS = [f"kymas.{GROUP}", f"modulereleasemetas.{GROUP}", f"moduletemplates.{GROUP}"]


def module_file(path, namespace):
    return yaml.safe_load((DATA / path).read_text().replace("kcp-system", namespace))


EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]


def token_kubeconfig(apiserver, namespace, proxy):
    """A kubeconfig that also works through a proxy that terminates TLS."""
    token = apiserver.service_account("lifecycle", namespace, seconds=7200)
    apiserver.kube.allow(f"{namespace}:lifecycle", EVERYTHING, kind="ServiceAccount", name=f"lifecycle-{namespace}")
    document = json.loads(pathlib.Path(apiserver.token_kubeconfig(token)).read_text())
    document["clusters"][0]["cluster"]["server"] = f"https://{proxy.host}:{proxy.port}"
    return document


def tar(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def push_module(registry, component, version, content, media_type="application/octet-stream", descriptor=None, images=()):
    """What a module author publishes: a component whose resource raw-manifest has the objects. descriptor: other text for it."""
    layer = Blob(content, media_type)
    text = descriptor if descriptor is not None else yaml.safe_dump({"meta": {"schemaVersion": "v2"}, "component": {
        "name": component, "version": version, "provider": "example.com", "repositoryContexts": [{"type": "OCIRegistry", "baseUrl": "example.com"}], "sources": [], "componentReferences": [],
        "resources": [{"name": "raw-manifest", "version": version, "type": "directoryTree", "relation": "local", "access": {
            "type": "localBlob", "localReference": layer.digest, "mediaType": media_type}}, *[
                {"name": f"image-{number}", "version": version, "type": "ociArtifact", "relation": "external",
                 "access": {"type": "ociArtifact", "imageReference": image}} for number, image in enumerate(images)]]}})
    archive = Blob(tar({"component-descriptor.yaml": text.encode()}), "application/vnd.ocm.software.component-descriptor.v2+yaml+tar")
    place = {"mediaType": archive.media_type, "digest": archive.digest, "size": len(archive.data)}
    config = Blob(json.dumps({"componentDescriptorLayer": place}).encode(), "application/vnd.ocm.software.component.config.v1+json")
    manifest = Blob(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": config.media_type, "digest": config.digest, "size": len(config.data)},
        "layers": [place, {"mediaType": media_type, "digest": layer.digest, "size": len(content)}]}).encode(),
        "application/vnd.oci.image.manifest.v1+json")
    registry.client().push(f"component-descriptors/{component}", version, manifest, [config, archive, layer])


def config_map(name, namespace=SYSTEM, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def workload(kind, name, image="example.com/quay:1.0.0", replicas=1, **pod):
    more = {"serviceName": name} if kind == "StatefulSet" else {}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": SYSTEM}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}}, **more, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "operator", "image": image, **pod.pop("container", {})}], **pod}}}}


def metric(port, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", answer.read().decode(), re.MULTILINE)
    return sum(float(value) for value in found)


class Pods:
    """The StatefulSet controller and the kubelet, for the StatefulSet quay and its first pod."""

    def __init__(self, world):
        self.kube, self.events = world.skr, 0

    def report(self, ready, replicas=2):
        """Each report is a change, so that the program looks again."""
        self.events += 1
        self.kube.patch(STATEFUL_SETS, "quay", {"status": {"observedGeneration": 1, "replicas": replicas, "readyReplicas": ready,
                                                            "collisionCount": self.events}}, SYSTEM, "status")

    def container(self, **status):
        if not self.kube.find("pods", "quay-0", SYSTEM):
            self.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": SYSTEM}})
            self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "quay-0", "namespace": SYSTEM, "labels": {"app": "quay"}},
                              "spec": {"containers": [{"name": "operator", "image": "example.com/quay:1.0.0"}], "automountServiceAccountToken": False}})
        self.kube.patch("pods", "quay-0", {"status": {"containerStatuses": [
            {"name": "operator", "image": "i", "imageID": "i", "restartCount": 0, "ready": False, **status}] if status else None}}, SYSTEM, "status")

    def close(self):
        if self.kube.find("pods", "quay-0", SYSTEM):
            self.kube.delete("pods", "quay-0", SYSTEM, gracePeriodSeconds=0)


class LifecycleWorld:
    """One control plane namespace; all of one managed cluster."""

    def __init__(self, control_plane, cluster, registry, namespace):
        self.control_plane, self.cluster, self.registry, self.namespace = control_plane, cluster, registry, namespace
        self.kcp, self.skr = control_plane.kube, cluster.kube
        self.programs, self.users = [], 0
        self.server = None  # of the managed cluster, if it is another one
        self.user = f"lifecycle-{namespace}"

    def close(self):
        broken = [p for p in self.programs if p.stop() not in (0, -9) or "Sanitizer" in p.output()]
        for resource in (MANIFESTS, KYMAS, RELEASES, TEMPLATES):
            for thing in self.kcp.items(resource, self.namespace):
                self.purge(self.kcp, resource, thing)
        self.clean_cluster()
        assert not broken, [(p.exit_code, p.output()[-4000:]) for p in broken]

    def purge(self, kube, resource, thing):
        name, namespace = thing["metadata"]["name"], thing["metadata"].get("namespace")
        try:
            if thing["metadata"].get("finalizers"):
                kube.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)
            kube.delete(resource, name, namespace)
        except ApiError as error:
            if error.status != 404:
                raise

    def clean_cluster(self):
        """What a test left in the managed cluster."""
        for thing in self.skr.items(DEFINITIONS):
            names, group = thing["spec"]["names"], thing["spec"]["group"]
            for version in [v["name"] for v in thing["spec"]["versions"] if v["served"]][:1]:
                for resource in self.left(f"{group}/{version}/{names['plural']}"):
                    self.purge(self.skr, f"{group}/{version}/{names['plural']}", resource)
            self.purge(self.skr, DEFINITIONS, thing)
        for resource in ("configmaps", "services", "serviceaccounts", "secrets", DEPLOYMENTS, "apps/v1/statefulsets"):
            for thing in self.left(resource, labelSelector=f"{GROUP}/managed-by=kyma"):
                self.purge(self.skr, resource, thing)
        for resource in ("clusterroles", "clusterrolebindings"):
            for thing in self.left(f"rbac.authorization.k8s.io/v1/{resource}", labelSelector=f"{GROUP}/managed-by=kyma"):
                self.purge(self.skr, f"rbac.authorization.k8s.io/v1/{resource}", thing)
        wait_until(lambda: not self.skr.items(DEFINITIONS), "definitions gone")

    def left(self, resource, **query):
        try:
            return self.skr.items(resource, **query)
        except ApiError as error:
            if error.status != 404:
                raise
            return []

    # --- the program ---

    def arguments(self, kubeconfig_path, *more):
        return [PROGRAM, "lifecycle", f"--kubeconfig={kubeconfig_path}", f"--namespace={self.namespace}",
                f"--oci-registry-host={self.registry.url}", "-v", "debug", "--metrics-address=off", "--health-address=off", *more]

    def start(self, *more, kubeconfig_path=None, is_waiting=True):
        self.users += 1
        path = kubeconfig_path or self.control_plane.user_kubeconfig(f"{self.user}-{self.users}", groups=["system:masters"])
        program = Controller("longshore-lifecycle", self.arguments(path, *more), env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"})
        program.user = f"{self.user}-{self.users}"
        self.programs.append(program)
        if is_waiting:
            wait_until(lambda: "all objects listed" in program.output() and '"leading"' in program.output() or not program.running, "leading")
            assert program.running, program.output()
        return program

    def kill(self, program):
        """After a crash the Lease would have to expire."""
        program.expected = False
        program.kill()
        self.forget_lease()

    def forget_lease(self):
        if self.kcp.find(LEASES, LEASE, self.namespace):
            self.kcp.delete(LEASES, LEASE, self.namespace)

    def events(self, kind, reason=None):
        """Events about objects of this kind, oldest first."""
        found = [e for e in self.kcp.items("events", self.namespace) if e["involvedObject"]["kind"] == kind and reason in (None, e["reason"])]
        return sorted(found, key=lambda e: int(e["metadata"]["resourceVersion"]))

    # --- objects ---

    def apply(self, path):
        self.kcp.apply(module_file(path, self.namespace))

    def catalog(self, *names):
        for name in names or ("harbour",):
            for path in sorted((DATA / "modules" / name).glob("module*.yaml")):
                if "inline" not in path.name:
                    self.apply(path.relative_to(DATA))

    def publish(self, name, objects, version="1.0.0", component=None, **options):
        """A module of the test's own: its component, and its entries in the catalog. objects: a list, or the bytes of the layer."""
        component = component or f"example.com/module/{self.namespace}/{name}"
        content = objects if isinstance(objects, bytes) else yaml.safe_dump_all(objects).encode()
        template = {"data": data} if (data := options.pop("data", None)) else {}
        template.update(options.pop("template", {}))
        push_module(self.registry, component, version, content, **options)
        self.kcp.apply({"apiVersion": API, "kind": "ModuleTemplate", "metadata": {"name": f"{name}-{version}", "namespace": self.namespace},
                        "spec": {"moduleName": name, "version": version, "descriptor": {}, **template}})
        self.kcp.apply({"apiVersion": API, "kind": "ModuleReleaseMeta", "metadata": {"name": name, "namespace": self.namespace},
                        "spec": {"moduleName": name, "ocmComponentName": component, "channels": [{"channel": "regular", "version": version}]}})

    def kubeconfig_text(self, user=None, server=None):
        path = self.cluster.user_kubeconfig(user or self.user, groups=["system:masters"])
        text = pathlib.Path(path).read_text()
        document = yaml.safe_load(text)
        if server or self.server:
            document["clusters"][0]["cluster"]["server"] = server or self.server
        self._embed(document)
        return json.dumps(document)

    @staticmethod
    def _embed(document):
        """Replaces names of files by their content."""
        for entry in (document["clusters"][0]["cluster"], document["users"][0]["user"]):
            for key in ("certificate-authority", "client-certificate", "client-key"):
                if key in entry:
                    entry[f"{key}-data"] = base64.b64encode(pathlib.Path(entry.pop(key)).read_bytes()).decode()

    def access(self, kyma, text=None, name=None):
        data = {"config": base64.b64encode((text or self.kubeconfig_text()).encode()).decode()}
        self.kcp.apply({"apiVersion": "v1", "kind": "Secret", "data": data,
                        "metadata": {"name": name or kyma, "namespace": self.namespace, "labels": {f"{GROUP}/kyma-name": kyma}}})

    def access_through(self, proxy, kyma="fleet-0001"):
        """Access to the managed cluster through a proxy that terminates TLS."""
        document = token_kubeconfig(self.cluster, "default", proxy)
        self._embed(document)
        self.access(kyma, json.dumps(document))

    def kyma(self, name="fleet-0001", modules=("harbour",), labels=None, **spec):
        listed = [m if isinstance(m, dict) else {"name": m, "managed": True} for m in modules]
        return self.kcp.create({"apiVersion": API, "kind": "Kyma", "metadata": {"name": name, "namespace": self.namespace, "labels": labels or {}},
                                "spec": {"channel": "regular", "modules": listed, **spec}})

    def status(self, name="fleet-0001"):
        return self.kcp.get(KYMAS, name, self.namespace).get("status", {})

    def module(self, module="harbour", name="fleet-0001"):
        return next((m for m in self.status(name).get("modules", []) if m["name"] == module), None)

    def manifest(self, module="harbour", name="fleet-0001"):
        found = [m for m in self.kcp.items(MANIFESTS, self.namespace)
                 if m["metadata"]["labels"][f"{GROUP}/module-name"] == module and m["metadata"]["labels"][f"{GROUP}/kyma-name"] == name]
        return found[0] if found else None

    def enable(self, modules, name="default"):
        listed = [m if isinstance(m, dict) else {"name": m, "managed": True} for m in modules]
        self.skr.patch(KYMAS, name, {"spec": {"modules": listed}}, SYSTEM)

    def roll_out(self, status=None):
        """The Deployment controller sees the manager."""
        found = wait_until(lambda: self.skr.find(DEPLOYMENTS, MANAGER, SYSTEM), "the manager")
        self.skr.patch(DEPLOYMENTS, MANAGER, {"status": {**(status or AVAILABLE), "observedGeneration": found["metadata"]["generation"]}},
                       SYSTEM, "status")

    def wait_state(self, state, name="fleet-0001", **options):
        def is_there():
            status = self.status(name)
            return status if status.get("state") == state else None
        try:
            return wait_until(is_there, f"{name} {state}", **options)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {json.dumps(self.status(name))}") from None

    def ready(self, *modules, name="fleet-0001"):
        """A cluster with modules that are installed and run."""
        self.catalog(*(modules or ("harbour",)))
        self.access(name)
        self.kyma(name, modules or ("harbour",))
        if not modules or "harbour" in modules:
            self.roll_out()
        return self.wait_state("Ready", name)

    def delete(self, name="fleet-0001"):
        self.kcp.delete(KYMAS, name, self.namespace)
        wait_until(lambda: self.kcp.find(KYMAS, name, self.namespace) is None, f"{name} gone")

    def close_namespace(self):
        """Ends the deletion of the modules' namespace, as its controller would."""
        for program in self.programs:
            program.stop()
        for resource in ("configmaps", "services", "serviceaccounts", DEPLOYMENTS, KYMAS, TEMPLATES, RELEASES, HARBOURS):
            for thing in self.left(resource):
                if thing["metadata"].get("namespace") == SYSTEM:
                    self.purge(self.skr, resource, thing)
        self.skr.request("PUT", f"/api/v1/namespaces/{SYSTEM}/finalize",
                         body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}, "spec": {"finalizers": []}})
        wait_until(lambda: self.skr.find("namespaces", SYSTEM) is None, "the namespace gone")

    def objects(self):
        """Everything in the managed cluster that is labelled as managed, by kind and name."""
        found = []
        for resource in ("configmaps", "services", "serviceaccounts", DEPLOYMENTS, "apps/v1/statefulsets", DEFINITIONS,
                         "rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1/clusterrolebindings"):
            found += [f"{resource.split('/')[-1]}/{t['metadata']['name']}" for t in self.left(resource, labelSelector=f"{LABEL}=kyma")]
        return sorted(f for f in found if f.partition("/")[2] not in OWN_DEFINITIONS)

    def own_definitions(self):
        """The definitions of Kyma's kinds in the managed cluster, by name."""
        return sorted(t["metadata"]["name"] for t in self.skr.items(DEFINITIONS) if t["metadata"]["name"] in OWN_DEFINITIONS)

    def requests(self, mark, user=None):
        """Requests to the managed cluster."""
        return [f"{e['verb']} {resource_of(e)} {e.get('objectRef', {}).get('name', '')} {e['responseStatus']['code']}"
                for e in self.cluster.audit.entries(mark, user=user or self.user)]
