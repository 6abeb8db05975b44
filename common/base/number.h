/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers in text from outside: digits and nothing else, in every locale. strtol and its
 * kin pass blanks and signs over, stop at what they do not know, and make the largest number of
 * what does not fit: here all of that is no number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many digits text begins with, if they are a number of at most max; 0 if there are none or it
 * is larger. *ret_number is left alone on 0. */
size_t number_scan(const char *text, uint64_t max, uint64_t *ret_number);
/* False unless all of text is a number of at most max; *ret_number is left alone then. */
bool number_parse(const char *text, uint64_t max, uint64_t *ret_number);
/* The same for a file that holds one number: a line feed at its end is fine. */
bool number_parse_line(const char *text, uint64_t max, uint64_t *ret_number);
/* As Go's strconv.ParseInt(text, 10, 64): one sign in front is fine. */
bool number_parse_signed(const char *text, int64_t *ret_number);
