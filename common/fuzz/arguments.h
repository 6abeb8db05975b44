/* SPDX-License-Identifier: Apache-2.0 */
/* An input that is a command line, and an environment: words, each ended by a NUL. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"

enum { WORDS_SPLIT_MAX = 64, WORDS_MAX = 2 * WORDS_SPLIT_MAX };

struct words {
    char *items[WORDS_MAX + 1]; /* NULL at the end */
    int count;
};

/* Takes word over. */
static inline void words_add(struct words *words, char *word)
{
    must(words->count < WORDS_MAX);
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

/* The first word is the program's name. */
static inline void words_split(struct words *words, const uint8_t *data, size_t size)
{
    words_add(words, xstrdup("fuzzed"));
    while (size > 0 && words->count <= WORDS_SPLIT_MAX) {
        size_t length = strnlen((const char *)data, size);
        size_t used = length < size ? length + 1 : length;

        words_add(words, xstrndup((const char *)data, length));
        data += used;
        size -= used;
    }
}

static inline void words_done(struct words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->items[i]);
    *words = (struct words){0};
}

/* Words "NAME=value" of these names are taken out and become the environment, which has no other of
 * them. */
static inline void words_to_environment(struct words *words, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)unsetenv(names[i]);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        int kept = 1;

        for (int j = 1; j < words->count; j++) {
            char *word = words->items[j];

            if (strncmp(word, names[i], length) != 0 || word[length] != '=') {
                words->items[kept++] = word;
                continue;
            }
            (void)setenv(names[i], word + length + 1, 1);
            free(word);
        }
        words->count = kept;
        words->items[kept] = NULL;
    }
}

static inline bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
