# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/kustomize.md with the real Flux. The test acts as Landscaper and, mostly, as source-controller."""

import json

import yaml

from bench import paths
from bench.flux import GIT_REPOSITORIES, KUSTOMIZATIONS
from bench.kube import DEPLOYITEMS, ApiError
from bench.waiting import wait_until
from controller_harness import ITEM_FINALIZER
from manifest_harness import ManifestWorld

EXAMPLES = paths.CHECKOUT / "e2e" / "examples" / "kustomize"
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


def files(colour, *more):
    """An application: the ConfigMap pre-app, and further ones."""
    things = {name: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"colour": colour}}
              for name in ("app", *more)}
    return {"app/kustomization.yaml": {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                                       "resources": [f"{name}.yaml" for name in things], "namePrefix": "pre-"},
            **{f"app/{name}.yaml": thing for name, thing in things.items()}}


class FluxWorld(ManifestWorld):
    def __init__(self, apiserver, namespace, first, artifacts):
        super().__init__(apiserver, namespace, first)
        self.artifacts = artifacts
        self.reach(first, "cluster1")
        self.reach(apiserver, "cluster2")
        self.give_flux_access()
        self.start()

    def give_flux_access(self):
        """The Secret that the examples expect: with the kubeconfig of cluster 2, for Flux."""
        self.remote.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cluster2", "namespace": self.space},
                            "stringData": {"kubeconfig": json.dumps(self.kubeconfig(self.apiserver))}})

    def close(self):
        for resource in (KUSTOMIZATIONS, GIT_REPOSITORIES):
            for thing in self.remote.items(resource, self.space):
                try:
                    self.remote.patch(resource, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, self.space)
                    self.remote.delete(resource, thing["metadata"]["name"], self.space)
                except ApiError as error:
                    if error.status != 404:
                        raise
        super().close()

    # --- items ---

    def example(self, name, token="T"):
        """The items of an example by name, with the namespaces of this test. token replaces "T"."""
        text = json.dumps(list(yaml.safe_load_all((EXAMPLES / name).read_text())))
        for old, new in (("flux-system", self.space), ("example", self.namespace), ("apps", self.namespace), ("T", token)):
            text = text.replace(f'"{old}"', json.dumps(new))
        return {item["metadata"]["name"]: item for item in json.loads(text)}

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

    def kustomization(self):
        return self.remote.find(KUSTOMIZATIONS, "app", self.space)

    def deployed(self, name="pre-app"):
        """The colour of a ConfigMap in cluster 2."""
        thing = self.kube.find("configmaps", name, self.namespace)
        return thing and thing["data"]["colour"]

    def assert_nothing_left(self):
        assert self.deployed() is None, "an object is left in cluster 2"
        left = [f"{resource}: {thing['metadata']['name']}" for resource in (KUSTOMIZATIONS, GIT_REPOSITORIES)
                for thing in self.remote.items(resource, self.space)]
        assert not left, f"left in cluster 1: {left}"


__all__ = ["wait_until"]
