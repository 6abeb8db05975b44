# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench.apiserver import ApiServer
from bench.flux import SOURCE, Artifacts, Flux
from bench.git_server import GitServer
from bench.modules import load

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
load("manifest_harness", HERE.parent / "manifest" / "harness.py")
harness = load("flux_harness", HERE / "harness.py")
load("flux_landscaper", HERE / "landscaper.py")


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


@pytest.fixture(scope="module")
def sources(first, flux):
    """The real source-controller beside kustomize-controller, for tests that do not publish artifacts themselves."""
    running = Flux(first, controllers=[SOURCE], with_crds=False)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def git():
    server = GitServer()
    yield server
    server.close()


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


@pytest.fixture
def git_world(world, sources, git):
    """The same with the real source-controller: the examples find their source in a git repository of this test."""
    world.git = git
    return world
