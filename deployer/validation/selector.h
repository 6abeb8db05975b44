/* SPDX-License-Identifier: Apache-2.0 */
/* Which targets this deployer is responsible for (Configuration.targetSelector). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/item/mistakes.h"

struct selector;

/* list: the array of the configuration, or a lone map as one element, or NULL for none. Never NULL;
 * whatever is wrong (operator, number of values, keys, types) is added to mistakes below path, and
 * a requirement that is wrong matches nothing. */
struct selector *selector_parse(const json_t *list, const char *path, struct mistakes *mistakes);
void selector_free(struct selector *selector);
define_cleanup(struct selector *, selector_free)
#define cleanup_selector __attribute__((cleanup(selector_freep)))

/* No element: this deployer takes every target, and needs to read none to know whose an item is. */
bool selector_is_empty(const struct selector *selector);

/* target: the Target object; NULL (an item without a target) always matches. Elements are
 * OR-ed, no element matches everything. */
bool selector_matches(const struct selector *selector, const json_t *target);
