# SPDX-License-Identifier: Apache-2.0
"""Uses a separate node: these tests install and remove releases, and a deployer of other tests would process the same items."""

import os

import pytest

from bench import images, paths
from bench.node import Node

# Builds everything of a release a second time, which takes too long for `make test`: `make release-check` runs it.
collect_ignore = [] if os.environ.get("LONGSHORE_RELEASE_CHECK") else ["test_release_again.py"]


@pytest.fixture(scope="session")
def node():
    running = Node(paths.run_directory() / "ship-node")
    running.load(images.busybox(), images.BUSYBOX)
    yield running
    running.close()
