# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas in docs/schemas: they are those of the program, and they agree with `longshore validate`."""

import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

from bench import paths

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
PROGRAM = BUILD / "deployer" / "longshore"
SCHEMAS = paths.CHECKOUT / "docs" / "schemas"
GROUP = "landscaper.gardener.cloud"
REFERENCE = {"repositoryContext": {"type": "ociRegistry", "baseUrl": "r.example/c"}, "componentName": "example.com/c", "version": "1.2.3"}


def provider(kind, **config):
    return {"apiVersion": f"{kind}.deployer.{GROUP}/v1alpha1", "kind": "ProviderConfiguration", **config}


def container(**config):
    return provider("container", **{"image": "alpine:3", **config})


def script(**config):
    return provider("script", **{"script": "echo", **config})


def reference(**changes):
    return container(componentDescriptor={"ref": {**REFERENCE, **changes}})


def thing(kind, **fields):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": "x", "namespace": "team"}, **fields}


def item(kind="container", config=None, **spec):
    made = config or (container() if kind == "container" else script())
    return thing("DeployItem", spec={"type": f"{GROUP}/{kind}", "config": made, **spec})


def target(**spec):
    return thing("Target", spec={"type": f"{GROUP}/kubernetes-cluster", **spec})


def environment(**spec):
    return thing("Environment", spec={
        "namespace": "ls-system", "hostTarget": {"type": "t", "secretRef": {"name": "s", "key": "k"}},
        "landscaperClusterConfig": {"host": "https://ls.example", "apiPath": ""}, "targetSelectors": [], **spec})


def registration(types=("example.com/a",), **template):
    return thing("DeployerRegistration", spec={"types": list(types), "installationTemplate": {
        "blueprint": {"inline": {"filesystem": {"blueprint.yaml": "x"}}}, **template}})


def kyma_object(kind, **spec):
    """In a namespace of its own kind, so that objects are not compared with each other."""
    return {"apiVersion": "operator.kyma-project.io/v1beta2", "kind": kind, "metadata": {"name": "x", "namespace": kind.lower()}, "spec": spec}


def kyma(*modules, **spec):
    return kyma_object("Kyma", **{"channel": "regular", "modules": list(modules), **spec})


def template(**spec):
    return kyma_object("ModuleTemplate", **{"descriptor": {}, **spec})


def release(**spec):
    return kyma_object("ModuleReleaseMeta", **{"moduleName": "harbour", "ocmComponentName": "acme.com/harbour", **spec})


def manifest(**spec):
    return kyma_object("Manifest", **{"remote": False, "install": {"name": "raw-manifest", "source": {"ref": "sha256:0"}}, **spec})


def configuration(**fields):
    return {"apiVersion": f"container.deployer.{GROUP}/v1alpha1", "kind": "Configuration", **fields}


