/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server fills in or checks for particular kinds. Pure. */
#pragma once

#include <jansson.h>

#include "e2e/fleet/cluster.h"

/* Fills in what the kind needs before an object is created or changed: the data of a Secret from
 * its stringData, the phase of a Namespace, names of a CustomResourceDefinition, defaults. */
void rules_complete(const struct resource *resource, const struct resource_version *version,
                    json_t *object, bool is_new);
/* The causes of a Status: an empty array if the object is valid. A new reference. */
json_t *rules_check(const struct resource *resource, const struct resource_version *version,
                    const json_t *object);
/* Whether two versions differ in anything but metadata, and status where it is a subresource. */
bool rules_spec_differs(const struct resource *resource, const json_t *before, const json_t *after);

bool rules_is(const struct resource *resource, const char *qualified);
