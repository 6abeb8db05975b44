/* SPDX-License-Identifier: Apache-2.0 */
/* Types of items: which a deployer needs, and which are served anyway. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The strings of an array as a list that ends with NULL, as graph.h takes it. They are borrowed;
 * the caller frees the list. Other elements are left out. */
const char **type_list(const json_t *array);
/* Types of the items that install a deployer, as far as the registration says: spec.requiredTypes,
 * or, if that is absent, types that occur in the text of an inline blueprint (*ret_is_guess). New
 * reference to an array of strings. */
json_t *registration_needs(const json_t *registration, bool *ret_is_guess);
/* Types that are served for the host Target without any registration: those that the agent reports
 * in status.agent.types, or the helm type, which agents of v0.98 serve without reporting it; and
 * those in external, a list of strings or NULL. New reference. */
json_t *environment_base_types(const json_t *environment, const json_t *external);
