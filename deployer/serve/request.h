/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP request. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Parses the head of a request. Returns 1 and the path without its query, which belongs to the
 * caller; 0 if the head is incomplete; -1 if the request is rejected with *ret_status (400, 405).
 */
int serve_parse(const char *head, size_t size, char **ret_path, int *ret_status, int *ret_is_head);

/* These are for a head that serve_parse() has accepted. */

/* The value of the first parameter of this name in the query, percent-decoded and with '+' as a
 * space. NULL if there is none, or if it is not valid: a wrong escape, a NUL or control character.
 * Belongs to the caller. */
char *request_parameter(const char *head, size_t size, const char *name);
/* The value of the first header of this name, without spaces around it; the name is compared
 * without case. NULL: there is none. Belongs to the caller, who wipes it if it is a secret. */
char *request_header(const char *head, size_t size, const char *name);
/* Whether Accept-Encoding allows an answer in gzip, explicitly or with "*". */
bool request_accepts_gzip(const char *head, size_t size);
