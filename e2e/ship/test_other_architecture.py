# SPDX-License-Identifier: Apache-2.0
"""The images for the architecture that this machine does not have, cross-compiled, with their programs under QEMU. `make release-check` tests all other
files of a release for both architectures. Services, init and wait only start: QEMU has no seccomp, without which they do not enter their sandbox."""

import json
import subprocess

import pytest

from bench import paths
from bench.kube import DEPLOYITEMS
from ship import release
from ship.test_images import check_hardening_options
from ship.test_images import test_the_program_is_static_and_hardened as check_hardening

EXAMPLES = sorted((paths.CHECKOUT / "e2e" / "examples").glob("*/item.yaml"))


@pytest.fixture(scope="module", params=release.NAMES)
def image(request):
    archive = release.Archive(release.archives(release.OTHER)[request.param])
    archive.program = request.param
    return archive


def program_of(name):
    return release.build_directory(release.OTHER) / "bin" / name


def run(name, *arguments):
    return subprocess.run([release.EMULATOR, program_of(name), *arguments], capture_output=True, text=True)


def test_the_image_differs_from_ours_only_in_its_program(image):
    ours = release.Archive(release.archives()[image.program])
    assert {name: (entry.type, entry.mode, entry.linkname) for name, entry in image.entries.items()} == {
        name: (entry.type, entry.mode, entry.linkname) for name, entry in ours.entries.items()}
    assert [name for name in ours.data if image.data[name] != ours.data[name]] == [image.program]
    assert image.config["architecture"] == release.OTHER and image.config["config"] == ours.config["config"]
    assert image.size <= release.SIZE_MAX[image.program]


def test_the_program_is_built_for_it_and_hardened(image):
    header = subprocess.run(["readelf", "--file-header", program_of(image.program)], capture_output=True, text=True, check=True).stdout
    assert {"amd64": "X86-64", "arm64": "AArch64"}[release.OTHER] in header
    assert program_of(image.program).read_bytes() == image.data[image.program]
    check_hardening(program_of(image.program))
    check_hardening_options(image.program, release.OTHER)
    done = run(image.program, "--version")
    assert done.returncode == 0 and image.manifest["annotations"]["org.opencontainers.image.version"] in done.stdout, done.stderr


def test_the_sbom_has_the_libraries_of_the_architecture(image):
    packages = json.loads((release.OUT / release.OTHER / f"{image.program}.spdx.json").read_text())["packages"]
    places = {package["name"]: package["externalRefs"][0]["referenceLocator"] for package in packages[1:]}
    assert {"openssl", "curl", "libc6-dev", "libjansson-dev"} <= set(places)
    assert f"arch={release.OTHER}" in places["libc6-dev"]


def test_the_command_line_prints_what_ours_prints():
    release.archives()
    release.archives(release.OTHER)
    assert len(EXAMPLES) > 3
    for arguments in (["schema", "deployitem"], ["man", "run"], *(["validate", "-o", "json", item] for item in EXAMPLES), *(["render", item] for item in EXAMPLES)):
        ours = subprocess.run([release.BUILD / "bin" / "longshore", *arguments], capture_output=True, text=True)
        theirs = run("longshore", *arguments)
        assert (theirs.returncode, theirs.stdout, theirs.stderr) == (ours.returncode, ours.stdout, ours.stderr), arguments


def test_the_command_line_reads_from_an_api_server(apiserver, kube, namespace):
    """TLS 1.3 with a client certificate, HTTP/2 and JSON."""
    release.archives(release.OTHER)
    kube.create({"apiVersion": DEPLOYITEMS.rpartition("/")[0], "kind": "DeployItem", "metadata": {"name": "first", "namespace": namespace},
                 "spec": {"type": "landscaper.gardener.cloud/container"}})
    done = run("longshore", "status", "--kubeconfig", apiserver.kubeconfig, "--namespace", namespace)
    assert done.returncode == 0 and "first" in done.stdout, done.stdout + done.stderr
