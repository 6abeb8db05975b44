/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text is in a list of texts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool is_one_of(const char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(texts[i], text) == 0)
            return true;
    }
    return false;
}
