/* SPDX-License-Identifier: Apache-2.0 */
/* Label selectors ("a=b,c!=d,e in (f,g),h,!i") and the field selectors metadata.name and
 * metadata.namespace. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "e2e/fleet/record.h"

struct selection;

/* Both texts may be NULL or empty. ERROR_INVALID names what is wrong. */
int selection_parse(const char *labels, const char *fields, struct selection **ret_selection,
                    struct error *err) must_check;
void selection_free(struct selection *selection); /* NULL is fine */
define_cleanup(struct selection *, selection_free)
#define cleanup_selection __attribute__((cleanup(selection_freep)))

/* NULL selects everything. */
bool selection_matches(const struct selection *selection, const struct record *record);
bool selection_is_empty(const struct selection *selection);
