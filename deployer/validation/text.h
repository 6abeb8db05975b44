/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted bytes as text: valid UTF-8, truncated between characters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The largest length up to max that does not split a character. */
size_t text_cut(const char *bytes, size_t size, size_t max);
/* The smallest start after which at most max bytes remain and that does not split a character. */
size_t text_tail(const char *bytes, size_t size, size_t max);

/* Whether both texts are equal except for numbers, as in "pods=3" and "pods=12". Numbers in quotes
 * are part of names and do count. */
bool text_is_same_but_for_numbers(const char *text, const char *other);
