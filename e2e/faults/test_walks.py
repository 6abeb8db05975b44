# SPDX-License-Identifier: Apache-2.0
"""Fifty random walks with fixed seeds. A thousand are in make bench."""

from faults import walks

COUNT = 50
# Which requests there are between two faults is the programs' own, so numbers differ a little from run to run; but each kind is
# met ten times and more by these seeds, and the rarest (init or wait killed, what only a timeout ends) four to seven times.
KINDS = {"cut", "request lost", "answer lost after it was applied", "409", "410", "429", "500", "503", "slow", "half-open",
         "half-open for good", "half-open in mid-stream", "garbage", "noise", "GOAWAY", "GOAWAY in mid-stream", "RST_STREAM",
         "RST_STREAM in mid-stream", "controller killed", "init killed", "wait killed", "clock set"}
# Eight times and more each, and nearly the same from run to run: what init asks does not depend on others. A registry has no
# objects to be in conflict about; for the one that only a timeout ends see walk.py.
REGISTRY_KINDS = KINDS - {"409", "410", "half-open for good", "controller killed", "init killed", "wait killed", "clock set"}


def test_fifty_walks_keep_what_longshore_promises(apiserver, registry):
    figures = walks.run(COUNT, 1, apiserver=apiserver, registry=registry)
    assert figures["broken"] == 0
    # The walks are worth something only if much goes wrong in them, and everything that can.
    assert figures["faults"] > 10 * COUNT and figures["crashes"] > COUNT / 2
    assert set(figures["by fault"]) == KINDS
    assert set(figures["by registry fault"]) == REGISTRY_KINDS
