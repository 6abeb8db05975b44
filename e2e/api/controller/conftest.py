# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import sys

import pytest


def load(name):
    """Imports a helper module by path, because the tests are imported by path too."""
    spec = importlib.util.spec_from_file_location(f"controller_{name}", pathlib.Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"controller_{name}"] = module
    spec.loader.exec_module(module)
    return module


harness = load("harness")
killers = load("killer")


@pytest.fixture
def world(apiserver, namespace):
    """Items in one namespace, pods in another, and a kubelet that makes every run succeed. world.start() starts a controller."""
    made = harness.World(apiserver, namespace)
    yield made
    made.close()


@pytest.fixture(params=["before", "after"])
def killer(request, world):
    made = killers.Killer(request.param)
    with world.behind_proxy(made.plan) as proxy:
        made.proxy = proxy
        yield made
