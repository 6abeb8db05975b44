/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/doc_quick.h"

static json_t *as_jansson_reads(const char *text)
{
    return json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

static const char *const usual[] = {
    "{}",
    "[]",
    " [ ] ",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "999999999999999999",
    "-999999999999999999",
    "\"\"",
    "\"\\n\"",
    "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"",
    "\"\\u003c\\u003E\\u0026\"",
    "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xa2\"",
    "{\"\":0,\"b\" : [1,\t{\"c\":[[],{}]}\r\n,\"d\"], \"a\":\"\\n\",\"e\":null}",
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"labels\":{\"b/c\":\"d\"}}}}",
};

static void what_programs_write_is_read_as_jansson_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(usual); i++) {
        cleanup_json json_t *theirs = as_jansson_reads(usual[i]);
        cleanup_json json_t *ours = doc_quick_read(usual[i], strlen(usual[i]), DOC_DEPTH_MAX, NULL);

        assert_non_null(theirs);
        assert_non_null(ours);
        assert_true(json_equal(ours, theirs));
    }
}

/* The copy ends where the text does, so that a sanitizer sees a read past it. */
static void a_text_that_ends_too_early_is_left_to_jansson(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(usual); i++) {
        for (size_t size = 0; size < strlen(usual[i]); size++) {
            cleanup_free char *text = xmemdup(usual[i], size);
            cleanup_free char *terminated = xstrndup(usual[i], size);
            cleanup_json json_t *theirs = as_jansson_reads(terminated);
            cleanup_json json_t *ours = doc_quick_read(text, size, DOC_DEPTH_MAX, NULL);

            assert_true(!ours || json_equal(ours, theirs));
        }
    }
}

static void the_unusual_and_the_wrong_are_left_to_jansson(void **state)
{
    static const char *const others[] = {
        "",
        " ",
        "0.1",
        "1e2",
        "1E2",
        "-0",
        "-",
        "007",
        "1234567890123456789",
        "-9223372036854775809.0",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,\"a\":2}",
        "{\"\\n\":1}",
        "truth",
        "nul",
        "falsy",
        "true false",
        "\"\\u0000\"",
        "\"\\u00e4\"",
        "\"\\u2028\"",
        "\"\\ud83d\\udea2\"",
        "\"\\u00g0\"",
        "\"\\u000g\"",
        "\"\\x\"",
        "\"a\nb\"",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\\n\xff\"",
        "'a'",
    };

    (void)state;
    for (size_t i = 0; i < array_length(others); i++)
        assert_null(doc_quick_read(others[i], strlen(others[i]), DOC_DEPTH_MAX, NULL));
    assert_null(doc_quick_read("\"a\0b\"", 5, DOC_DEPTH_MAX, NULL));
    assert_null(doc_quick_read("[]\0", 3, DOC_DEPTH_MAX, NULL));
}

static void as_deep_as_allowed_and_no_deeper(void **state)
{
    static const char deep[] = "[{\"a\":[[]]},[[[]]]]"; /* four levels, twice */

    (void)state;
    for (size_t depth = 0; depth <= 5; depth++) {
        cleanup_json json_t *doc = doc_quick_read(deep, strlen(deep), depth, NULL);

        assert_int_equal(doc != NULL, depth >= 4);
    }
}

static void members_that_are_left_out_are_not_even_read(void **state)
{
    static const char *const left_out[] = {"a", "b.c", "b.d", NULL};
    static const struct {
        const char *text, *rest; /* NULL: left to jansson */
    } cases[] = {
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"b\":2,\"c\":3}"},
        {"{\"c\":{\"a\":1},\"b\":{\"c\":[{\"x\":\"]\"}],\"a\":4,\"d\":\"\\\"\"}}",
         "{\"c\":{\"a\":1},\"b\":{\"a\":4}}"},
        {"{\"b\":{\"e\":{\"c\":1}},\"a\" : {} }", "{\"b\":{\"e\":{\"c\":1}}}"},
        {"{\"b\":[{\"c\":1,\"d\":2}]}", "{\"b\":[{\"c\":1,\"d\":2}]}"},
        {"{\"a\":1,\"a\":2}", "{}"},
        {"{\"a\":{\"unread\":[1.5,nonsense]}}", "{}"},
        {"[{\"a\":1}]", "[{\"a\":1}]"},
        {"{\"a\":[}", NULL},
        {"{\"a\":\"}", NULL},
        {"{\"a\":", NULL},
        {"{\"a\":1", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        size_t size = strlen(cases[i].text);
        cleanup_free char *text = xmemdup(cases[i].text, size);
        cleanup_json json_t *wanted = cases[i].rest ? as_jansson_reads(cases[i].rest) : NULL;
        cleanup_json json_t *doc = doc_quick_read(text, size, DOC_DEPTH_MAX, left_out);

        assert_int_equal(doc != NULL, cases[i].rest != NULL);
        assert_true(!doc || json_equal(doc, wanted));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_programs_write_is_read_as_jansson_reads_it),
        cmocka_unit_test(a_text_that_ends_too_early_is_left_to_jansson),
        cmocka_unit_test(the_unusual_and_the_wrong_are_left_to_jansson),
        cmocka_unit_test(as_deep_as_allowed_and_no_deeper),
        cmocka_unit_test(members_that_are_left_out_are_not_even_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
