/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a Kyma: one entry for each module, conditions, the aggregated state. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/lifecycle/resolve.h"

/* How far the managed cluster has what every cluster gets. A condition that is STEP_ABSENT is not
 * in the status: a control plane that manages itself has neither. */
enum step_state { STEP_ABSENT, STEP_UNKNOWN, STEP_FAILED, STEP_DONE };

struct kyma_observation {
    const json_t *kyma;
    const struct choices *choices;
    const json_t *manifests; /* objects by module name: {"harbour": {Manifest}} */
    enum step_state crds, catalog;
    bool is_deleting;
    const char *error; /* why nothing can be done in the cluster; NULL: nothing is wrong */
    int64_t now_unix_ms;
};

/* The new status. It is equal to the old one if nothing but the time changed, so that it is not
 * written. A module that is to be removed has an entry as long as its Manifest exists. A new
 * reference. */
json_t *kyma_status(const struct kyma_observation *observation);

/* The status for the Kyma in the managed cluster: without references to objects of the control
 * plane. A new reference. */
json_t *kyma_status_for_cluster(const json_t *status);
