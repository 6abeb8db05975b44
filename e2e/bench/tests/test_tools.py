# SPDX-License-Identifier: Apache-2.0
"""The selection of the Kubernetes release; nothing is built here."""

import os
import re
import subprocess

import pytest

from bench import paths

RELEASES = {file.stem: re.search(r"^require k8s\.io/kubernetes v(\S+)$", file.read_text(), re.MULTILINE)[1]
            for file in (paths.BENCH / "kubernetes").glob("1.*.mod")}


def tools(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "KUBERNETES"}
    return subprocess.run([paths.BENCH / "tools", *arguments], capture_output=True, text=True, env={**clean, **environment})


@pytest.mark.parametrize("release", RELEASES)
def test_each_release_has_its_own_version_and_directory(release):
    assert RELEASES[release].startswith(f"{release}.")
    directory = tools("path", "kubernetes", KUBERNETES=release).stdout.strip()
    assert re.search(rf"/kubernetes-{re.escape(RELEASES[release])}-[0-9a-f]{{12}}/bin$", directory)


def test_the_default_is_one_of_the_releases():
    assert tools("path", "kubernetes").stdout in {tools("path", "kubernetes", KUBERNETES=release).stdout for release in RELEASES}


@pytest.mark.parametrize("command", (["kubernetes"], ["path", "kubernetes"]), ids=" ".join)
def test_an_unknown_release_is_rejected_with_the_known_ones(command):
    done = tools(*command, KUBERNETES="1.2")
    assert done.returncode == 1 and done.stdout == ""
    assert "KUBERNETES=1.2 is not a release that can be built" in done.stderr
    for release in RELEASES:
        assert release in done.stderr


def test_the_staging_modules_have_the_version_of_kubernetes():
    for release, version in RELEASES.items():
        required = re.findall(r"^\tk8s\.io/(\S+) v(0\.[1-9]\d+\.\d+)", (paths.BENCH / "kubernetes" / f"{release}.mod").read_text(), re.MULTILINE)
        assert len(required) > 20
        assert {number for name, number in required if name != "sample-apiserver"} == {f"0.{version.removeprefix('1.')}"}, release


def test_the_compatibility_page_names_every_release_that_can_be_built():
    page = (paths.CHECKOUT / "docs" / "compatibility.md").read_text()
    assert set(re.findall(r"^\| (1\.\d+\.\d+) \|", page, re.MULTILINE)) == set(RELEASES.values())
