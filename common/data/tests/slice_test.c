/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/slice.h"

static void a_member_is_found_at_the_first_level_only(void **state)
{
    static const struct {
        const char *text, *value; /* NULL: not found */
    } cases[] = {
        {"{\"a\":1}", "1"},
        {" { \"b\" : {\"a\":2} , \"a\" : [ \"]\" ] } ", "[ \"]\" ]"},
        {"{\"a\\\"\":1,\"a\":\"}\\\"\"}", "\"}\\\"\""},
        {"{\"b\":{\"a\":2}}", NULL},
        {"{\"b\":1 \"a\":2}", NULL},
        {"{\"a\"}", NULL},
        {"{\"a\":[", NULL},
        {"[\"a\",1]", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        /* A copy of its own size, so that reading past it is noticed. */
        cleanup_free char *copy = xmemdup(cases[i].text, strlen(cases[i].text));
        struct slice value = {0};

        assert_int_equal(slice_member((struct slice){copy, strlen(cases[i].text)}, "a", &value),
                         cases[i].value != NULL);
        if (!cases[i].value)
            continue;
        assert_int_equal(value.size, strlen(cases[i].value));
        assert_memory_equal(value.text, cases[i].value, value.size);
    }
}

static void members_of_two_levels_are_left_out(void **state)
{
    static const char *const left_out[] = {"gone", "m.gone", "m.also", NULL};
    static const struct {
        const char *text, *rest; /* NULL: no object */
    } cases[] = {
        {"{}", "{}"},
        {"{\"gone\":{\"x\":[1,{}]}}", "{}"},
        {"{\"gone\":1,\"b\":2}", "{\"b\":2}"},
        {"{\"b\":2,\"gone\":\"}\"}", "{\"b\":2}"},
        {" {\"b\" : 2 , \"gone\" : 1 , \"c\" : 3 } ", "{\"b\":2,\"c\":3} "},
        {"{\"m\":{\"gone\":1,\"x\":{\"gone\":2},\"also\":3}}", "{\"m\":{\"x\":{\"gone\":2}}}"},
        {"{\"n\":{\"gone\":1}}", "{\"n\":{\"gone\":1}}"},
        {"{\"m\":5,\"m\":[{\"gone\":1}]}", "{\"m\":5,\"m\":[{\"gone\":1}]}"},
        /* what is wrong stays, for the parser to refuse */
        {"{\"m\":{\"gone\":1 2},\"b\":nonsense}x", "{\"m\":{\"gone\":1 2},\"b\":nonsense}x"},
        {"{\"a\":1,}", NULL},
        {"{\"a\":1", NULL},
        {"{\"a\"", NULL},
        {"[]", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *copy = xmemdup(cases[i].text, strlen(cases[i].text));
        size_t size = 0;
        cleanup_free char *rest =
            slice_without((struct slice){copy, strlen(cases[i].text)}, left_out, &size);

        if (!cases[i].rest) {
            assert_null(rest);
            continue;
        }
        assert_non_null(rest);
        assert_string_equal(rest, cases[i].rest);
        assert_int_equal(size, strlen(cases[i].rest));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_at_the_first_level_only),
        cmocka_unit_test(members_of_two_levels_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
