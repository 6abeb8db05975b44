/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <string.h>

#include "common/data/doc.h"
#include "common/data/places.h"

static const char text[] = "# comment\n"
                           "---\n"
                           "kind: A\n"
                           "spec:\n"
                           "  env:\n"
                           "  - name: one\n"
                           "  - {name: two, value: ü, other: 5}\n"
                           "  labels:\n"
                           "    \"example.com/a\": b\n"
                           "  base: &base\n"
                           "    x: 1\n"
                           "  copy: *base\n"
                           "  none:\n"
                           "---\n"
                           "# an empty document\n"
                           "---\n"
                           "null\n"
                           "---\n"
                           "{\"kind\": \"B\", \"list\": [1,\n"
                           "  [2, 3]]}\n";

static const struct {
    size_t document;
    const char *path;
    bool is_key;
    size_t line, column;
} cases[] = {
    {0, "", false, 3, 1},
    {0, "kind", false, 3, 7},
    {0, "kind", true, 3, 1},
    {0, "spec", false, 4, 1}, /* an object: its key */
    {0, "spec.env[0].name", false, 6, 11},
    {0, "spec.env[1]", false, 7, 5},
    {0, "spec.env[1].value", false, 7, 24},
    {0, "spec.env[1].other", false, 7, 34}, /* columns are characters, not bytes */
    {0, "spec.labels.\"example.com/a\"", false, 9, 22},
    {0, "spec.labels.\"example.com/a\"", true, 9, 5},
    {0, "spec.copy.x", false, 12, 3}, /* behind an alias: the alias */
    {0, "spec.env[7].name", false, 5, 3},
    {0, "spec.absent", false, 4, 1},
    {0, "absent", false, 3, 1},
    {0, "absent.\"a.b\"[3].c", false, 3, 1},
    {0, "spec.none", false, 13, 3}, /* no value: its key */
    {1, "kind", false, 19, 10},
    {1, "list[1][0]", false, 20, 4},
    {2, "kind", false, 1, 1}, /* there is no third document */
};

static void finds_line_and_column_or_the_nearest_value_around(void **state)
{
    cleanup_places struct places *places = places_new();

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++)
        places_want(places, cases[i].document, cases[i].path);
    places_search(places, text, strlen(text));
    for (size_t i = 0; i < array_length(cases); i++) {
        struct place place = places_get(places, cases[i].document, cases[i].path, cases[i].is_key);

        if (place.line != cases[i].line || place.column != cases[i].column)
            fail_msg("%zu %s: %zu:%zu", cases[i].document, cases[i].path, place.line, place.column);
    }
}

static void stops_at_a_syntax_error_and_at_the_depth_limit(void **state)
{
    static const char broken[] = "a: 1\nb: [1\nc: 2\n";
    char deep[2 * 200 + 1] = {0};
    cleanup_places struct places *places = places_new();
    struct place place = {0};

    (void)state;
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    places_want(places, 0, "a");
    places_want(places, 0, "c");
    places_search(places, broken, strlen(broken));
    place = places_get(places, 0, "a", false);
    assert_int_equal(place.line, 1);
    assert_int_equal(place.column, 4);
    place = places_get(places, 0, "c", false);
    assert_int_equal(place.line, 1);
    places_search(places, deep, strlen(deep));
    places_search(places, "", 0);
}

static void a_path_that_was_not_wanted_is_at_the_beginning(void **state)
{
    cleanup_places struct places *places = places_new();
    struct place place = places_get(places, 0, "a.b", false);

    (void)state;
    assert_int_equal(place.line, 1);
    assert_int_equal(place.column, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_line_and_column_or_the_nearest_value_around),
        cmocka_unit_test(stops_at_a_syntax_error_and_at_the_depth_limit),
        cmocka_unit_test(a_path_that_was_not_wanted_is_at_the_beginning),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
