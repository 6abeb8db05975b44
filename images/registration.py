#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Longshore as a deployer that `longshore registrations` installs in every environment.

    images/registration.py inline --helm helm --images registry.example/longshore --version v0.1.0 > registration.yaml
    images/registration.py ctf --helm helm --images ... --version ... --component example.com/longshore/container-deployer --output component.tgz

inline: a DeployerRegistration that contains everything but the images. Its blueprint has one manifest item with the objects of the chart
container-deployer, so that the agent needs no helm deployer. ctf: an OCM component as a transport archive, and the DeployerRegistration that refers to
it. Its resources have the names that the blueprint of Landscaper's own container deployer expects (chart and images), and the same blueprint
as above."""

import argparse
import base64
import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHART = ROOT / "charts" / "container-deployer"
TYPES = ["landscaper.gardener.cloud/container", "landscaper.gardener.cloud/script", "landscaper.gardener.cloud/kubernetes-manifest"]
MANIFEST_TYPE = "landscaper.gardener.cloud/kubernetes-manifest"
KUBERNETES_TARGET = "landscaper.gardener.cloud/kubernetes-cluster"

# The chart is rendered with these texts. In the blueprint, expressions take their place.
PLACEHOLDERS = {"xx-release-xx": ".imports.releaseName", "xx-namespace-xx": ".imports.releaseNamespace", "xx-identity-xx": ".imports.identity",
                "xx-access-xx": "$access", "xx-checksum-xx": "$checksum", "xx-config-xx": "$config"}
SELECTOR = "xx-selector-xx"


# ---- the objects of the chart ----

def chart_values(options):
    image = {name: {"repository": f"{options.images}/longshore{suffix}", "tag": options.version}
             for name, suffix in (("image", ""), ("initContainer", "-init"), ("waitContainer", "-wait"))}
    return {"fullnameOverride": "xx-release-xx", "image": image["image"], "podAnnotations": {"checksum/imports": "xx-checksum-xx"},
            "admissionPolicy": {"enabled": False},
            "deployer": {"identity": "xx-identity-xx", "namespace": "xx-namespace-xx", "landscaperClusterKubeconfig": {"secretRef": "xx-access-xx"},
                         "targetSelector": [{"annotations": [{"key": SELECTOR, "operator": "exists"}]}], "manifest": {"enabled": True},
                         "initContainer": image["initContainer"], "waitContainer": image["waitContainer"]}}


def chart_objects(options):
    """What helm would create, without its test."""
    command = [options.helm, "template", "xx-release-xx", str(CHART), "--namespace", "xx-namespace-xx", "--kube-version", "1.30.0",
               "--no-hooks", "--values", "-"]
    rendered = subprocess.run(command, input=json.dumps(chart_values(options)), capture_output=True, text=True, check=False)
    if rendered.returncode:
        sys.exit(f"helm: {rendered.stderr.strip()}")
    return [without_helm(thing) for thing in yaml.safe_load_all(rendered.stdout) if thing]


def without_helm(thing):
    """Helm does not manage these objects, and empty members say nothing."""
    thing["metadata"].get("labels", {}).update({"app.kubernetes.io/managed-by": "longshore"})
    thing.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {}).pop("app.kubernetes.io/managed-by", None)
    return {key: value for key, value in thing.items() if value is not None}


def split_config(things):
    """Takes the configuration of the deployer out of its Secret; returns it as a document."""
    [secret] = [t for t in things if t["kind"] == "Secret" and "config.yaml" in (t.get("data") or {})]
    config = yaml.safe_load(base64.b64decode(secret["data"].pop("config.yaml")))
    if not secret["data"]:
        del secret["data"]
    secret["stringData"] = {"config.yaml": "xx-config-xx"}
    assert SELECTOR in json.dumps(config["targetSelector"])
    return config


# ---- Go templates ----

def expression(text):
    """A Go template expression for a text with placeholders, or None if it has none."""
    pieces = re.split("(" + "|".join(PLACEHOLDERS) + ")", text)
    if len(pieces) == 1:
        return None
    names = [PLACEHOLDERS[piece] for piece in pieces if piece in PLACEHOLDERS]
    if len(pieces) == 3 and not pieces[0] and not pieces[2]:
        return names[0]
    form = "".join("%s" if piece in PLACEHOLDERS else piece.replace("%", "%%") for piece in pieces)
    return f"printf {json.dumps(form)} {' '.join(names)}"


def quoted(text):
    """A JSON string. Texts of imports are encoded by the template, so that they cannot change the structure."""
    found = expression(text)
    if found:
        return "{{ " + found + " | toJson }}"
    if "{{" in text:
        return "{{ " + json.dumps(text) + " | toJson }}"
    return json.dumps(text)


def template_of(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {template_of(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(template_of, value)) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def literal(value):
    """The value as an expression, for the configuration, which is a text within the item."""
    if isinstance(value, dict):
        return "(dict " + " ".join(f"{json.dumps(key)} {literal(member)}" for key, member in value.items()) + ")"
    if isinstance(value, list):
        return ".imports.targetSelectors" if SELECTOR in json.dumps(value) else "(list " + " ".join(map(literal, value)) + ")"
    if isinstance(value, str):
        found = expression(value)
        return f"({found})" if found else json.dumps(value)
    return json.dumps(value)


def execution(options):
    """The template that makes the DeployItem: JSON, which is YAML."""
    things = chart_objects(options)
    config = split_config(things)
    kubeconfig = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "xx-access-xx", "namespace": "xx-namespace-xx"},
                  "type": "Opaque"}
    lines = [
        # With access by the agent there is no Target: the agent keeps this Secret in the cluster of the environment.
        '{{- $access := printf "%s-landscaper-access" .imports.identity }}',
        '{{- $kubeconfig := "" }}',
        '{{- if hasKey .imports "landscaperCluster" }}',
        '{{- $access = printf "%s-landscaper-cluster-kubeconfig" .imports.releaseName }}',
        "{{- $kubeconfig = .imports.landscaperCluster.spec.config.kubeconfig }}",
        "{{- end }}",
        f"{{{{- $config := {literal(config)} | toJson }}}}",
        # Another configuration or token replaces the pods.
        "{{- $checksum := printf \"%s %s %s\" $config $kubeconfig (toJson .imports.values) | sha256sum }}",
        "deployItems:",
        "- name: longshore",
        f"  type: {MANIFEST_TYPE}",
        "  target: {import: cluster}",
        "  config:",
        "    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2",
        "    kind: ProviderConfiguration",
        "    updateStrategy: update",
        "    manifests:",
        "{{- if $kubeconfig }}",
        '    - {policy: manage, manifest: ' + template_of(kubeconfig)[:-1] + ', "stringData": {"kubeconfig": {{ $kubeconfig | toJson }}}}}',
        "{{- end }}",
    ]
    lines += [f"    - {{policy: manage, manifest: {template_of(thing)}}}" for thing in things]
    return "\n".join(lines) + "\n"


def blueprint(options):
    text = {"type": "string"}
    imports = [{"name": "cluster", "type": "target", "targetType": KUBERNETES_TARGET},
               {"name": "landscaperCluster", "type": "target", "targetType": KUBERNETES_TARGET, "required": False},
               *[{"name": name, "type": "data", "schema": text} for name in ("releaseName", "releaseNamespace", "identity")],
               {"name": "targetSelectors", "type": "data", "schema": {"type": "array", "items": {"type": "object"}}},
               {"name": "values", "type": "data", "schema": {"type": "object"}}]
    return json.dumps({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint", "imports": imports, "deployExecutions": [
        {"name": "default", "type": "GoTemplate", "template": execution(options)}]}, indent=1) + "\n"


# ---- the two forms ----

def registration(options, template):
    return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployerRegistration", "metadata": {"name": options.name},
            "spec": {"types": TYPES, "requiredTypes": [MANIFEST_TYPE], "installationTemplate": {**template, "importDataMappings": {"values": {}}}}}


def write_inline(options):
    print(json.dumps(registration(options, {"blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint(options)}}}}), indent=1))


def descriptor(options, blob):
    """A component descriptor of schema version v2."""
    def resource(name, kind, reference):
        return {"name": name, "version": options.version, "type": kind, "relation": "external",
                "access": {"type": "ociArtifact", "imageReference": reference}}

    local = {"type": "localBlob", "localReference": blob.digest, "mediaType": BLUEPRINT_MEDIA_TYPE}
    resources = [{"name": "container-deployer-blueprint", "version": options.version, "type": "landscaper.gardener.cloud/blueprint",
                  "relation": "local", "access": local},
                 resource("container-deployer-chart", "helmChart", f"{options.charts}/container-deployer:{options.version.removeprefix('v')}"),
                 resource("container-deployer-image", "ociImage", f"{options.images}/longshore:{options.version}"),
                 resource("container-init-image", "ociImage", f"{options.images}/longshore-init:{options.version}"),
                 resource("container-wait-image", "ociImage", f"{options.images}/longshore-wait:{options.version}")]
    # Readers of descriptors, ours included, require at least one repository context.
    return {"meta": {"schemaVersion": "v2"}, "component": {
        "name": options.component, "version": options.version, "provider": "longshore",
        "repositoryContexts": [repository_context(options)], "sources": [], "componentReferences": [], "resources": resources}}


def repository_context(options):
    return {"type": "ociRegistry", "baseUrl": options.repository}


BLUEPRINT_MEDIA_TYPE = "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip"
DESCRIPTOR_MEDIA_TYPE = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
CONFIG_MEDIA_TYPE = "application/vnd.ocm.software.component.config.v1+json"


class Blob:
    def __init__(self, data, media_type):
        self.data, self.media_type = data, media_type
        self.digest = f"sha256:{hashlib.sha256(data).hexdigest()}"

    def reference(self):
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data)}


def tar_of(files):
    """The same bytes for the same contents."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def zipped(data):
    return gzip.compress(data, mtime=0)


