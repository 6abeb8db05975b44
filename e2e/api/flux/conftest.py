# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import sys

import pytest

from bench.apiserver import ApiServer
from bench.flux import Artifacts, Flux

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
load("manifest_harness", HERE.parent / "manifest" / "harness.py")
harness = load("flux_harness", HERE / "harness.py")


@pytest.fixture(scope="session")
def first():
    """Cluster 1, where Flux runs. Landscaper's cluster is cluster 2 as well, to save an API server."""
    server = ApiServer(with_crds=False)
    yield server
    server.close()


@pytest.fixture(scope="session")
def flux(first):
    running = Flux(first)
    yield running
    running.stop()


@pytest.fixture
def artifacts(first):
    served = Artifacts(first.kube)
    yield served
    served.close()


@pytest.fixture
def world(apiserver, namespace, first, flux, artifacts):
    """Items in a namespace of Landscaper's cluster, Flux objects in one of cluster 1. A controller runs."""
    made = harness.FluxWorld(apiserver, namespace, first, artifacts)
    yield made
    made.close()
