/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/page/rows.h"

static struct row sample(const char *name, uint8_t state, int64_t changed)
{
    return (struct row){.namespace_name = "ns",
                        .name = name,
                        .type = "container",
                        .reason = "",
                        .state = state,
                        .changed_unix_ms = changed};
}

static void counts_follow_every_change(void **state)
{
    struct rows *rows = rows_new();
    struct row row = sample("a", 0, 1);

    (void)state;
    assert_true(rows_set(rows, &row));
    assert_false(rows_set(rows, &row));
    assert_int_equal(rows_count(rows, 0), 1);
    row.state = 3;
    assert_true(rows_set(rows, &row));
    assert_int_equal(rows_count(rows, 0), 0);
    assert_int_equal(rows_count(rows, 3), 1);
    assert_int_equal(rows_total(rows), 1);
    assert_int_equal(rows_find(rows, "ns", "a")->state, 3);
    assert_null(rows_find(rows, "n", "sa"));
    assert_true(rows_remove(rows, "ns", "a"));
    assert_false(rows_remove(rows, "ns", "a"));
    assert_int_equal(rows_total(rows), 0);
    assert_int_equal(rows_count(rows, 3), 0);
    rows_free(rows);
}

static void queries_filter_sort_and_page(void **state)
{
    static const struct {
        struct rows_query query;
        size_t total;
        const char *names; /* of the page, in order */
    } cases[] = {
        {{.limit = 10}, 4, "Delta beta alpha gamma "},
        {{.limit = 10, .is_reverse = true}, 4, "gamma alpha beta Delta "},
        {{.limit = 10, .order = ROWS_BY_NAME}, 4, "Delta alpha beta gamma "},
        {{.limit = 2, .offset = 1}, 4, "beta alpha "},
        {{.limit = 2, .offset = 9}, 4, ""},
        {{.limit = 10, .search = "DELT"}, 1, "Delta "},
        {{.limit = 10, .search = "ns/al"}, 1, "alpha "},
        {{.limit = 10, .search = "script"}, 1, "beta "},
        {{.limit = 10, .search = "pull"}, 1, "gamma "},
        {{.limit = 10, .search = "nothing"}, 0, ""},
        {{.limit = 10, .states = 1u << 1 | 1u << 2}, 2, "beta gamma "},
        {{.limit = 10, .type = "script"}, 1, "beta "},
        {{.limit = 10, .namespace_name = "other"}, 0, ""},
        {{.limit = 10, .order = ROWS_BY_DURATION, .now_unix_ms = 500},
         4,
         "beta alpha Delta gamma "},
    };
    struct rows *rows = rows_new();
    struct row alpha = sample("alpha", 0, 20), beta = sample("beta", 1, 30);
    struct row gamma = sample("gamma", 2, 10), delta = sample("Delta", 0, 40);

    (void)state;
    beta.type = "script";
    gamma.reason = "ImagePull";
    alpha.started_unix_ms = 100;
    alpha.finished_unix_ms = 200;
    beta.started_unix_ms = 100;
    assert_true(rows_set(rows, &alpha) && rows_set(rows, &beta) && rows_set(rows, &gamma) &&
                rows_set(rows, &delta));
    for (size_t i = 0; i < array_length(cases); i++) {
        const struct row *found[ROWS_LIMIT_MAX];
        size_t total = 0;
        size_t count = rows_find_all(rows, &cases[i].query, found, &total);
        char names[128] = "";

        for (size_t k = 0; k < count; k++)
            (void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ",
                           found[k]->name);
        assert_string_equal(names, cases[i].names);
        assert_int_equal(total, cases[i].total);
    }
    rows_free(rows);
}

static void ten_thousand_rows_are_found_and_a_page_is_bounded(void **state)
{
    struct rows *rows = rows_new();
    const struct row *found[ROWS_LIMIT_MAX];
    struct rows_query query = {.limit = 100000};
    char name[16];
    size_t total = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct row row = sample(name, (uint8_t)(i % 5), i);

        (void)snprintf(name, sizeof(name), "row-%d", i);
        assert_true(rows_set(rows, &row));
    }
    assert_int_equal(rows_find_all(rows, &query, found, &total), ROWS_LIMIT_MAX);
    assert_int_equal(total, 10000);
    assert_string_equal(found[0]->name, "row-9999");
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof(name), "row-%d", i);
        assert_non_null(rows_find(rows, "ns", name));
        assert_true(rows_remove(rows, "ns", name));
    }
    assert_int_equal(rows_total(rows), 0);
    rows_free(rows);
}

static void namespaces_are_listed_by_page_and_counted(void **state)
{
    static const struct {
        struct rows_query query;
        size_t total;
        const char *found; /* name, total, and number in state 1 of each */
    } cases[] = {
        {{.limit = 10}, 3, "blue 2 1, green 3 2, ns 1 0, "},
        {{.limit = 1}, 3, "blue 2 1, "},
        {{.limit = 1, .offset = 1}, 3, "green 3 2, "},
        {{.limit = 1, .offset = 2}, 3, "ns 1 0, "},
        {{.limit = 10, .offset = 2}, 3, "ns 1 0, "},
        {{.limit = 10, .offset = 3}, 3, ""},
        {{.limit = 10, .search = "N"}, 2, "green 3 2, ns 1 0, "},
        {{.limit = 10, .search = "x"}, 0, ""},
        {{.limit = 10, .search = ""}, 3, "blue 2 1, green 3 2, ns 1 0, "},
    };
    static const char *const namespaces[] = {"green", "", "blue", "green", "ns", "blue", "green"};
    struct rows *rows = rows_new();
    size_t counts[ROWS_STATES_MAX];
    char name[16];

    (void)state;
    for (size_t i = 0; i < array_length(namespaces); i++) {
        struct row row = sample(name, i > 2 && i != 4, 1);

        (void)snprintf(name, sizeof(name), "row-%zu", i);
        row.namespace_name = namespaces[i];
        assert_true(rows_set(rows, &row));
    }
    for (size_t i = 0; i < array_length(cases); i++) {
        struct rows_namespace found[ROWS_LIMIT_MAX];
        size_t total = 0, count = rows_find_namespaces(rows, &cases[i].query, found, &total);
        char text[128] = "";

        for (size_t k = 0; k < count; k++)
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %zu %zu, ",
                           found[k].name, found[k].total, found[k].counts[1]);
        assert_string_equal(text, cases[i].found);
        assert_int_equal(total, cases[i].total);
    }
    rows_count_namespace(rows, "green", counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 2);
    rows_count_namespace(rows, NULL, counts);
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 3);
    rows_free(rows);
}

static void long_texts_are_cut_off(void **state)
{
    struct rows *rows = rows_new();
    char text[ROWS_TEXT_MAX * 2] = "";
    struct row row = sample("a", 0, 1);

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    row.reason = text;
    assert_true(rows_set(rows, &row));
    assert_false(rows_set(rows, &row));
    assert_int_equal(strlen(rows_find(rows, "ns", "a")->reason), ROWS_TEXT_MAX);
    rows_free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_every_change),
        cmocka_unit_test(queries_filter_sort_and_page),
        cmocka_unit_test(ten_thousand_rows_are_found_and_a_page_is_bounded),
        cmocka_unit_test(namespaces_are_listed_by_page_and_counted),
        cmocka_unit_test(long_texts_are_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
