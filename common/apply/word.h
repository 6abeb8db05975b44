/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a configuration that stand for the values of an enumeration. */
#pragma once

#include <stddef.h>
#include <string.h>

/* The index of text among words; 0 if text is empty, -1 if it is not among them. */
static inline int word_index(const char *const *words, size_t count, const char *text)
{
    if (!*text)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0)
            return (int)i;
    }
    return -1;
}
