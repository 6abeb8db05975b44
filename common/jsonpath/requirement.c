/* SPDX-License-Identifier: Apache-2.0 */
#include "common/jsonpath/requirement.h"

#include <stdint.h>
#include <string.h>

#include "common/jsonpath/value.h"

int requirement_parse_operator(const char *text, enum requirement_operator *ret_operator,
                               struct error *err)
{
    static const struct {
        const char *text;
        enum requirement_operator relation;
    } operators[] = {
        {"exists", REQUIREMENT_EXISTS}, {"!", REQUIREMENT_MISSING},     {"=", REQUIREMENT_EQUALS},
        {"==", REQUIREMENT_EQUALS},     {"!=", REQUIREMENT_NOT_EQUALS}, {"in", REQUIREMENT_IN},
        {"notin", REQUIREMENT_NOT_IN},
    };

    for (size_t i = 0; i < array_length(operators); i++) {
        if (strcmp(operators[i].text, text) == 0) {
            *ret_operator = operators[i].relation;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID,
                     "unknown operator \"%.64s\": expected exists, !, =, ==, !=, in or notin",
                     text);
}

int requirement_check_count(enum requirement_operator relation, size_t count, struct error *err)
{
    static const struct {
        const char *name;
        size_t min;
        size_t max;
        const char *expected;
    } rules[] = {
        [REQUIREMENT_EXISTS] = {"exists", 0, 1, "no value"},
        [REQUIREMENT_MISSING] = {"!", 0, 0, "no value"},
        [REQUIREMENT_EQUALS] = {"==", 1, 1, "one value"},
        [REQUIREMENT_NOT_EQUALS] = {"!=", 1, 1, "one value"},
        [REQUIREMENT_IN] = {"in", 1, SIZE_MAX, "at least one value"},
        [REQUIREMENT_NOT_IN] = {"notin", 1, SIZE_MAX, "at least one value"},
    };

    if (count >= rules[relation].min && count <= rules[relation].max)
        return 0;
    return error_set(err, ERROR_INVALID, "operator %s: expected %s, got %zu", rules[relation].name,
                     rules[relation].expected, count);
}

static bool is_among(const json_t *value, const json_t *given, size_t *visits_left)
{
    for (size_t i = 0; i < json_array_size(given); i++) {
        if (value_equal(value, json_array_get(given, i), visits_left))
            return true;
    }
    return false;
}

int requirement_check(enum requirement_operator relation, const json_t *found, const json_t *given,
                      bool *ret_holds, struct error *err)
{
    bool is_wanted = relation == REQUIREMENT_EQUALS || relation == REQUIREMENT_IN;
    size_t visits_left = REQUIREMENT_VISITS_MAX + 1;
    size_t count = json_array_size(found);
    bool holds = count > 0;

    if (relation == REQUIREMENT_EXISTS || relation == REQUIREMENT_MISSING) {
        *ret_holds = (relation == REQUIREMENT_EXISTS) == (count > 0);
        return 0;
    }
    for (size_t i = 0; i < count && holds; i++)
        holds = is_among(json_array_get(found, i), given, &visits_left) == is_wanted;
    if (visits_left == 0)
        return error_set(err, ERROR_TOO_LARGE, "the comparison visits more than %d values",
                         REQUIREMENT_VISITS_MAX);
    *ret_holds = holds;
    return 0;
}
