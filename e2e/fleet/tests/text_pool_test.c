/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/text_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* cmocka needs the headers above. */
#include <cmocka.h>

static void equal_texts_are_stored_once(void **state)
{
    cleanup_text_pool struct text_pool *pool = text_pool_new();
    struct text *one = text_get_string(pool, "same"), *two = text_get(pool, "same", 4);
    size_t texts = 0, bytes = 0;

    (void)state;
    assert_ptr_equal(one, two);
    text_pool_size(pool, &texts, &bytes);
    assert_int_equal(texts, 1);
    text_release(pool, one);
    assert_ptr_equal(text_find(pool, "same", 4), two);
    text_release(pool, two);
    assert_null(text_find(pool, "same", 4));
    text_release(pool, NULL);
}

static void many_texts_are_found_again(void **state)
{
    enum { COUNT = 5000 };
    cleanup_text_pool struct text_pool *pool = text_pool_new();
    static struct text *texts[COUNT];
    size_t count = 0, bytes = 0;
    char name[32];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "text %d", i);
        texts[i] = text_get_string(pool, name);
    }
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "text %d", i);
        assert_string_equal(texts[i]->bytes, name);
        text_release(pool, text_get_string(pool, name));
    }
    for (int i = 0; i < COUNT; i++)
        text_release(pool, texts[i]);
    text_pool_size(pool, &count, &bytes);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_stored_once),
        cmocka_unit_test(many_texts_are_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
