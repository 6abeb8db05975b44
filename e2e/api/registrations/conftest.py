# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench import crds
from bench.modules import load

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
killers = load("controller_killer", HERE.parent / "controller" / "killer.py")
harness = load("registrations_harness", HERE / "harness.py")


@pytest.fixture(scope="session")
def registrations_server(apiserver):
    """The shared API server with the CRDs of the chart and a simplified one of Installations, which belongs to Landscaper."""
    crds.install(apiserver.kube, crds.load(harness.DEFINITIONS) + [harness.INSTALLATION_DEFINITION])
    return apiserver


@pytest.fixture
def world(registrations_server, namespace):
    made = harness.RegistrationsWorld(registrations_server, namespace)
    yield made
    made.close()


@pytest.fixture(params=["before", "after"])
def killer(request, world):
    """Kills the program at a request that is not about its Lease."""
    made = killers.Killer(request.param)
    with world.behind_proxy(lambda r: killers.PASS if "/leases" in r.path else made.plan(r)) as world.proxy:
        yield made
