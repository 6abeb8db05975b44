/* SPDX-License-Identifier: Apache-2.0 */
/* Several texts for people, problems for example, that become one: the first five, and how many
 * more there are. Pure. */
#pragma once

#include <stddef.h>

#include "common/base/error.h"

enum { SUMMARY_PARTS_MAX = 5, SUMMARY_PART_SIZE = 1200 };

/* To be initialised with {0}. */
struct summary {
    char **texts;
    size_t count;
};

void summary_done(struct summary *summary);
/* A text that is too long is cut off. */
void summary_add(struct summary *summary, const char *format, ...) printf_like(2, 3);
/* Adds "field: message". */
void summary_add_field(struct summary *summary, const char *field, const char *format, ...)
    printf_like(3, 4);
/* The first five: "a; b; and 3 more". NULL: nothing was added. Belongs to the caller; the summary
 * is empty then. */
char *summary_take(struct summary *summary);
/* An error with as many texts as fit, "a; b; and 7 more"; nothing if there are none. */
void summary_error(const struct summary *summary, enum error_kind kind, struct error *ret_err);
