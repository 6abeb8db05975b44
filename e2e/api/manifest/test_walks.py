# SPDX-License-Identifier: Apache-2.0
"""Random walks of manifest items with fixed seeds. `make bench` runs more."""

from faults import walks

COUNT = 30
# The requests between two faults depend on the programs, so the numbers vary a little between runs.
KINDS = {"cut", "request lost", "answer lost after it was applied", "409", "410", "429", "500", "503", "slow", "half-open",
         "garbage", "noise", "GOAWAY", "GOAWAY in mid-stream", "RST_STREAM", "RST_STREAM in mid-stream",
         "controller killed"}


def test_invariants_hold_in_walks_of_manifest_items(apiserver, cluster):
    figures = walks.run_manifest(COUNT, 1, apiserver=apiserver, cluster=cluster)
    assert figures["broken"] == 0
    # The walks prove something only if many faults of every kind occur.
    assert figures["faults"] > 5 * COUNT and figures["crashes"] > COUNT / 3
    assert set(figures["by fault"]) >= KINDS
