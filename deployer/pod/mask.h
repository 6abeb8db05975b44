/* SPDX-License-Identifier: Apache-2.0 */
/* Masks credentials in the output of a program before it becomes part of a status. A heuristic, not
 * a guarantee: programs should not print credentials. */
#pragma once

#include <stddef.h>

/* Returns a copy of text in which "***" replaces
 * - every one of secrets, which ends with NULL and may be NULL; those of less than 6 characters are
 *   ignored;
 * - part of a secret (8 characters; 4 in a text of 1 KiB or more) where the text starts in the
 * middle of it, or ends there without a newline;
 * - private key blocks, JSON web tokens, credentials in URLs, and values after password, token,
 *   secret, authorization and the like.
 * Belongs to the caller. */
char *mask_text(const char *text, const char *const *secrets);
