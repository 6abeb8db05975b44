# SPDX-License-Identifier: Apache-2.0
"""`make release-check`: a second build of a release, in another directory and with other settings, gives the same bytes."""

import json
import os

import pytest

from bench import paths
from ship import release
from ship.test_images import checkout, write_files
from ship.test_release_files import images_of


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A copy of the checkout in a directory with another name."""
    directory = tmp_path_factory.mktemp("another place")
    write_files(checkout(), directory)
    for link in (path for path in (paths.CHECKOUT / "charts").rglob("*") if path.is_symlink()):
        copy = directory / link.relative_to(paths.CHECKOUT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_symlink():
            copy.symlink_to(os.readlink(link))
    return directory


def stamp(released):
    layout, manifests = images_of(released, "longshore")
    build = json.loads(released.path("provenance.json").read_text())["predicate"]["buildDefinition"]
    return {"SOURCE_DATE_EPOCH": build["internalParameters"]["SOURCE_DATE_EPOCH"],
            "LONGSHORE_REVISION": manifests[release.NATIVE]["annotations"]["org.opencontainers.image.revision"]}


def test_every_file_is_the_same_after_a_second_build_in_another_directory_at_another_time_with_other_settings(elsewhere, tmp_path):
    """Compiles everything again for all architectures: our programs, the libraries that they are linked with, and helm, in an empty cache."""
    released = release.files()
    again = release.Release(tmp_path, elsewhere, step="build", is_signed=False, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", LONGSHORE_CACHE=str(tmp_path / "cache"),
                            LONGSHORE_RELEASE_BUILD=str(tmp_path / "build"), **stamp(released))
    different = []
    for path in again.directory.iterdir():
        if path.suffixes[-2:] == [".oci", ".tar"]:  # the other one has signatures
            unsigned = {tag: described for tag, described in release.Layout(released.directory / path.name).tags.items() if not tag.endswith(".sig")}
            same = release.Layout(path).tags == unsigned
        else:
            same = path.name in ("SHA256SUMS", "provenance.json") or path.read_bytes() == (released.directory / path.name).read_bytes()
        different += [] if same else [path.name]
    assert different == []
    # These contain digests of the archives, and nothing else differs.
    first, second = (json.loads(made.path("provenance.json").read_text()) for made in (released, again))
    assert first["predicate"] == second["predicate"]
    assert {subject["name"] for subject in first["subject"]} == {subject["name"] for subject in second["subject"]}
