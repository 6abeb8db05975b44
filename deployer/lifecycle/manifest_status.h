/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a Manifest: state, conditions, the list of objects. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/lifecycle/state.h"

struct manifest_observation {
    const json_t *manifest;
    enum module_state state;
    const char *operation; /* for people: what was done last, is waited for, or went wrong */
    bool are_resources_parsed;
    bool is_installed;
    bool has_resource; /* a default resource is to be created */
    bool is_resource_created;
    const json_t *synced; /* NULL: as it is */
    int64_t now_unix_ms;
};

/* Equal to the old status if nothing but the time changed. A new reference. */
json_t *manifest_status(const struct manifest_observation *observation);
