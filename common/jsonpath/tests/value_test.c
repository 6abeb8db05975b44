/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "common/jsonpath/value.h"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 10000, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void numbers_are_ordered_exactly(void **state)
{
    /* Each number is less than the next one. */
    static const char *const ascending[] = {
        "-1e300",
        "-9223372036854777856.0",
        "-9223372036854775808",
        "-2.5",
        "-2",
        "-1.5",
        "-1",
        "-0.5",
        "0",
        "0.5",
        "1",
        "1.5",
        "9007199254740992.0",
        "9007199254740993",
        "9007199254740994.0",
        "9223372036854775807",
        "9223372036854775808.0",
        "1e300",
    };

    (void)state;
    for (size_t i = 0; i < array_length(ascending); i++) {
        for (size_t j = 0; j < array_length(ascending); j++) {
            cleanup_json json_t *a = parse(ascending[i]);
            cleanup_json json_t *b = parse(ascending[j]);
            int order = value_compare_numbers(a, b);

            if ((order > 0) != (i > j) || (order < 0) != (i < j))
                fail_msg("%s and %s: %d", ascending[i], ascending[j], order);
        }
    }
}

static const struct {
    const char *a;
    const char *b;
    bool is_equal;
} pairs[] = {
    {"2", "2.0", true},
    {"2", "2", true},
    {"2.5", "2.5", true},
    {"-9223372036854775808", "-9223372036854775808.0", true},
    {"9007199254740993", "9007199254740992.0", false},
    {"2", "3", false},
    {"1", "\"1\"", false},
    {"true", "\"true\"", false},
    {"true", "1", false},
    {"true", "true", true},
    {"true", "false", false},
    {"null", "null", true},
    {"null", "false", false},
    {"null", "\"\"", false},
    {"\"a\"", "\"a\"", true},
    {"\"a\"", "\"b\"", false},
    {"\"a\"", "\"ab\"", false},
    {"[]", "[]", true},
    {"[]", "{}", false},
    {"[1,2]", "[1,2.0]", true},
    {"[1,2]", "[2,1]", false},
    {"[1,2]", "[1]", false},
    {"{\"a\":1,\"b\":[{\"c\":2}]}", "{\"b\":[{\"c\":2.0}],\"a\":1}", true},
    {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":1}", "{\"b\":1}", false},
    {"{\"a\":null}", "{\"b\":null}", false},
    {"{\"a\":[{\"c\":2}]}", "{\"a\":[{\"c\":\"2\"}]}", false},
};

static void values_are_compared_by_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pairs); i++) {
        cleanup_json json_t *a = parse(pairs[i].a);
        cleanup_json json_t *b = parse(pairs[i].b);
        size_t visits = 1000;

        if (value_equal(a, b, &visits) != pairs[i].is_equal)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
        if (value_equal(b, a, &visits) != pairs[i].is_equal)
            fail_msg("%s and %s", pairs[i].b, pairs[i].a);
        assert_true(visits > 900);
    }
}

static void the_work_is_limited(void **state)
{
    cleanup_json json_t *a = parse("[1,[2,3],{\"a\":4}]"); /* 7 values */
    cleanup_json json_t *b = json_deep_copy(a);
    size_t visits = 8;

    (void)state;
    assert_true(value_equal(a, b, &visits));
    assert_int_equal(visits, 1);
    visits = 7;
    assert_false(value_equal(a, b, &visits));
    assert_int_equal(visits, 0);
}

static void long_texts_cost_more(void **state)
{
    char text[2561] = {0};
    cleanup_json json_t *a = NULL;
    cleanup_json json_t *b = NULL;
    size_t visits = 100;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    a = json_string(text);
    b = json_string(text);
    assert_true(value_equal(a, b, &visits));
    assert_int_equal(visits, 89);
    visits = 11;
    assert_false(value_equal(a, b, &visits));
    assert_int_equal(visits, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_ordered_exactly),
        cmocka_unit_test(values_are_compared_by_meaning),
        cmocka_unit_test(the_work_is_limited),
        cmocka_unit_test(long_texts_cost_more),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
