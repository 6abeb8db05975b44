# SPDX-License-Identifier: Apache-2.0
"""Builds component versions and blueprints and pushes them to a registry."""

import gzip
import io
import json
import tarfile

import yaml

from bench.oci import Blob, manifest_of, tar_of

BLUEPRINT_YAML = b"apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"
BLUEPRINT_TYPE = "landscaper.gardener.cloud/blueprint"
TAR_GZIP = "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip"
CONFIG = "application/vnd.ocm.software.component.config.v1+json"
DESCRIPTOR = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
DESCRIPTOR_YAML = "application/vnd.ocm.software.component-descriptor.v2+yaml"
DESCRIPTOR_JSON = "application/vnd.ocm.software.component-descriptor.v2+json"
BLUEPRINT_CONFIG = "application/vnd.gardener.landscaper.blueprint.config.v1"
CHART_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"


def dump(body):
    """Block YAML, as all tools write descriptors."""
    return yaml.dump(body, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)).encode()


def context(url, **more):
    return {"type": "ociRegistry", "baseUrl": url, **more}


def reference(repository_context, name, version="1.0.0", blueprint=None, **more):
    """A provider configuration that refers to a component, and to a blueprint in it."""
    ref = {"componentName": name, "version": version}
    if repository_context is not None:
        ref["repositoryContext"] = repository_context
    configuration = {"componentDescriptor": {"ref": ref}, **more}
    if blueprint:
        configuration["blueprint"] = {"ref": {"resourceName": blueprint}}
    return configuration


def blueprint_blob(files=None, media_type=TAR_GZIP):
    files = {"blueprint.yaml": BLUEPRINT_YAML, **(files or {})}
    return Blob(gzip.compress(tar_of(files), mtime=0), media_type)


def tar_with(*entries):
    """A tar of tarfile entries: (TarInfo, bytes or None)."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in entries:
            if data is not None:
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data) if data is not None else None)
    return output.getvalue()


def entry(name, data=None, **fields):
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def resource(blob, name="blueprint", **more):
    """A blueprint as a local blob."""
    access = {"type": "localBlob", "localReference": blob.digest, "mediaType": blob.media_type}
    return {"name": name, "version": "1.0.0", "type": BLUEPRINT_TYPE, "relation": "local", "access": access, **more}


def descriptor(name, version="1.0.0", *, references=(), resources=(), **more):
    refs = [{"name": f"ref{i}", "componentName": target, "version": wanted} for i, (target, wanted) in enumerate(references)]
    return {"meta": {"schemaVersion": "v2"},
            "component": {"name": name, "version": version, "provider": "acme", "sources": [],
                          "repositoryContexts": [{"type": "OCIRegistry", "baseUrl": "origin.example.com"}],
                          "componentReferences": refs, "resources": list(resources), **more}}


def push_component(client, prefix, body, blobs=(), *, tag=None, layer=None):
    """Pushes a descriptor and its local blobs."""
    component = body.get("component") or body["metadata"]
    layer = layer or Blob(tar_of({"component-descriptor.yaml": (dump(body), 0)}), DESCRIPTOR)
    config = Blob(json.dumps({"componentDescriptorLayer": layer.descriptor()}).encode(), CONFIG)
    repository = f"{prefix}/component-descriptors/{component['name']}"
    tag = tag or component["version"].replace("+", ".build-")
    client.push(repository, tag, manifest_of(config, [layer, *blobs]), [config, layer, *blobs])
    return repository


def push_artifact(client, repository, tag, blob, config_type=BLUEPRINT_CONFIG):
    config = Blob(b"{}", config_type)
    manifest = manifest_of(config, [blob])
    client.push(repository, tag, manifest, [config, blob])
    return manifest


def push_chart(client, repository, tag, archive):
    """Pushes the archive of a chart as `helm push` does."""
    return push_artifact(client, repository, tag, Blob(archive, CHART_TYPE), CHART_CONFIG)
