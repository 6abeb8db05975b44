/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an object in a cluster still is what was applied. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/lifecycle/module_objects.h"

/* Whether live has everything that wanted has: each member, and lists with the same elements. What
 * live has beyond that belongs to others: defaults, and fields that the module leaves to them.
 * Values that the server rewrites (quantities, for example) differ, although nothing is wrong; the
 * caller applies the object once then and remembers drift_hash() of the result. */
bool drift_is_covered(const json_t *live, const json_t *wanted);

/* 16 hex characters that identify an object without its status and the metadata that the server
 * sets. The name of the Manifest in the marks of its owner does not count, so that the same objects
 * in two clusters have the same hash; another name does. Belongs to the caller. */
char *drift_hash(const json_t *live, const struct module_owner *owner);
/* The same of an object that is to be applied: all of it counts. */
char *drift_wanted_hash(const json_t *wanted, const struct module_owner *owner);
