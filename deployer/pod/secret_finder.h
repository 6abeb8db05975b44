/* SPDX-License-Identifier: Apache-2.0 */
/* What may be a secret in text that is no document: programs, command lines, "user:password". Such
 * text is mostly words that everybody may know, and a message without them can't be read: so only
 * those are found that are somebody's value, or look like none of a language. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef void words_fn(void *data, const char *word, size_t size);

enum {
    WORD_LENGTH_MIN = 6, /* of a value, and of a number's digits */
    WORD_MIXED_MIN = 8,  /* letters with digits; "base64", "sha256" and "python3" are shorter */
    WORD_BOTH_CASES_MIN = 12, /* letters of both cases, as base64 has them */
    WORD_LONG_MIN = 24,       /* whatever it is made of, paths aside */
};

/* What stands behind "NAME=", "name:", "user:" or "--option" (in quotes: all between them), and
 * words that look random, anywhere. Lines end at '\n' and NUL. Borrowed from text while fn runs. */
void words_find(const char *text, size_t size, words_fn *fn, void *data);

/* Words of programs and of configurations that tell nobody anything. */
bool word_is_common(const char *word, size_t size);
