# SPDX-License-Identifier: Apache-2.0
"""Modules for a fleet: a module has a number of ordinary objects, of which one is a Deployment, and is pushed as a component."""

import yaml

from bench.oci import Blob, manifest_of, tar_of

GROUP = "operator.kyma-project.io"
API = f"{GROUP}/v1beta2"
SYSTEM = "kyma-system"
NAMES = ("anchor", "beacon", "compass", "dinghy", "engine", "ferry", "galley", "harpoon")
DESCRIPTOR = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
CONFIG = "application/vnd.ocm.software.component.config.v1+json"
OBJECTS = 12


def component(module):
    return f"kyma-project.io/module/{module}"


def _named(api, kind, name, namespace=SYSTEM, **more):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **more}


def objects(module, version):
    """The objects of a module: OBJECTS of them. Only the Deployment and a ConfigMap differ between versions."""
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    subjects = [{"kind": "ServiceAccount", "name": module, "namespace": SYSTEM}]
    container = {"name": "manager", "image": f"example.test/{module}:{version}", "resources": {"limits": {"memory": "64Mi"}}}
    labels = {"app": module}
    return [
        _named("v1", "ServiceAccount", module),
        _named(f"{rbac}/v1", "ClusterRole", module, None, rules=rules),
        _named(f"{rbac}/v1", "ClusterRoleBinding", module, None, subjects=subjects,
               roleRef={"apiGroup": rbac, "kind": "ClusterRole", "name": module}),
        _named(f"{rbac}/v1", "Role", module, rules=rules),
        _named(f"{rbac}/v1", "RoleBinding", module, subjects=subjects, roleRef={"apiGroup": rbac, "kind": "Role", "name": module}),
        _named("v1", "Service", module, spec={"selector": labels, "ports": [{"port": 443, "protocol": "TCP", "targetPort": 9443}]}),
        _named("v1", "ConfigMap", f"{module}-version", data={"version": version}),
        *[_named("v1", "ConfigMap", f"{module}-settings-{number}", data={f"key-{key}": "x" * 100 for key in range(5)}) for number in range(3)],
        _named("scheduling.k8s.io/v1", "PriorityClass", module, None, value=1000),
        _named("apps/v1", "Deployment", module, spec={
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"serviceAccountName": module, "containers": [container]}}}),
    ]


def small_objects(module, version):
    """One small object, for tests of what all clusters share."""
    return [_named("v1", "ConfigMap", f"{module}-version", data={"version": version})]


def push(client, module, version, content=objects):
    """Pushes the component version of a module."""
    text = yaml.safe_dump_all(content(module, version)).encode()
    layer = Blob(text, "application/octet-stream")
    resource = {"name": "raw-manifest", "type": "directoryTree", "relation": "local", "version": version,
                "access": {"type": "localBlob", "localReference": layer.digest, "mediaType": layer.media_type}}
    descriptor = {"meta": {"schemaVersion": "v2"}, "component": {
        "name": component(module), "version": version, "provider": "example.com", "componentReferences": [], "sources": [], "labels": [],
        "repositoryContexts": [{"type": "OCIRegistry", "baseUrl": "http://127.0.0.1:5000", "componentNameMapping": "urlPath"}], "resources": [resource]}}
    described = Blob(tar_of({"component-descriptor.yaml": yaml.safe_dump(descriptor).encode()}), DESCRIPTOR)
    config = Blob(f'{{"componentDescriptorLayer": {{"mediaType": "{DESCRIPTOR}", "digest": "{described.digest}", "size": {len(described.data)}}}}}'.encode(), CONFIG)
    client.push(f"component-descriptors/{component(module)}", version, manifest_of(config, [described, layer]), [config, described, layer])


def template(module, version, namespace):
    return {"apiVersion": API, "kind": "ModuleTemplate", "metadata": {"name": f"{module}-{version}", "namespace": namespace},
            "spec": {"moduleName": module, "version": version, "descriptor": {}}}


def release(module, version, namespace):
    return {"apiVersion": API, "kind": "ModuleReleaseMeta", "metadata": {"name": module, "namespace": namespace},
            "spec": {"moduleName": module, "ocmComponentName": component(module), "channels": [{"channel": "regular", "version": version}]}}
