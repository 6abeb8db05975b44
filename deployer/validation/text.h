/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from outside as text that JSON can carry. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A JSON string; bytes that are no UTF-8 become U+FFFD, as Go's encoder has it. New reference. */
json_t *text_json(const char *bytes, size_t size);

/* The largest length of at most max at which no character is split. */
size_t text_cut(const char *bytes, size_t size, size_t max);
/* The smallest start such that at most max bytes remain and no character is split. */
size_t text_tail(const char *bytes, size_t size, size_t max);

/* Whether both say the same, words aside that begin alike and then differ from a digit on
 * ("pods=3" and "pods=12"). Quoted words are names, and no numbers. */
bool text_is_same_but_for_numbers(const char *text, const char *other);
