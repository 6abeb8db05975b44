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
        /* A copy of exactly this size, so that the sanitizer notices a read past its end. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_at_the_first_level_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
