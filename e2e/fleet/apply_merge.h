/* SPDX-License-Identifier: Apache-2.0 */
/* The two changes that server-side apply makes to an object. Pure. */
#pragma once

#include <jansson.h>

#include "e2e/fleet/shape.h"

/* live with the values of config: objects member by member, lists by their type, everything else
 * from config. A new reference. */
json_t *apply_merge(const struct shape *shape, const json_t *live, const json_t *config);
/* Removes from value the fields in gone, except what has fields in keep below it. */
void apply_remove(const struct shape *shape, json_t *value, const json_t *gone, const json_t *keep);
