# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench import crds, paths
from bench.apiserver import ApiServer
from bench.modules import load
from bench.registry import Registry

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
killers = load("controller_killer", HERE.parent / "controller" / "killer.py")
harness = load("lifecycle_harness", HERE / "harness.py")


@pytest.fixture(scope="session")
def control_plane(apiserver):
    """The shared API server with the kinds of the lifecycle manager."""
    crds.install(apiserver.kube, crds.load(paths.CHECKOUT / "deployer" / "lifecycle" / "crds"))
    return apiserver


@pytest.fixture(scope="session")
def managed_cluster():
    """A second API server, without any of our kinds: the cluster that gets modules."""
    server = ApiServer(with_crds=False)
    yield server
    server.close()


@pytest.fixture(scope="session")
def modules():
    """A registry with the modules of data/ctf."""
    running = Registry()
    running.client().push_ctf(harness.DATA / "ctf")
    yield running
    running.close()


@pytest.fixture
def world(control_plane, managed_cluster, modules, namespace):
    made = harness.LifecycleWorld(control_plane, managed_cluster, modules, namespace)
    yield made
    made.close()
