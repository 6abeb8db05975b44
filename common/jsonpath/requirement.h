/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements on the values that a JSONPath found, as custom readiness checks have them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum { REQUIREMENT_VISITS_MAX = 1 << 18 };

enum requirement_operator {
    REQUIREMENT_EXISTS,     /* exists: there is at least one value; null counts */
    REQUIREMENT_MISSING,    /* !: there is none */
    REQUIREMENT_EQUALS,     /* = or ==: every value equals the given one */
    REQUIREMENT_NOT_EQUALS, /* !=: every value differs from it */
    REQUIREMENT_IN,         /* in: every value is one of the given ones */
    REQUIREMENT_NOT_IN,     /* notin: every value is none of them */
};

/* Parses the name of an operator; an unknown one is ERROR_INVALID. */
int requirement_parse_operator(const char *text, enum requirement_operator *ret_operator,
                               struct error *err) must_check;

/* Checks how many values are given: one for = == !=, at least one for in and notin, none for !, at
 * most one for exists, which ignores it. Otherwise ERROR_INVALID. */
int requirement_check_count(enum requirement_operator relation, size_t count, struct error *err)
    must_check;

/* Whether the requirement holds for the found values. found and given are arrays; given passed
 * requirement_check_count(). Without found values only REQUIREMENT_MISSING holds. Values are
 * compared by value_equal(); ERROR_TOO_LARGE if that visits more than REQUIREMENT_VISITS_MAX. */
int requirement_check(enum requirement_operator relation, const json_t *found, const json_t *given,
                      bool *ret_holds, struct error *err) must_check;
