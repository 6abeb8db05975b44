/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into JSON text without building anything from it: single members, and the text without
 * some of them. Not a check: text that is no JSON gives an answer or none, never a read past its
 * end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slice {
    const char *text;
    size_t size;
};

/* The raw value of a key of the object in text. */
bool slice_member(struct slice object, const char *key, struct slice *ret_value);

/* A copy of the object in text without the members that left_out names ("a" or "a.b", NULL at the
 * end): the whole of what must be parsed. Belongs to the caller. NULL: text is no object. */
char *slice_without(struct slice object, const char *const *left_out, size_t *ret_size);

/* What becomes of a member of the object (parent is empty) or of its member parent. */
enum slice_fate { SLICE_KEPT, SLICE_LEFT_OUT, SLICE_LOOKED_INTO };
enum slice_fate slice_fate(const char *const *left_out, struct slice parent, struct slice key);
/* Past a value of any kind that begins at `at`, or NULL if it does not end. */
const char *slice_skip_value(const char *at, const char *end);
