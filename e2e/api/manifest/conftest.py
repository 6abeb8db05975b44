# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import sys

import pytest

from bench.apiserver import ApiServer

HERE = pathlib.Path(__file__).parent


def load(name, path):
    """Imports a helper module by path, because the tests are imported by path too."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


load("controller_harness", HERE.parent / "controller" / "harness.py")
killers = load("controller_killer", HERE.parent / "controller" / "killer.py")
harness = load("manifest_harness", HERE / "harness.py")


@pytest.fixture(scope="session")
def cluster():
    """The cluster that items are deployed to: another API server, with kube-controller-manager."""
    server = ApiServer(with_crds=False)
    server.controllers()
    yield server
    server.close()


@pytest.fixture
def world(apiserver, namespace, cluster):
    """Items in a namespace of Landscaper's cluster, objects in a namespace of the other. world.start() starts a controller."""
    made = harness.ManifestWorld(apiserver, namespace, cluster)
    yield made
    made.close()


@pytest.fixture(params=["before", "after"])
def killer(request, world):
    """Kills the controller at a request to either cluster."""
    made = killers.Killer(request.param)
    with world.behind_proxies(made.plan):
        yield made
