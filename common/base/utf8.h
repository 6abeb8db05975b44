/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing past U+10FFFF. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at the start of text, which has size bytes. Returns its length, 1 to 4
 * bytes; 0, with *ret_code untouched, if the bytes are not well-formed. */
size_t utf8_decode(const char *text, size_t size, uint32_t *ret_code);

/* Encodes a code point, which is neither a surrogate nor past U+10FFFF. Writes and returns 1 to 4
 * bytes, without a NUL behind them. */
size_t utf8_put(uint32_t code, char *out);

/* A copy of any bytes as a well-formed C string: each NUL, and each byte that is not part of a
 * well-formed character, becomes U+FFFD. Belongs to the caller. */
char *utf8_repair(const char *bytes, size_t size);
