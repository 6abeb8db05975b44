/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "deployer/protocol/index.h"
#include "deployer/protocol/tests/fake_engine.h"

static struct engine engine = {.class = &FAKE_ENGINE};
static struct engine *const engines[] = {&engine};

static void finds_records_by_namespace_and_name(void **state)
{
    struct index *index = index_new(engines);
    struct record *one = index_add(index, "a", "x"), *two = index_add(index, "b", "x");

    (void)state;
    assert_ptr_not_equal(one, two);
    assert_ptr_equal(index_find(index, "a", "x"), one);
    assert_ptr_equal(index_find(index, "b", "x"), two);
    assert_ptr_equal(index_add(index, "a", "x"), one);
    assert_null(index_find(index, "a", "y"));
    assert_null(index_find(index, "a/x", ""));
    index_remove(index, one);
    assert_null(index_find(index, "a", "x"));
    assert_ptr_equal(index_find(index, "b", "x"), two);
    index_free(index);
}

static void keeps_all_records_while_it_grows(void **state)
{
    struct index *index = index_new(engines);
    char name[32] = {0};

    (void)state;
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof(name), "item-%d", i);
        index_add(index, "namespace", name)->version = (uint64_t)i;
    }
    for (int i = 0; i < 5000; i++) {
        const struct record *record = NULL;

        (void)snprintf(name, sizeof(name), "item-%d", i);
        record = index_find(index, "namespace", name);
        assert_non_null(record);
        assert_int_equal(record->version, i);
        assert_string_equal(record->name, name);
        assert_string_equal(record->namespace_name, "namespace");
    }
    index_free(index);
}

/* The limit is 16 MiB for 10,000 finished items, of which records are a small part. */
static void ten_thousand_items_take_less_than_4_mib(void **state)
{
    struct mallinfo2 before = mallinfo2();
    struct index *index = index_new(engines);
    size_t used = 0;
    char name[128] = {0};

    (void)state;
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof(name), "some-execution-of-average-length-%d-x7k2p", i);
        (void)index_add(index, "some-namespace-of-average-length", name);
    }
    used = mallinfo2().uordblks - before.uordblks;
    index_free(index);
    assert_in_range(used, 0, 4 << 20);
}

static void count(void *data, struct record *record)
{
    (void)record;
    ++*(size_t *)data;
}

struct removal {
    struct index *index;
};

static void remove_it(void *data, struct record *record)
{
    const struct removal *removal = data;

    index_remove(removal->index, record);
}

static void every_record_is_visited_once_and_may_be_removed(void **state)
{
    struct index *index = index_new(engines);
    struct removal removal = {index};
    size_t visited = 0;
    char name[32] = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        (void)index_add(index, "n", name);
    }
    index_each(index, count, &visited);
    assert_int_equal(visited, 1000);
    index_each(index, remove_it, &removal);
    visited = 0;
    index_each(index, count, &visited);
    assert_int_equal(visited, 0);
    index_free(index);
}

static void joined_names_of_two_items_can_be_ambiguous(void **state)
{
    static const struct {
        const char *namespace_name, *name;
        bool is_ambiguous;
    } cases[] = {
        {"a-b", "c", true},    {"a", "b-c", true}, {"a", "b", false},
        {"x", "y-z-w", false}, {"r", "s-t", true},
    };
    struct index *index = index_new(engines);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        index_add(index, cases[i].namespace_name, cases[i].name)->is_known = true;
    /* An unknown item counts while an execution of it exists: the item may be listed later. */
    index_add(index, "x-y", "z-w")->is_known = false;
    fake_track(index_add(index, "r-s", "t"), "job", false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(index_is_ambiguous(index, cases[i].namespace_name, cases[i].name),
                         cases[i].is_ambiguous);
    index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_records_by_namespace_and_name),
        cmocka_unit_test(keeps_all_records_while_it_grows),
        cmocka_unit_test(ten_thousand_items_take_less_than_4_mib),
        cmocka_unit_test(every_record_is_visited_once_and_may_be_removed),
        cmocka_unit_test(joined_names_of_two_items_can_be_ambiguous),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
