# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench.modules import load

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
harness = load("helm_harness", HERE / "harness.py")


@pytest.fixture
def world(apiserver, namespace):
    """Helm items whose target is the same cluster. The kubelet runs the real init and the real helm. world.start() starts a controller."""
    made = harness.HelmWorld(apiserver, namespace)
    yield made
    made.close()
