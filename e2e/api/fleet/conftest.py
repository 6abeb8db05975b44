# SPDX-License-Identifier: Apache-2.0
import pytest

from bench.fleet import Fleet


@pytest.fixture
def make_fleet():
    """make_fleet(clusters, *flags): a simulated fleet for this test."""
    fleets = []

    def make(clusters, *flags):
        fleets.append(Fleet(clusters, *flags))
        return fleets[-1]

    yield make
    for fleet in fleets:
        fleet.close()
