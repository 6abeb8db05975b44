# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import sys

import pytest

# Tests are imported by path, so that the helper beside them has to be as well.
_spec = importlib.util.spec_from_file_location("controller_harness", pathlib.Path(__file__).with_name("harness.py"))
harness = importlib.util.module_from_spec(_spec)
sys.modules["controller_harness"] = harness
_spec.loader.exec_module(harness)


@pytest.fixture
def world(apiserver, namespace):
    """Items in one namespace, pods in another, a kubelet that lets every run succeed; world.start() starts a controller."""
    made = harness.World(apiserver, namespace)
    yield made
    made.close()
