# SPDX-License-Identifier: Apache-2.0
"""The Flux of the bench does what the tests of manifest items rely on."""

import base64
import pathlib

from bench.flux import FINALIZER, GIT_REPOSITORIES, KUSTOMIZATIONS, NAMESPACE, condition
from flux_harness import files


def test_a_kustomization_follows_the_published_revisions_into_the_second_cluster(first, flux, artifacts, apiserver, namespace):
    kube, second = first.kube, apiserver
    text = base64.b64encode(pathlib.Path(second.kubeconfig).read_bytes()).decode()
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "second", "namespace": NAMESPACE},
                 "data": {"kubeconfig": text}})
    kube.create({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                 "metadata": {"name": "app", "namespace": NAMESPACE},
                 "spec": {"url": "http://127.0.0.1:1/none", "interval": "24h"}})
    kube.create({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                 "metadata": {"name": "app", "namespace": NAMESPACE},
                 "spec": {"interval": "24h", "retryInterval": "5s", "timeout": "1m", "path": "./app", "prune": True, "wait": True,
                          "targetNamespace": namespace, "sourceRef": {"kind": "GitRepository", "name": "app"},
                          "kubeConfig": {"secretRef": {"name": "second", "key": "kubeconfig"}}}})
    for revision, colour in (("main@sha1:0001", "blue"), ("main@sha1:0002", "green")):
        artifacts.publish("app", files(colour), revision)
        done = kube.wait_for(KUSTOMIZATIONS, "app", lambda thing: condition(thing, "Ready") == "True" and
                             thing["status"].get("lastAppliedRevision") == revision, NAMESPACE)
        assert FINALIZER in done["metadata"]["finalizers"]
        assert second.kube.get("configmaps", "pre-app", namespace)["data"] == {"colour": colour}
    kube.delete(KUSTOMIZATIONS, "app", NAMESPACE)
    kube.wait_for(KUSTOMIZATIONS, "app", lambda thing: thing is None, NAMESPACE, "the Kustomization to be pruned")
    assert second.kube.find("configmaps", "pre-app", namespace) is None, "Flux did not prune the second cluster"
    kube.delete(GIT_REPOSITORIES, "app", NAMESPACE)
