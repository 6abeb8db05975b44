# SPDX-License-Identifier: Apache-2.0
"""A node of its own: releases come and go here, and a deployer of other tests would take the same items."""

import pytest

from bench import images, paths
from bench.node import Node


@pytest.fixture(scope="session")
def node():
    running = Node(paths.run_directory() / "ship-node")
    running.load(images.busybox(), images.BUSYBOX)
    yield running
    running.close()
