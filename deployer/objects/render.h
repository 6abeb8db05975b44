/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an item without a cluster, for `longshore render`. */
#pragma once

#include <jansson.h>

#include "deployer/objects/configuration.h"

/* The objects as they would be created, in the order in which they would be applied: CRDs, objects
 * without a namespace, others. Ignored ones are left out. A new array. */
json_t *manifest_render(const struct manifest_config *config, const char *namespace_name,
                        const char *name);
