/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the known word that a misspelled one probably means, for "did you mean ...?" in messages.
 */
#pragma once

#include <stddef.h>

/* Returns the candidate that is most similar to given, or NULL if none is similar enough.
 * candidates ends with NULL; the result is one of its pointers. The first of equally similar
 * candidates is returned.
 *
 * Similar means: at most one edit per three characters of given (at least one), where an edit
 * inserts, removes or replaces a character or swaps two neighbours. The case of ASCII letters does
 * not count, so "Image" suggests "image". */
const char *suggest(const char *given, const char *const *candidates);

/* The same where the candidates are not an array of strings: offer them one by one, then read best.
 *
 *     struct suggestion suggestion = {.given = name};
 *     for (...)
 *         suggestion_offer(&suggestion, table[i].name);
 *     if (suggestion.best) ... */
struct suggestion {
    const char *given;
    const char *best; /* borrowed from the candidates; NULL: none is similar enough */
    size_t distance;  /* of best */
};

void suggestion_offer(struct suggestion *suggestion, const char *candidate);
