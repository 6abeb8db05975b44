/* SPDX-License-Identifier: Apache-2.0 */
/* Strict decimal parsing, independent of the locale. Unlike strtol: no blanks, no sign, no
 * trailing text, no saturation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses the digits at the start of text and returns how many there are. Returns 0, with
 * *ret_number untouched, if there are none or the number is larger than max. */
size_t number_scan(const char *text, uint64_t max, uint64_t *ret_number);
/* Whether the whole text is a number of at most max; otherwise *ret_number is untouched. */
bool number_parse(const char *text, uint64_t max, uint64_t *ret_number);
/* The same for the content of a file: one line feed at the end is allowed. */
bool number_parse_line(const char *text, uint64_t max, uint64_t *ret_number);
/* As strconv.ParseInt(text, 10, 64) in Go: one sign in front is allowed. */
bool number_parse_signed(const char *text, int64_t *ret_number);
