# SPDX-License-Identifier: Apache-2.0
"""Random walks with faults (e2e/faults): their number, the number of faults, and the number of failed walks."""

from faults import walks as faults_walks

FIRST_SEED = 1000
COUNT, QUICK_COUNT = 1000, 20


def walks(quick):
    return faults_walks.run(QUICK_COUNT if quick else COUNT, FIRST_SEED)


def manifest_walks(quick):
    return faults_walks.run_manifest(QUICK_COUNT if quick else COUNT, FIRST_SEED)