VALID = {
    "container": container(),
    "container-full": container(
        command=["/x"], args=["a"], imagePullPolicy="Always", importValues=None, terminationGracePeriodSeconds=5,
        registryPullSecrets=[{"name": "a", "namespace": "b"}], env=[{"name": "A", "value": "b"}], runtimeClassName="gvisor",
        resources={"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"nvidia.com/gpu": "1"}}, nodeSelector={"a.b/c": "d"},
        tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]),
    "empty-texts": container(image="", command="", args="", runtimeClassName=""),
    "nulls": container(image=None, env=None, resources=None, tolerations=None),
    "image-digest": container(image="r.example:5000/a/b@sha256:" + "0" * 64),
    "reference": reference(),
    "inline-descriptor": container(componentDescriptor={"inline": {"meta": {"schemaVersion": "v2"}}}),
    "blueprint": container(blueprint={"inline": {"filesystem": {"a": "b"}}}),
    "blueprint-text": container(blueprint={"inline": {"filesystem": "a: b"}}),
    "cron": container(continuousReconcile={"cron": "*/5 1-3 * JAN Mon"}),
    "every": container(continuousReconcile={"every": "1h30m"}),
    "script": script(),
    "script-full": script(interpreter=["/usr/bin/python3", "-u"], files={"lib.sh": "x", "a_b-c.d": ""}, args=["x"]),
    "script-interpreter": script(interpreter="/bin/bash"),
    "item": item(),
    "item-script": item("script", timeout="none", context="c", updateOnChangeOnly=True, onDelete={"skipUninstallIfClusterRemoved": True}),
    "item-target": item(target={"name": "t", "namespace": "team"}, timeout="90s"),
    "target": target(secretRef={"name": "s", "key": "kubeconfig"}),
    "target-config": target(config={"kubeconfig": "{}"}),
    "target-empty": target(),
    "context": thing("Context", ocmConfig={"name": "a"}, registryPullSecrets=[{"name": "b"}], configurations={"x": 1},
                     repositoryContext={"type": "OCIRegistry/v1", "baseUrl": "r.example", "extra": 1},
                     verificationSignatures={"s": {"publicKeySecretReference": {"name": "k", "key": "pub"}}}),
    "environment": environment(),
    "environment-selectors": environment(targetSelectors=[{"annotations": [{"key": "a/b", "operator": "=", "values": ["c"]}]}]),
    "registration": registration(),
    "registration-imports": registration(imports={"data": [{"name": "a", "dataRef": "b"}], "targets": [{"name": "c", "targets": ["d"]}]},
                                         importDataMappings={"values": {"a": "(( b ))"}}),
    "kyma": kyma(),
    "kyma-modules": kyma({"name": "a"}, {"name": "b", "channel": "fast", "managed": False, "customResourcePolicy": "Ignore", "controller": "c"}),
    "kyma-status": {**kyma(skipMaintenanceWindows=True), "status": {"state": "Ready"}},
    "template": template(moduleName="", version="", channel="", data=None),
    "template-full": template(
        moduleName="harbour-crane", version="1.2.3-rc1", requiresDowntime=True, data={"apiVersion": "g/v1", "kind": "K", "spec": {}},
        manager={"group": "", "version": "v1", "kind": "Pod", "name": "p"}, resources=[{"name": "a", "link": "https://example.com/a"}],
        customStateCheck=[{"jsonPath": "status.a", "value": "", "mappedState": "Ready"}, {"jsonPath": "b", "value": "c", "mappedState": ""}],
        associatedResources=[{"group": "g", "version": "v1", "kind": "K"}],
        info={"repository": "r", "documentation": "d", "icons": [{"name": "i", "link": "l"}]}),
    "release": release(channels=[{"channel": "regular", "version": "1.0.0"}]),
    "release-mandatory": release(mandatory={"version": "1.0.0-a.1+b"}, kymaSelector={"matchLabels": {"a": "b"}}),
    "manifest": manifest(resource=None),
    "manifest-full": manifest(
        resource={"apiVersion": "g/v1", "kind": "K"}, customResourcePolicy="Ignore", version="1.0.0", localizedImages=["a:1"],
        config={"type": "", "credSecretSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}),
    "configuration": configuration(),
    "configuration-full": configuration(
        identity="a", namespace="ls", oci={"configFiles": ["/a"], "allowPlainHttp": True}, deleteOperation="skip",
        targetSelector=[{"targets": [{"name": "a"}], "labels": [{"key": "a", "operator": "in", "values": ["b"]}]}],
        defaultImage={"image": "a:1", "command": "", "imagePullPolicy": ""}, initContainer={"goImage": True},
        garbageCollection={"requeueTimeSeconds": 60}, state={"generations": 3}, logTail={"lines": 0}, imageGracePeriod="90s",
        leaderElection={"leaseDuration": "30s", "leaseName": ""}, serve={"metricsPort": 0}, script={"enabled": False},
        pod={"sharedVolumeSizeLimit": "1Gi", "nodeSelector": {"a": "b"}, "priorityClassName": "low"}),
    "configuration-single-selector": configuration(targetSelector={"annotations": [{"key": "a", "operator": "exists"}]}),
    "configuration-unused": configuration(controller={"workers": 30, "cacheSyncTimeout": "5m"}, oci={"cache": {}}),
}

INVALID = {
    "image-upper-case": container(image="Alpine"),
    "image-blank": container(image="a b"),
    "image-number": container(image=5),
    "unknown-field": container(colour="blue"),
    "wrong-api-version": {**container(), "apiVersion": f"script.deployer.{GROUP}/v1", "x": 1},
    "command-text": container(command="sh"),
    "args-number": container(args=[1]),
    "pull-policy": container(imagePullPolicy="Sometimes"),
    "pull-secret-without-namespace": container(registryPullSecrets=[{"name": "a"}]),
    "pull-secret-name": container(registryPullSecrets=[{"name": "A_b", "namespace": "b"}]),
    "env-map": container(env={"A": "b"}),
    "env-reserved": container(env=[{"name": "OPERATION", "value": "x"}]),
    "env-our-prefix": container(env=[{"name": "LONGSHORE_X", "value": "x"}]),
    "env-name": container(env=[{"name": "1A"}]),
    "env-number": container(env=[{"name": "A", "value": 5}]),
    "env-from": container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {}}}]),
    "env-null-entry": container(env=[None]),
    "quantity": container(resources={"limits": {"cpu": "much"}}),
    "quantity-negative": container(resources={"limits": {"cpu": -1}}),
    "resource-name": container(resources={"limits": {"disk": 1}}),
    "resources-claims": container(resources={"claims": []}),
    "label-key": container(nodeSelector={"a b": "c"}),
    "label-value": container(nodeSelector={"a": "c d"}),
    "toleration-operator": container(tolerations=[{"key": "a", "operator": "Exist"}]),
    "grace-zero": container(terminationGracePeriodSeconds=0),
    "grace-text": container(terminationGracePeriodSeconds="30s"),
    "component-name": reference(componentName="x.y/z"),
    "component-version": reference(version="one"),
    "component-name-missing": reference(componentName=None),
    "repository-type": reference(repositoryContext={"type": "ociRegistri", "baseUrl": "r"}),
    "repository-without-type": reference(repositoryContext={"baseUrl": "r"}),
    "descriptor-empty": container(componentDescriptor={}),
    "blueprint-number": container(blueprint={"inline": {"filesystem": 5}}),
    "cron-four-fields": container(continuousReconcile={"cron": "* * * *"}),
    "every-negative": container(continuousReconcile={"every": "-3h"}),
    "script-in-container": container(script="x"),
    "script-missing": provider("script"),
    "script-empty": script(script=""),
    "script-command": script(command=["x"]),
    "script-interpreter-arguments": script(interpreter="python3 -u"),
    "script-file-name": script(files={"../a": "b"}),
    "script-file-reserved": script(files={"script": "b"}),
    "item-type": item(type=f"{GROUP}/contaner"),
    "item-timeout": item(timeout="5"),
    "item-timeout-number": item(timeout=5),
    "item-target-without-name": item(target={}),
    "item-context": item(context="A B"),
    "item-field": item(tiemout="5m"),
    "item-configuration": item(config={**container(), "env": 5}),
    "item-configuration-of-another-type": item("script", config=container()),
    "item-without-configuration-kind": item(config={"apiVersion": f"container.deployer.{GROUP}/v1alpha1", "image": "a"}),
    "item-without-name": {**item(), "metadata": {}},
    "target-type-missing": thing("Target", spec={"secretRef": {"name": "a"}}),
    "target-secret-text": target(secretRef="kc"),
    "target-spec-number": thing("Target", spec=5),
    "target-spek": thing("Target", spek={}),
    "context-ocm-text": thing("Context", ocmConfig="a"),
    "context-secret-text": thing("Context", registryPullSecrets=["a"]),
    "environment-without-namespace": environment(namespace=None),
    "environment-host": environment(landscaperClusterConfig={"host": "", "apiPath": ""}),
    "environment-selector": environment(targetSelectors=[{"annotations": [{"key": "a", "operation": "="}]}]),
    "registration-types-text": registration(types=[5]),
    "registration-template-field": registration(exports={}),
    "registration-import-text": registration(imports={"data": ["a"]}),
    "kyma-without-channel": kyma(channel=None),
    "kyma-channel": kyma(channel="Invalid01"),
    "kyma-channel-short": kyma(channel="ch"),
    "kyma-channel-long": kyma(channel="x" * 33),
    "kyma-field": kyma(modles=[]),
    "kyma-module-text": kyma("a"),
    "kyma-module-without-name": kyma({"channel": "fast"}),
    "kyma-module-channel": kyma({"name": "a", "channel": ""}),
    "kyma-module-managed": kyma({"name": "a", "managed": "false"}),
    "kyma-module-policy": kyma({"name": "a", "customResourcePolicy": "Delete"}),
    "kyma-version": {**kyma(), "apiVersion": "operator.kyma-project.io/v1beta1"},
    "template-version": template(version="1.2"),
    "template-version-zero": template(version="01.1.1"),
    "template-version-parts": template(version="1.2.3-a.b"),
    "template-name": template(moduleName="abc-d"),
    "template-name-long": template(moduleName="a" * 65),
    "template-channel": template(channel="ab"),
    "template-without-descriptor": template(descriptor=None),
    "template-data": template(data={"kind": "K"}),
    "template-state": template(customStateCheck=[{"jsonPath": "a", "value": "b", "mappedState": "Fine"}]),
    "template-manager": template(manager={"group": "apps", "version": "v1", "kind": "Deployment"}),
    "template-link": template(resources=[{"name": "a", "link": "example"}]),
    "release-component": release(channels=[], ocmComponentName="acme.com"),
    "release-version": release(channels=[{"channel": "regular", "version": "1"}]),
    "release-mandatory-version": release(mandatory={"version": "1.0.0-01"}),
    "release-channel-without-version": release(channels=[{"channel": "regular"}]),
    "manifest-without-source": manifest(install={"name": "a"}),
    "manifest-remote": manifest(remote=None),
    "manifest-resource": manifest(resource={"apiVersion": "v1"}),
    "manifest-config": manifest(config={"type": "helm"}),
    "configuration-field": configuration(imagePullPolicy="Always"),
    "configuration-generations": configuration(state={"generations": 11}),
    "configuration-port": configuration(serve={"healthPort": 65536}),
    "configuration-delete": configuration(deleteOperation="maybe"),
    "configuration-lease": configuration(leaderElection={"leaseDuration": "soon"}),
    "configuration-selector": configuration(targetSelector=[{"labels": [{"key": "a", "operator": "like"}]}]),
    "configuration-script-arguments": configuration(script={"args": ["x"]}),
}

