# SPDX-License-Identifier: Apache-2.0
"""The component of a release, with which Longshore is registered as a deployer, read by our own OCM reader."""

import json
import tarfile

import pytest

from init.parts import reference
from ship.registration import blueprint_of, build

RESOURCES = {"container-deployer-blueprint", "container-deployer-chart", "container-deployer-image", "container-init-image", "container-wait-image"}


@pytest.fixture
def archive(pod):
    """The transport archive, and the registration that refers to it."""
    path = pod.inputs / "component.tgz"
    return path, build("ctf", "--output", str(path))


def check(pod, registration, repository):
    """Reads what the Installation of a pair refers to: the component from this repository, and its blueprint."""
    template = registration["spec"]["installationTemplate"]
    component, blueprint = template["componentDescriptor"]["ref"], template["blueprint"]["ref"]
    result = pod.run(reference(repository, component["componentName"], component["version"], blueprint=blueprint["resourceName"])).must_succeed()
    [descriptor] = result.descriptors()["components"]
    assert {r["name"] for r in descriptor["component"]["resources"]} == RESOURCES
    assert {name: json.loads(text) for name, text in result.content().items()} == {"blueprint.yaml": blueprint_of(build("inline"))}


def test_the_archive_can_be_read_as_a_file(pod, archive):
    path, registration = archive
    path.chmod(0o644)
    check(pod, registration, {"type": "CommonTransportFormat", "filePath": str(path)})


def test_the_archive_can_be_read_after_it_was_transferred_to_a_registry(pod, archive, registry, tmp_path):
    path, registration = archive
    with tarfile.open(path) as tar:
        tar.extractall(tmp_path / "ctf")
    registry.client().push_ctf(tmp_path / "ctf")
    check(pod, registration, {"type": "OCIRegistry", "baseUrl": registry.url})
