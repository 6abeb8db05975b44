/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "common/jsonpath/requirement.h"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 10000, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static const struct {
    const char *relation;
    const char *given;
    const char *found;
    bool holds;
} cases[] = {
    {"exists", "[]", "[1]", true},
    {"exists", "[]", "[null]", true},
    {"exists", "[1]", "[2]", true},
    {"exists", "[]", "[]", false},
    {"!", "[]", "[]", true},
    {"!", "[]", "[null]", false},
    {"=", "[2]", "[2.0]", true},
    {"==", "[2]", "[2,2]", true},
    {"==", "[2]", "[2,3]", false},
    {"==", "[2]", "[3,2]", false},
    {"==", "[2]", "[\"2\"]", false},
    {"==", "[2]", "[]", false},
    {"==", "[{\"a\":[1]}]", "[{\"a\":[1.0]}]", true},
    {"!=", "[2]", "[3]", true},
    {"!=", "[2]", "[3,\"2\",null]", true},
    {"!=", "[2]", "[3,2]", false},
    {"!=", "[2]", "[]", false},
    {"in", "[1,\"a\"]", "[\"a\",1,1.0]", true},
    {"in", "[1,\"a\"]", "[\"a\",2]", false},
    {"in", "[1]", "[]", false},
    {"notin", "[1,\"a\"]", "[\"b\",2]", true},
    {"notin", "[1,\"a\"]", "[\"b\",\"a\"]", false},
    {"notin", "[1]", "[]", false},
};

static void operators_hold_for_every_found_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *given = parse(cases[i].given);
        cleanup_json json_t *found = parse(cases[i].found);
        enum requirement_operator relation = REQUIREMENT_EXISTS;
        struct error err = {0};
        bool holds = !cases[i].holds;

        assert_int_equal(requirement_parse_operator(cases[i].relation, &relation, &err), 0);
        assert_int_equal(requirement_check_count(relation, json_array_size(given), &err), 0);
        assert_int_equal(requirement_check(relation, found, given, &holds, &err), 0);
        if (holds != cases[i].holds)
            fail_msg("%s %s %s", cases[i].found, cases[i].relation, cases[i].given);
    }
}

static void other_operators_are_refused(void **state)
{
    static const char *const names[] = {"", "Exists", "DoesNotExist", "gt", "===", "In", "! "};

    (void)state;
    for (size_t i = 0; i < array_length(names); i++) {
        enum requirement_operator relation = REQUIREMENT_IN;
        struct error err = {0};

        assert_int_equal(requirement_parse_operator(names[i], &relation, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, "expected exists, !, =, ==, !=, in or notin"));
        assert_non_null(strstr(err.text, names[i]));
        assert_int_equal(relation, REQUIREMENT_IN);
    }
}

static void the_number_of_values_depends_on_the_operator(void **state)
{
    static const struct {
        enum requirement_operator relation;
        size_t min;
        size_t max;
    } counts[] = {
        {REQUIREMENT_EXISTS, 0, 1}, {REQUIREMENT_MISSING, 0, 0},    {REQUIREMENT_EQUALS, 1, 1},
        {REQUIREMENT_IN, 1, 5},     {REQUIREMENT_NOT_EQUALS, 1, 1}, {REQUIREMENT_NOT_IN, 1, 5},
    };

    (void)state;
    for (size_t i = 0; i < array_length(counts); i++) {
        for (size_t count = 0; count <= 5; count++) {
            struct error err = {0};
            int expected = count >= counts[i].min && count <= counts[i].max ? 0 : -1;

            assert_int_equal(requirement_check_count(counts[i].relation, count, &err), expected);
            assert_int_equal(err.kind, expected ? ERROR_INVALID : ERROR_NONE);
        }
    }
}

/* 513 times 512 comparisons; none of the values is equal. */
static void the_work_is_limited(void **state)
{
    cleanup_json json_t *given = json_array();
    cleanup_json json_t *found = json_array();
    struct error err = {0};
    bool holds = false;

    (void)state;
    for (int i = 0; i < 512; i++) {
        (void)json_array_append_new(given, json_integer(1));
        (void)json_array_append_new(found, json_integer(2));
    }
    assert_int_equal(requirement_check(REQUIREMENT_NOT_IN, found, given, &holds, &err), 0);
    assert_true(holds);
    holds = false;
    (void)json_array_append_new(found, json_integer(2));
    assert_int_equal(requirement_check(REQUIREMENT_NOT_IN, found, given, &holds, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_false(holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_hold_for_every_found_value),
        cmocka_unit_test(other_operators_are_refused),
        cmocka_unit_test(the_number_of_values_depends_on_the_operator),
        cmocka_unit_test(the_work_is_limited),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
