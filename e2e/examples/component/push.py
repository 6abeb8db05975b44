#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pushes the example's component, with its blueprint as a local blob, and its image: push.py http://HOST:PORT"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from bench import images, oci  # noqa: E402 (the path comes first)
from bench.registry_client import RegistryClient  # noqa: E402

NAME, VERSION = "example.com/harbour/crane", "1.2.0"


def push(client):
    blueprint = oci.Blob(oci.layer_of({name: (HERE / name).read_bytes() for name in ("blueprint.yaml", "install.sh")}).data,
                         "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip")
    descriptor = {"meta": {"schemaVersion": "v2"}, "component": {
        "name": NAME, "version": VERSION, "provider": "example.com", "sources": [], "componentReferences": [],
        "repositoryContexts": [{"type": "ociRegistry", "baseUrl": "example.com"}],
        "resources": [{"name": "blueprint", "version": VERSION, "type": "blueprint", "relation": "local",
                       "access": {"type": "localBlob", "localReference": blueprint.digest, "mediaType": blueprint.media_type}}]}}
    layer = oci.Blob(oci.tar_of({"component-descriptor.yaml": json.dumps(descriptor).encode()}),
                     "application/vnd.ocm.software.component-descriptor.v2+yaml+tar")
    config = oci.Blob(json.dumps({"componentDescriptorLayer": layer.descriptor()}).encode(),
                      "application/vnd.ocm.software.component.config.v1+json")
    manifest = oci.manifest_of(config, [layer, blueprint])
    client.push(f"components/component-descriptors/{NAME}", VERSION, manifest, [config, layer, blueprint])
    # Not the busybox that other tests load into the node: the kubelet of Kubernetes 1.37, unlike that of 1.34, does not start a pod
    # from an image that was pulled with credentials, under whatever name, unless the pod has them too.
    client.push_image("tools/busybox", "1", images.busybox({"component": NAME.encode()}))


if __name__ == "__main__":
    push(RegistryClient(sys.argv[1]))
