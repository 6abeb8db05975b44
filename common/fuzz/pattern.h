/* SPDX-License-Identifier: Apache-2.0 */
/* A regular expression with which the result of a parser is compared. */
#pragma once

#include <regex.h>

#include "common/fuzz/must.h"

/* Compiled on first use; never freed. */
struct pattern {
    const char *expression;
    int flags; /* in addition to REG_EXTENDED and REG_NOSUB */
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
