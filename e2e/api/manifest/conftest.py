# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench.apiserver import ApiServer
from bench.modules import load

HERE = pathlib.Path(__file__).parent

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
