/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: reads JSON as programs write it, with a quarter of jansson's instructions.
 * What is not of that kind (reals, escaped keys, \u2028, long integers) and what is wrong it leaves
 * to jansson, whose tree would be the same (fuzz/json_fuzz.c). */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* The document, or NULL: ask jansson, also if it has more than depth_max levels. Without the
 * members that left_out names (slice_without()), if it is not NULL. */
json_t *doc_quick_read(const char *text, size_t size, size_t depth_max,
                       const char *const *left_out);
