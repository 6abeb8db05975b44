/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/suggest.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/cleanup.h"

/* Longer words are not compared: names of commands, options and fields are shorter, and the time
 * grows with the square of the length. */
#define WORD_MAX 64

static char lower(char letter)
{
    return (char)(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

/* The optimal string alignment distance, with the last three rows of its table. */
static size_t edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1] = {0};

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);

            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = smallest(row[j], two_above[j - 2] + 1, row[j]);
        }
    }
    return rows[a_length % 3][b_length];
}

void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
    size_t given_length = strlen(suggestion->given), length = strlen(candidate);
    size_t allowed = given_length < 6 ? 1 : given_length / 3;
    size_t distance = 0;

    if (given_length == 0 || given_length > WORD_MAX || length > WORD_MAX)
        return;
    distance = edits(suggestion->given, given_length, candidate, length);
    /* A word of which every character changed is not a misspelling. */
    if (distance > allowed || distance >= length || distance >= given_length)
        return;
    if (!suggestion->best || distance < suggestion->distance) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}

const char *suggest(const char *given, const char *const *candidates)
{
    struct suggestion suggestion = {.given = given};

    for (size_t i = 0; candidates[i]; i++)
        suggestion_offer(&suggestion, candidates[i]);
    return suggestion.best;
}