# Relations between fields, which only code can check: the schema accepts these.
BEYOND_SCHEMA = {
    "env-twice": container(env=[{"name": "A"}, {"name": "A"}]),
    "request-above-limit": container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}),
    "blueprint-without-component": container(blueprint={"ref": {"resourceName": "b"}}),
    "toleration-without-key": container(tolerations=[{}]),
    "cron-and-every": container(continuousReconcile={"cron": "* * * * *", "every": "1h"}),
    "cron-out-of-range": container(continuousReconcile={"cron": "60 * * * *"}),
    "target-exec": target(config={"users": [{"name": "u", "user": {"exec": {"command": "x"}}}]}),
    "environment-without-content": environment(hostTarget={"type": "t"}),
    "environment-template": environment(landscaperClusterConfig={"host": "((x))", "apiPath": ""}),
    "registration-without-types": registration(types=[]),
    "registration-reserved-import": registration(imports={"targets": [{"name": "cluster", "target": "x"}]}),
    "kyma-module-twice": kyma({"name": "a"}, {"name": "a"}),
    "kyma-no-channel": kyma(channel="none"),
    "release-channel-twice": release(channels=[{"channel": "regular", "version": "1.0.0"}] * 2),
    "release-without-versions": release(),
    "release-two-ways": release(channels=[{"channel": "regular", "version": "1.0.0"}], mandatory={"version": "1.0.0"}),
    "template-link-twice": template(resources=[{"name": "a", "link": "h:a"}] * 2),
    "lease-too-short": configuration(leaderElection={"leaseDuration": "1s"}),
}


