# SPDX-License-Identifier: Apache-2.0
"""An item installs Flux, and the items after it use it. The controllers run as processes instead of pods, but with the arguments and
permissions that the item has given them."""

import importlib.util
import threading

import pytest
import yaml

from bench.apiserver import ApiServer
from bench.crds import DEFINITIONS
from bench.flux import KUSTOMIZE, SOURCE, Flux, install_manifest
from bench.kube import ApiError
from controller_harness import World
from flux_harness import EXAMPLES, FluxWorld, wait_until

DEPLOYMENTS = "apps/v1/deployments"


class Kubelet:
    """Runs the controller of each pod in a namespace of cluster 1 and makes the pod ready."""

    def __init__(self, server, namespace):
        self.server, self.namespace = server, namespace
        self.running = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        self._closing.set()
        self._thread.join()
        for flux in self.running.values():
            flux.stop()

    def _run(self):
        while not self._closing.wait(0.2):
            pods = {pod["metadata"]["name"]: pod for pod in self.server.kube.items("pods", self.namespace)}
            for name in [name for name in self.running if name not in pods]:
                self.running.pop(name).stop()
            for name, pod in pods.items():
                if name not in self.running and "deletionTimestamp" not in pod["metadata"]:
                    self._start(name, pod)

    def _start(self, name, pod):
        container, account = pod["spec"]["containers"][0], pod["spec"]["serviceAccountName"]
        controller = container["image"].rpartition("/")[2].partition(":")[0]
        token = self.server.kube.token(account, self.namespace, seconds=7200)
        self.running[name] = Flux(self.server, controllers=[controller], flags={controller: container["args"]}, with_crds=False,
                                  kubeconfig=self.server.token_kubeconfig(token), namespace=self.namespace)
        try:
            self.server.kube.patch("pods", name, {"status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True"}]}}, self.namespace, "status")
        except ApiError as error:
            if error.status != 404:  # deleted in the meantime
                raise


@pytest.fixture
def cluster():
    """A cluster 1 without Flux, with kube-controller-manager."""
    server = ApiServer(with_crds=False)
    server.controllers()
    yield server
    server.close()


def load_example():
    spec = importlib.util.spec_from_file_location("install_flux", EXAMPLES / "install_flux.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_item_installs_flux_and_the_next_ones_use_it(apiserver, namespace, cluster, git):
    world = FluxWorld(apiserver, namespace, cluster, None)
    world.git = git
    kubelet = None
    try:
        wait_until(lambda: cluster.kube.find("serviceaccounts", "default", world.space), "the ServiceAccount of the namespace")
        # The tests have one namespace per test; the install manifest has flux-system.
        item = yaml.safe_load(yaml.safe_dump(load_example().item(install_manifest())).replace("flux-system", world.space))
        item["metadata"]["namespace"] = item["spec"]["target"]["namespace"] = world.namespace
        world.put(item, "job-1")
        # CRDs first, and the job waits for the Deployments, whose pods nobody has started yet.
        wait_until(lambda: "Deployment" in world.shown("flux"), "the job to wait for the Deployments")
        assert world.status("flux")["phase"] == "Progressing"
        kubelet = Kubelet(cluster, world.space)
        world.succeeded("flux", timeout=120)
        assert len(kubelet.running) == 2

        revision = world.commit("blue")
        items = world.example("landscaper-control.yaml", "t-1")
        for name in ("source", "app"):
            world.put(items[name], "job-1")
            world.succeeded(name)
        assert world.exported("app-export") == {"colour": "blue"}
        assert world.kustomization()["status"]["lastAppliedRevision"] == revision

        # The same objects again change nothing, and Flux keeps running.
        before = {name: cluster.kube.get(DEPLOYMENTS, name, world.space)["metadata"]["generation"] for name in (KUSTOMIZE, SOURCE)}
        world.trigger("flux", "job-2")
        world.succeeded("flux", "job-2")
        assert before == {name: cluster.kube.get(DEPLOYMENTS, name, world.space)["metadata"]["generation"] for name in before}

        # As long as there is something to do for Flux, it stays.
        world.delete("flux")
        wait_until(lambda: "Kustomization" in world.shown("flux"), "what the deletion waits for")
        world.removed("app")
        assert world.deployed() is None and world.kustomization() is None
        wait_until(lambda: "GitRepository" in world.shown("flux"), "what the deletion waits for next")
        assert world.status("flux")["phase"] == "Deleting" and len(kubelet.running) == 2
        world.removed("source")
        world.wait_until_deleted("flux", timeout=120)
        assert not [thing for thing in cluster.kube.items(DEFINITIONS) if "fluxcd" in thing["metadata"]["name"]]
        assert not cluster.kube.items(DEPLOYMENTS) and cluster.kube.find("namespaces", world.space) is None
    finally:
        if kubelet:
            kubelet.close()
        # Not of FluxWorld: the kinds of Flux and the namespace are gone.
        World.close(world)
