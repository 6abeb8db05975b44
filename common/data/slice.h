/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up single members in JSON text without parsing it. The text is not checked: text that is
 * not JSON may or may not give a result, but is never read past its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slice {
    const char *text;
    size_t size;
};

/* The raw value of a key of the object in text; the first one if the key occurs twice. Keys that
 * are written with escapes are not found. */
bool slice_member(struct slice object, const char *key, struct slice *ret_value);
