# SPDX-License-Identifier: Apache-2.0
"""Fifty random walks with fixed seeds. `make bench` runs a thousand."""

from faults import walks

COUNT = 50
# The requests between two faults depend on the programs, so the numbers vary a little between runs. With these seeds each kind
# occurs ten times or more, and the rarest (init or wait killed, faults that only a timeout ends) four to seven times.
KINDS = {"cut", "request lost", "answer lost after it was applied", "409", "410", "429", "500", "503", "slow", "half-open",
         "half-open for good", "half-open in mid-stream", "garbage", "noise", "GOAWAY", "GOAWAY in mid-stream", "RST_STREAM",
         "RST_STREAM in mid-stream", "controller killed", "init killed", "wait killed", "clock set"}
# Each occurs eight times or more, with little variation, because init does not depend on other programs. A registry has no
# conflicts; the walks leave out faults that only a timeout ends (see walk.py).
REGISTRY_KINDS = KINDS - {"409", "410", "half-open for good", "controller killed", "init killed", "wait killed", "clock set"}


def test_invariants_hold_in_fifty_walks(apiserver, registry):
    figures = walks.run(COUNT, 1, apiserver=apiserver, registry=registry)
    assert figures["broken"] == 0
    # The walks prove something only if many faults of every kind occur.
    assert figures["faults"] > 10 * COUNT and figures["crashes"] > COUNT / 2
    assert set(figures["by fault"]) == KINDS
    assert set(figures["by registry fault"]) == REGISTRY_KINDS
