/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes (1 to 4) of the well-formed character at the start of text, which has size bytes; 0 if
 * there is none. *ret_code is its number, and is left alone on 0. */
size_t utf8_decode(const char *text, size_t size, uint32_t *ret_code);
