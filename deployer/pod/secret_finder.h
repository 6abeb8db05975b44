/* SPDX-License-Identifier: Apache-2.0 */
/* Finds possible secrets in text that is not a document: programs, command lines, "user:password".
 * Redacting all words of such text would make messages unreadable, so only words that are assigned
 * to something or look random are found. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef void secret_found_fn(void *data, const char *word, size_t size);

enum {
    WORD_LENGTH_MIN = 6,      /* of a value, and of the digits of a number */
    WORD_MIXED_MIN = 8,       /* letters and digits; longer than "base64", "sha256" and "python3" */
    WORD_BOTH_CASES_MIN = 12, /* letters of both cases, as in base64 */
    WORD_LONG_MIN = 24,       /* of any characters, except for paths */
};

/* Calls fn for the value after "NAME=", "name:", "user:" or "--option" (up to the closing quote if
 * it is quoted), and for each word that looks random. Lines end at '\n' and NUL. The word is
 * borrowed from text. */
void secret_finder_run(const char *text, size_t size, secret_found_fn *fn, void *data);

/* Whether this is a common word of programs and configurations, which is never redacted. */
bool word_is_common(const char *word, size_t size);
