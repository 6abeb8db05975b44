# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/kustomize.md with the real Flux. The test acts as Landscaper and, in some tests, as source-controller."""

import json

import yaml

from bench import paths
from bench.flux import GIT_REPOSITORIES, KUSTOMIZATIONS, OCI_REPOSITORIES
from bench.kube import DEPLOYITEMS, ApiError
from bench.waiting import wait_until
from controller_harness import ITEM_FINALIZER
from manifest_harness import ManifestWorld

EXAMPLES = paths.CHECKOUT / "e2e" / "examples" / "kustomize"
FLUX_KINDS = (KUSTOMIZATIONS, GIT_REPOSITORIES, OCI_REPOSITORIES)
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


def application(colour):
    """The files of the example's application, with another colour."""
    root = EXAMPLES / "application"
    return {str(path.relative_to(root)): path.read_text().replace("blue", colour) for path in root.rglob("*.yaml")}


def files(colour, *more):
    """The same with further ConfigMaps beside the one that becomes pre-app."""
    made = application(colour)
    for name in more:
        made[f"app/{name}.yaml"] = made["app/app.yaml"].replace("name: app", f"name: {name}")
    made["app/kustomization.yaml"] = made["app/kustomization.yaml"].replace("[app.yaml]", str([f"{name}.yaml" for name in ("app", *more)]))
    return made


class FluxWorld(ManifestWorld):
    def __init__(self, apiserver, namespace, first, artifacts, with_controller=True):
        super().__init__(apiserver, namespace, first)
        self.artifacts, self.git = artifacts, None
        for thing in self.documents("clusters.yaml"):
            (self.remote if thing["kind"] == "Secret" else self.kube).apply(thing)
        if with_controller:
            self.start()

    def close(self):
        for resource in FLUX_KINDS:
            for thing in self.remote.items(resource, self.space):
                try:
                    self.remote.patch(resource, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, self.space)
                    self.remote.delete(resource, thing["metadata"]["name"], self.space)
                except ApiError as error:
                    if error.status != 404:
                        raise
        super().close()

    # --- items ---

    def documents(self, name, token="T"):
        """The objects of a file of the examples, with the namespaces, clusters and sources of this test. token replaces "T"."""
        text = (EXAMPLES / name).read_text()
        if self.git:
            text = text.replace("https://git.example.com/app.git", self.git.url(self.namespace))
        values = {"flux-system": self.space, "tenant-a": self.space, "example": self.namespace, "apps": self.namespace, "T": token}
        if "KUBECONFIG" in text:
            values.update({"KUBECONFIG-1": json.dumps(self.kubeconfig(self.cluster)),
                           "KUBECONFIG-2": json.dumps(self.kubeconfig(self.apiserver))})
        return [self._filled(thing, values) for thing in yaml.safe_load_all(text)]

    def _filled(self, value, values):
        if isinstance(value, dict):
            return {key: self._filled(inner, values) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, values) for inner in value]
        return values.get(value, value) if isinstance(value, str) else value

    def example(self, name, token="T"):
        """The items of an example by name."""
        return {item["metadata"]["name"]: item for item in self.documents(name, token)}

    def put(self, item, job):
        """Creates or changes an item and triggers a job."""
        item["metadata"]["finalizers"] = [ITEM_FINALIZER]
        self.kube.apply(item)
        self.trigger(item["metadata"]["name"], job)

    def shown(self, name):
        """Everything that the status says in words."""
        status = self.status(name)
        return "; ".join([c.get("message", "") for c in status.get("conditions", [])] +
                         [status.get("lastError", {}).get("message", "")])

    def item(self, name):
        return self.kube.get(DEPLOYITEMS, name, self.namespace)

    # --- Flux ---

    def requested(self, token):
        """Waits until the source has been asked to reconcile."""
        self.remote.wait_for(GIT_REPOSITORIES, "app", lambda thing: thing and thing["metadata"].get(
            "annotations", {}).get(REQUESTED_AT) == token, self.space)

    def publish(self, revision, colour, *more):
        self.remote.wait_for(GIT_REPOSITORIES, "app", bool, self.space)
        self.artifacts.publish("app", files(colour, *more), revision, self.space)

    def commit(self, colour, *more):
        """Commits the application to the repository of this test; returns the revision as Flux writes it."""
        return f"main@sha1:{self.git.commit(self.namespace, files(colour, *more))}"

    def kustomization(self, name="app"):
        return self.remote.find(KUSTOMIZATIONS, name, self.space)

    def deployed(self, name="pre-app"):
        """The colour of a ConfigMap in cluster 2."""
        thing = self.kube.find("configmaps", name, self.namespace)
        return thing and thing["data"]["colour"]

    def assert_nothing_left(self):
        assert self.deployed() is None, "an object is left in cluster 2"
        left = [f"{resource}: {thing['metadata']['name']}" for resource in FLUX_KINDS
                for thing in self.remote.items(resource, self.space)]
        assert not left, f"left in cluster 1: {left}"


__all__ = ["wait_until"]
