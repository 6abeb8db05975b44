# SPDX-License-Identifier: Apache-2.0
"""Installs the custom resource definitions that the Helm chart ships."""

import yaml

from bench import paths
from bench.kube import ApiError
from bench.waiting import wait_until

DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"


def load(directory=paths.CRDS):
    return [yaml.safe_load(path.read_text()) for path in sorted(directory.glob("*.yaml"))]


def install(kube, definitions=None):
    """Applies the definitions and waits until each resource can be listed; the condition Established becomes true earlier."""
    definitions = load() if definitions is None else definitions
    for definition in definitions:
        kube.apply(definition)
    for definition in definitions:
        spec = definition["spec"]
        version = next(version["name"] for version in spec["versions"] if version["served"])
        resource = f"{spec['group']}/{version}/{spec['names']['plural']}"
        wait_until(lambda: _served(kube, resource), f"{resource} served")


def _served(kube, resource):
    try:
        kube.list(resource, limit=1)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
