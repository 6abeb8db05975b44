/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for a terminal. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TEXT_DURATION_MAX = 48 };

/* "12s", "3m10s", "2h5m", "4d3h": the two largest units, as kubectl shows ages. */
void text_duration(int64_t ms, char ret_text[TEXT_DURATION_MAX]);

/* The text in which everything that could control a terminal is replaced: control characters, other
 * than the line feed and tab, by '?'. The caller frees. */
char *text_printable(const char *text, size_t size);