def schema_of(document):
    kind, api = document["kind"], document["apiVersion"]
    if kind == "ProviderConfiguration":
        return f"provider-{api.partition('.')[0]}"
    return kind.lower()


@pytest.fixture(scope="module")
def schemas():
    return {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in SCHEMAS.iterdir()}


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """The documents in which validate finds an error or an unknown field."""
    directory = tmp_path_factory.mktemp("documents")
    every = {**VALID, **INVALID, **BEYOND_SCHEMA}
    for name, document in every.items():
        (directory / f"{name}.json").write_text(json.dumps(document))
    done = subprocess.run([PROGRAM, "validate", "-o", "json", *sorted(directory.iterdir())], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    found = json.loads(done.stdout)
    assert found["objects"] == len(every), found["findings"]
    return {pathlib.Path(f["file"]).stem: f["message"] for f in found["findings"]
            if f["severity"] == "error" or f["message"].startswith("unknown field")}


def test_the_files_are_those_of_the_program(schemas):
    names = subprocess.run([PROGRAM, "schema"], capture_output=True, text=True, check=True).stdout.split()
    assert {*names} <= {*schemas}
    for name in names:
        printed = subprocess.run([PROGRAM, "schema", name], capture_output=True, text=True, check=True).stdout
        assert printed == (SCHEMAS / f"{name}.schema.json").read_text(), "run 'make reference'"
        jsonschema.Draft7Validator.check_schema(schemas[name])
    completion = subprocess.run([PROGRAM, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    assert " ".join(names) in completion, "the choices of the operand in common/command_line/table.c"
    wrong = subprocess.run([PROGRAM, "schema", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "unknown schema \"nothing\"" in wrong.stderr


def test_schemas_and_validate_agree(schemas, refused):
    assert len(VALID) + len(INVALID) >= 60
    wrong = {}
    for name, document in {**VALID, **INVALID}.items():
        errors = [error.message for error in jsonschema.Draft7Validator(schemas[schema_of(document)]).iter_errors(document)]
        if bool(errors) != (name in INVALID) or (name in refused) != (name in INVALID):
            wrong[name] = (errors, refused.get(name))
    assert wrong == {}


def test_validate_also_checks_relations_between_fields(schemas, refused):
    for name, document in BEYOND_SCHEMA.items():
        jsonschema.validate(document, schemas[schema_of(document)], cls=jsonschema.Draft7Validator)
        assert name in refused, name
