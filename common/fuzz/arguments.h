/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the input of a fuzzer, NUL-terminated arguments, to a command line and an environment.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"

enum { ARGUMENTS_SPLIT_MAX = 64, ARGUMENTS_MAX = 2 * ARGUMENTS_SPLIT_MAX };

struct arguments {
    char *items[ARGUMENTS_MAX + 1]; /* NULL at the end */
    int count;
};

/* Takes ownership of argument. */
static inline void arguments_add(struct arguments *arguments, char *argument)
{
    must(arguments->count < ARGUMENTS_MAX);
    arguments->items[arguments->count++] = argument;
    arguments->items[arguments->count] = NULL;
}

/* Splits the input; the name of the program comes first. */
static inline void arguments_split(struct arguments *arguments, const uint8_t *data, size_t size)
{
    arguments_add(arguments, xstrdup("fuzzed"));
    while (size > 0 && arguments->count <= ARGUMENTS_SPLIT_MAX) {
        size_t length = strnlen((const char *)data, size);
        size_t used = length < size ? length + 1 : length;

        arguments_add(arguments, xstrndup((const char *)data, length));
        data += used;
        size -= used;
    }
}

static inline void arguments_done(struct arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
    *arguments = (struct arguments){0};
}

/* Moves arguments of the form "NAME=value" with one of these names to the environment. The
 * environment then has no other value for any of them. */
static inline void arguments_to_environment(struct arguments *arguments, const char *const *names,
                                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)unsetenv(names[i]);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        int kept = 1;

        for (int j = 1; j < arguments->count; j++) {
            char *argument = arguments->items[j];

            if (strncmp(argument, names[i], length) != 0 || argument[length] != '=') {
                arguments->items[kept++] = argument;
                continue;
            }
            (void)setenv(names[i], argument + length + 1, 1);
            free(argument);
        }
        arguments->count = kept;
        arguments->items[kept] = NULL;
    }
}

static inline bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
