/* SPDX-License-Identifier: Apache-2.0 */
/* Takes what looks like a credential out of text that a program has printed, before it goes into a
 * status that many can read. A net with a fine mesh, no proof: the program should not print it. */
#pragma once

#include <stddef.h>

/* A copy of text in which every one of secrets (NULL at the end; may be NULL itself; shorter than 6
 * characters: ignored; as many as you like), what is left of one (8 characters; 4 in a text of a
 * KiB or more) where the text begins in its middle, or ends there without a line's end, private key
 * blocks, JSON web tokens, credentials in URLs and the values behind password, token, secret,
 * authorization ... are
 * "***". Belongs to the caller. */
char *mask_text(const char *text, const char *const *secrets);
