/* SPDX-License-Identifier: Apache-2.0 */
/* Which targets this deployer is responsible for (Configuration.targetSelector). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

/* For schemas: one element. selector_parse() checks it itself. */
extern const struct field_rule SELECTOR_ELEMENT;

struct selector;

/* list is an array, a single map that counts as one element, or NULL. Never returns NULL. Problems
 * (operator, number of values, keys, types) are added to mistakes below path; an invalid
 * requirement matches nothing. */
struct selector *selector_parse(const json_t *list, const char *path, struct mistakes *mistakes);
void selector_free(struct selector *selector);
define_cleanup(struct selector *, selector_free)
#define cleanup_selector __attribute__((cleanup(selector_freep)))

/* Whether there is no element, so that every target matches without being read. */
bool selector_is_empty(const struct selector *selector);

/* Whether one of the elements matches the Target object, or there is no element. NULL, for an item
 * without a target, always matches. */
bool selector_matches(const struct selector *selector, const json_t *target);
