/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/base/text_map.h"

enum { NAMES = 300 };

static const char *name_of(size_t number)
{
    static char name[32];

    (void)snprintf(name, sizeof(name), "default/object-%zu", number);
    return name;
}

static void equal_texts_are_stored_once(void **state)
{
    struct text_pool pool = {0};
    const char *first = text_pool_take(&pool, name_of(1));
    const char *second = text_pool_take(&pool, name_of(2));

    (void)state;
    assert_ptr_equal(first, text_pool_take(&pool, name_of(1)));
    assert_ptr_equal(first, text_pool_find(&pool, name_of(1)));
    assert_ptr_not_equal(first, second);
    assert_int_equal(pool.texts.count, 2);
    assert_null(text_pool_take(&pool, NULL));
    text_pool_give(&pool, NULL);
    text_pool_give(&pool, first);
    assert_string_equal(first, name_of(1)); /* it has another owner */
    text_pool_give(&pool, first);
    assert_null(text_pool_find(&pool, name_of(1)));
    text_pool_set(&pool, &second, second);
    assert_string_equal(second, name_of(2));
    text_pool_set(&pool, &second, name_of(3));
    assert_string_equal(second, name_of(3));
    assert_int_equal(pool.texts.count, 1);
    text_pool_set(&pool, &second, NULL);
    assert_null(second);
    assert_int_equal(pool.texts.count, 0);
    text_pool_done(&pool);
}

static void names_are_found_in_any_order(void **state)
{
    struct text_pool pool = {0};
    struct text_map map, other;

    (void)state;
    text_map_init(&map, &pool);
    text_map_init(&other, &pool);
    for (size_t i = 0; i < NAMES; i++) {
        text_map_set(&map, name_of(i * 7 % NAMES), -(int64_t)i);
        text_map_set(&other, name_of(i), 1);
    }
    assert_int_equal(pool.texts.count, NAMES);
    for (size_t i = 0; i < NAMES; i++)
        assert_int_equal(text_map_find(&map, name_of(i * 7 % NAMES))->number, -(int64_t)i);
    assert_null(text_map_find(&map, name_of(NAMES)));
    text_map_set(&map, name_of(5), 12);
    assert_int_equal(text_map_find(&map, name_of(5))->number, 12);
    assert_int_equal(text_map_find(&other, name_of(5))->number, 1);
    for (size_t i = 0; i < NAMES; i += 2)
        text_map_remove(&map, name_of(i));
    text_map_remove(&map, name_of(NAMES));
    assert_int_equal(map.count, NAMES / 2);
    assert_null(text_map_find(&map, name_of(4)));
    assert_non_null(text_map_find(&map, name_of(7)));
    text_map_clear(&map);
    assert_non_null(text_map_find(&other, name_of(7)));
    text_map_clear(&other);
    assert_int_equal(pool.texts.count, 0);
    text_pool_done(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_stored_once),
        cmocka_unit_test(names_are_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