def write_ctf(options):
    content = Blob(zipped(tar_of({"blueprint.yaml": blueprint(options).encode()})), BLUEPRINT_MEDIA_TYPE)
    body = Blob(tar_of({"component-descriptor.yaml": json.dumps(descriptor(options, content), indent=1).encode()}), DESCRIPTOR_MEDIA_TYPE)
    config = Blob(json.dumps({"componentDescriptorLayer": body.reference()}).encode(), CONFIG_MEDIA_TYPE)
    manifest = Blob(json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config.reference(),
                                "layers": [body.reference(), content.reference()]}).encode(), "application/vnd.oci.image.manifest.v1+json")
    index = {"schemaVersion": 1, "artifacts": [{"repository": f"component-descriptors/{options.component}", "tag": options.version,
                                                "digest": manifest.digest}]}
    files = {"artifact-index.json": json.dumps(index, indent=1).encode()}
    files.update({f"blobs/{blob.digest.replace(':', '.')}": blob.data for blob in (content, body, config, manifest)})
    pathlib.Path(options.output).write_bytes(zipped(tar_of(files)))
    reference = {"componentName": options.component, "version": options.version, "repositoryContext": repository_context(options)}
    print(json.dumps(registration(options, {"componentDescriptor": {"ref": reference},
                                            "blueprint": {"ref": {"resourceName": "container-deployer-blueprint"}}}), indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=["inline", "ctf"])
    parser.add_argument("--helm", default="helm", help="the helm program")
    parser.add_argument("--images", required=True, help="prefix of the names of the images")
    parser.add_argument("--version", required=True, help="tag of the images, version of the component")
    parser.add_argument("--name", default="longshore", help="name of the registration")
    parser.add_argument("--component", default="example.com/longshore/container-deployer", help="name of the component (ctf)")
    parser.add_argument("--charts", help="prefix of the name of the chart (ctf; default: IMAGES/charts)")
    parser.add_argument("--repository", default="registry.example/components", help="repository to which the component is transferred (ctf)")
    parser.add_argument("--output", help="file of the transport archive (ctf)")
    options = parser.parse_args()
    options.charts = options.charts or f"{options.images}/charts"
    if options.form == "ctf" and not options.output:
        parser.error("--output is required")
    (write_inline if options.form == "inline" else write_ctf)(options)


if __name__ == "__main__":
    main()
