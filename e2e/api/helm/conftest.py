# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

from bench.modules import load

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
killers = load("controller_killer", HERE.parent / "controller" / "killer.py")
harness = load("helm_harness", HERE / "harness.py")


@pytest.fixture
def world(apiserver, namespace):
    """Helm items whose target is the same cluster. The kubelet runs the real init and the real helm. world.start() starts a controller."""
    made = harness.HelmWorld(apiserver, namespace)
    yield made
    made.close()


@pytest.fixture
def world_of_helm_4(apiserver, namespace):
    """The same with helm 4, whatever the other tests run with."""
    made = harness.HelmWorld(apiserver, namespace, major=4)
    yield made
    made.close()


@pytest.fixture
def killer(world):
    """Kills the controller after a request to either cluster was applied and before it is answered."""
    made = killers.Killer("after")
    with world.behind_killer(made):
        yield made
