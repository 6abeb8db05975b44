/* SPDX-License-Identifier: Apache-2.0 */
/* A grammar as a regular expression, to compare a parser with. */
#pragma once

#include <regex.h>

#include "common/fuzz/must.h"

/* Compiled at its first use, freed by the system. */
struct pattern {
    const char *expression;
    int flags; /* beside REG_EXTENDED and REG_NOSUB */
    regex_t compiled;
    bool is_compiled;
};

static inline bool pattern_matches(struct pattern *pattern, const char *text)
{
    if (!pattern->is_compiled)
        must(regcomp(&pattern->compiled, pattern->expression,
                     REG_EXTENDED | REG_NOSUB | pattern->flags) == 0);
    pattern->is_compiled = true;
    return regexec(&pattern->compiled, text, 0, NULL, 0) == 0;
}
