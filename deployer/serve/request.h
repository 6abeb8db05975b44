/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the head of an HTTP request that serve_parse() has accepted. Pure. */
#pragma once

#include <stddef.h>

/* The value of the first parameter of this name in the query, percent-decoded and with '+' as a
 * space. NULL if there is none, or if it is not valid: a wrong escape, a NUL or control character.
 * Belongs to the caller. */
char *request_parameter(const char *head, size_t size, const char *name);
/* The value of the first header of this name, without spaces around it; the name is compared
 * without case. NULL: there is none. Belongs to the caller, who wipes it if it is a secret. */
char *request_header(const char *head, size_t size, const char *name);
