/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/string_cache.h"

static void repeated_strings_are_one_value(void **state)
{
    struct string_cache cache = {0};
    json_t *first = string_cache_get(&cache, "externalX", 8);
    json_t *second = string_cache_get(&cache, "external", 8);

    (void)state;
    assert_string_equal(json_string_value(first), "external");
    assert_ptr_equal(first, second);
    string_cache_done(&cache);
    /* The tree keeps its references. */
    assert_string_equal(json_string_value(second), "external");
    json_decref(first);
    json_decref(second);
}

static void every_string_has_its_text_however_many_there_are(void **state)
{
    enum { COUNT = 1000 };
    struct string_cache cache = {0};
    json_t *values[COUNT] = {NULL};

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char text[64] = {0};
        /* Up to 40 bytes, so that both short and long ones occur; the first one is empty. */
        int length = snprintf(text, sizeof(text), "%0*d", i % 40 + 1, i);

        values[i] = string_cache_get(&cache, text, i == 0 ? 0 : (size_t)length);
    }
    string_cache_done(&cache);
    for (int i = 0; i < COUNT; i++) {
        char text[64] = {0};

        (void)snprintf(text, sizeof(text), "%0*d", i % 40 + 1, i);
        assert_string_equal(json_string_value(values[i]), i == 0 ? "" : text);
        json_decref(values[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_strings_are_one_value),
        cmocka_unit_test(every_string_has_its_text_however_many_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
