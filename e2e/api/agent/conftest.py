# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench import crds
from bench.apiserver import ApiServer
from bench.modules import load

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
registrations = load("registrations_harness", HERE.parent / "registrations" / "harness.py")
killers = load("controller_killer", HERE.parent / "controller" / "killer.py")
harness = load("agent_harness", HERE / "harness.py")


@pytest.fixture(scope="session")
def landscaper(apiserver):
    """Landscaper's cluster: the shared API server with the CRD of Environments."""
    crds.install(apiserver.kube, crds.load(registrations.DEFINITIONS))
    return apiserver


@pytest.fixture(scope="session")
def managed():
    """The cluster of the agents. Only they have its address."""
    server = ApiServer(with_crds=False)
    yield server
    server.close()


@pytest.fixture
def world(landscaper, managed, namespace):
    made = harness.AgentWorld(landscaper, managed, namespace)
    yield made
    made.close()
