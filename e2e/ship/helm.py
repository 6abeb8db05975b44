# SPDX-License-Identifier: Apache-2.0
"""Runs Helm as a user does."""

import json
import pathlib
import subprocess

import yaml

from bench import paths

CHART = paths.CHECKOUT / "charts" / "container-deployer"


class HelmError(Exception):
    """The output of a helm command that failed."""


def program():
    return str(paths.tool_directory("helm") / "helm")


def with_registry(arguments, values):
    """Our charts need a registry. Tests that name none use the images that were loaded onto the node."""
    ours = any(str(argument).startswith(str(CHART.parent)) for argument in arguments)
    if not ours or arguments[0] == "package" or isinstance(values, pathlib.Path) or "--reuse-values" in arguments:
        return values
    return {"imageRegistry": "localhost", **(values or {})}


def run(*arguments, kubeconfig=None, values=None, namespace=None, kube_version=None):
    """Runs helm and returns its output. values is a dict, or the path of a file."""
    command = [program(), *map(str, arguments)]
    if kubeconfig is not None:
        command += ["--kubeconfig", str(kubeconfig)]
    if namespace is not None:
        command += ["--namespace", namespace]
    if kube_version is not None:
        command += ["--kube-version", kube_version]
    standard_input = None
    values = with_registry(arguments, values)
    if isinstance(values, pathlib.Path):
        command += ["--values", str(values)]
    elif values is not None:
        command += ["--values", "-"]
        standard_input = json.dumps(values)
    done = subprocess.run(command, input=standard_input, capture_output=True, text=True)
    if done.returncode:
        raise HelmError(done.stderr + done.stdout)
    return done.stdout


def render(apiserver, values=None, release="deployer", namespace="default"):
    """The objects of a release as helm would send them to this API server, including hooks."""
    answer = json.loads(run("install", release, CHART, "--dry-run=server", "--output", "json", kubeconfig=apiserver.kubeconfig,
                            values=values, namespace=namespace))
    texts = [answer.get("manifest", "")] + [hook["manifest"] for hook in answer.get("hooks", [])]
    return [thing for text in texts for thing in yaml.safe_load_all(text) if thing]


def template(values=None, release="deployer", namespace="default", chart=CHART):
    """The same without an API server, which is ten times faster, for objects that do not depend on one."""
    policies = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
    rendered = run("template", release, chart, "--api-versions", policies, values=values if values is not None else {}, namespace=namespace, kube_version="1.34.0")
    return [thing for thing in yaml.safe_load_all(rendered) if thing]


def find(things, kind, name=None):
    found = [thing for thing in things if thing["kind"] == kind and name in (None, thing["metadata"]["name"])]
    assert len(found) == 1, f"found {len(found)} objects of kind {kind} {name or ''}"
    return found[0]
