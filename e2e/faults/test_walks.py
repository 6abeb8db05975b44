# SPDX-License-Identifier: Apache-2.0
"""Fifty random walks with fixed seeds. A thousand are in make bench."""

from faults import walks

COUNT = 50


def test_fifty_walks_keep_what_longshore_promises(apiserver, registry):
    figures = walks.run(COUNT, 1, apiserver=apiserver, registry=registry)
    assert figures["broken"] == 0
    # The walks are worth something only if much goes wrong in them.
    assert figures["faults"] > 10 * COUNT and figures["crashes"] > COUNT / 4
