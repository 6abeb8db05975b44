# SPDX-License-Identifier: Apache-2.0
"""Builds DeployItems and their objects, and runs `longshore render` with them."""

import base64
import json
import os
import pathlib
import subprocess

from bench import paths

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
PROGRAM = BUILD / "deployer" / "longshore"
GROUP = "container.deployer.landscaper.gardener.cloud"
OURS = f"longshore.{GROUP}"

CONTAINER = {
    "image": "registry.example.com/run:1", "command": ["/run"], "args": ["a"], "importValues": {"a": [1, 2.5, None]},
    "env": [{"name": "A", "value": "b"}], "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
    "nodeSelector": {"pool": "runs"}, "tolerations": [{"key": "runs", "operator": "Exists", "effect": "NoSchedule"}],
    "imagePullPolicy": "Always", "registryPullSecrets": [{"name": "pull", "namespace": "team"}],
    "componentDescriptor": {"ref": {"componentName": "example.com/c", "version": "v1.0.0"}},
    "blueprint": {"ref": {"resourceName": "blueprint"}},
}
SCRIPT = {"script": "#!/bin/sh\necho hello\n" + "# " + "x" * 100000, "files": {"lib.sh": "true", "data.json": "{}"}}


def item(kind, config, name="job"):
    group = GROUP if kind == "container" else "script.deployer.landscaper.gardener.cloud"
    return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "namespace": "team", "uid": "11111111-2222-4333-8444-555555555555", "generation": 1},
            "spec": {"type": f"landscaper.gardener.cloud/{kind}",
                     "config": {"apiVersion": f"{group}/v1alpha1", "kind": "ProviderConfiguration", **config}}}


def secret(name, data, **metadata):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "team", **metadata},
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}


PULL = secret("pull", {".dockerconfigjson": json.dumps({"auths": {"registry.example.com": {"username": "u", "password": "p"}}})})
CONTEXT = [{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Context",
            "metadata": {"name": "default", "namespace": "team"}, "ocmConfig": {"name": "ocm"}},
           {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ocm", "namespace": "team"}, "data": {".ocmconfig": "x"}}]


def state(chunks, name="job"):
    """One complete generation of state."""
    return [secret(f"state-team-{name}-{number}", {"config": "x"}, creationTimestamp="2026-01-07T09:00:00Z", labels={
        f"deployitem.{GROUP}/name": name, f"deployitem.{GROUP}/namespace": "team", f"{GROUP}/type": "state"}, annotations={
        f"{GROUP}/uuid": "0b6f1c1e-0000-4000-8000-000000000000", f"{GROUP}/num": str(number), f"{OURS}/chunks": str(chunks),
        f"{OURS}/sequence": "1", f"{OURS}/sha256": "0" * 64}) for number in range(chunks)]


def render(directory, objects, config=None):
    files = []
    for number, thing in enumerate(objects):
        files.append(directory / f"{number}.json")
        files[-1].write_text(json.dumps(thing))
    options = []
    if config is not None:
        (directory / "config.yaml").write_text(json.dumps(config))
        options = ["--config", directory / "config.yaml"]
    done = subprocess.run([PROGRAM, "render", "-o", "json", *options, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
