# SPDX-License-Identifier: Apache-2.0
"""`make release-check`: a second build of a release, in another directory and with other settings, gives the same bytes."""

import os

import pytest

from bench import paths
from ship import release
from ship.test_images import checkout, write_files
from ship.test_release_files import must_be_the_same, stamp


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


def test_every_file_is_the_same_after_a_second_build_in_another_directory_at_another_time_with_other_settings(elsewhere, tmp_path):
    """Compiles everything again for all architectures: our programs, the libraries that they are linked with, and helm, in an empty cache."""
    released = release.files()
    again = release.Release(tmp_path, elsewhere, step="build", is_signed=False, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", LONGSHORE_CACHE=str(tmp_path / "cache"),
                            LONGSHORE_RELEASE_BUILD=str(tmp_path / "build"), **stamp(released))
    must_be_the_same(released, again)
