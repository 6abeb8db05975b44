/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

enum { LIMIT = 100000 };

static const struct {
    const char *text, *written;
} good[] = {
    {"{}", "{}"},
    {"[]", "[]"},
    {"null", "null"},
    {"true", "true"},
    {" false\n", "false"},
    {"\"\"", "\"\""},
    {"0", "0"},
    {"-0", "0"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"0.1", "0.1"},
    {"3.0", "3.0"},
    {"1e2", "100.0"},
    {"1e300", "1e+300"},
    {"0.30000000000000004", "0.30000000000000004"},
    {"5e-324", "4.94065645841247e-324"},
    /* Integers past 64 bits become reals. */
    {"9223372036854775808", "9.223372036854776e+18"},
    {"-9223372036854775809", "-9.223372036854776e+18"},
    {"18446744073709551615", "1.8446744073709552e+19"},
    {"[18446744073709551615,1,18446744073709551616]",
     "[1.8446744073709552e+19,1,1.8446744073709552e+19]"},
    {"{\"a\":123456789012345678901234567890}", "{\"a\":1.2345678901234568e+29}"},
    {"0.12345678901234567890123456789", "0.12345678901234568"},
    {"[-1.00000000000000000000000000000,1]", "[-1.0,1]"},
    {"1e0000000000000000000000000002", "100.0"},
    {"[1.5E-0000000000000000000000000001]", "[0.15]"},
    {"12345678901234567890.5", "1.2345678901234567e+19"},
    {"12345678901234567890e1", "1.2345678901234568e+20"},
    {"{\"18446744073709551615\":\"18446744073709551615\"}",
     "{\"18446744073709551615\":\"18446744073709551615\"}"},
    {"\"\\\" 18446744073709551615\"", "\"\\\" 18446744073709551615\""},
    {"{\"b\":1,\"a\":{\"d\":2,\"c\":[]}}", "{\"b\":1,\"a\":{\"d\":2,\"c\":[]}}"},
    {"\"\\u00e4 \\ud83d\\udea2 \\/ \\b\\f\\n\\r\\t \\u001f \\u007f\"",
     "\"\xc3\xa4 \xf0\x9f\x9a\xa2 / \\u0008\\u000c\\n\\r\\t \\u001f \x7f\""},
};

static void reads_any_value_and_writes_it_compactly(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        cleanup_json json_t *doc = NULL;
        cleanup_json json_t *again = NULL;
        cleanup_free char *written = NULL;
        struct error err = {0};

        if (doc_parse_json(good[i].text, strlen(good[i].text), LIMIT, &doc, &err) < 0)
            fail_msg("%s: %s", good[i].text, err.text);
        written = doc_dump(doc);
        assert_string_equal(written, good[i].written);
        assert_int_equal(doc_parse_json(written, strlen(written), LIMIT, &again, &err), 0);
        assert_true(json_equal(doc, again));
    }
}

static void sorts_keys_at_every_level_when_asked(void **state)
{
    const char text[] = "{\"b\":{\"z\":1,\"a\":2},\"a\":[{\"y\":1,\"x\":2}],\"B\":0}";
    cleanup_json json_t *doc = NULL;
    cleanup_free char *written = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_json(text, strlen(text), LIMIT, &doc, &err), 0);
    written = doc_dump_sorted(doc);
    assert_string_equal(written, "{\"B\":0,\"a\":[{\"x\":2,\"y\":1}],\"b\":{\"a\":2,\"z\":1}}");
}

static const struct {
    const char *text, *fault;
} bad[] = {
    {"", "line 1, column 1: the text is empty"},
    {" ", "line 1, column 1: the text is empty"},
    {"{", "unexpected end of text"},
    {"[1,", "unexpected end of text"},
    {"\"abc", "unexpected end of text"},
    {"{}x", "unexpected data after the document"},
    {"{} {}", "unexpected data after the document"},
    {"{\"a\":1,\n \"a\":2}", "line 2, column 2: duplicate key"},
    {"\"\\u0000\"", "NUL characters are not allowed"},
    {"{\"\\u0000\":1}", "NUL characters are not allowed"},
    {"\"\xff\"", "invalid UTF-8"},
    {"1e999", "number out of range"},
    {"[01]", "invalid JSON"},
    {"{a:1}", "invalid JSON"},
    {"{'a':1}", "invalid JSON"},
    {"[1,]", "invalid JSON"},
    {"nul", "invalid JSON"},
    {"NaN", "invalid JSON"},
    {"/* */1", "invalid JSON"},
    {"\"\\ud800\"", "invalid JSON"},
    {"\"a\nb\"", "invalid JSON"},
    {"-", "invalid JSON"},
};

static void names_the_place_and_keeps_the_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        json_t *doc = NULL;
        struct error err = {0};

        if (doc_parse_json(bad[i].text, strlen(bad[i].text), LIMIT, &doc, &err) == 0)
            fail_msg("'%s' was read", bad[i].text);
        assert_null(doc);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(strncmp(err.text, "line ", 5), 0);
        if (!strstr(err.text, bad[i].fault))
            fail_msg("'%s': %s", bad[i].text, err.text);
    }
}

static void a_nul_byte_in_the_text_is_refused(void **state)
{
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_json("[1\0]", 4, LIMIT, &doc, &err), -1);
    assert_int_equal(doc_parse_json("[1]\0", 4, LIMIT, &doc, &err), -1);
    assert_int_equal(doc_parse_json("\"a\0b\"", 5, LIMIT, &doc, &err), -1);
}

static void the_error_does_not_quote_what_may_be_a_secret(void **state)
{
    static const char *const texts[] = {"hunter2", "{\"password\":hunter2}", "{\"a\":1}hunter2",
                                        "{\"hunter2\":1,\"hunter2\":2}", "\"hunter2\xff\""};

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        json_t *doc = NULL;
        struct error err = {0};

        assert_int_equal(doc_parse_json(texts[i], strlen(texts[i]), LIMIT, &doc, &err), -1);
        assert_null(strstr(err.text, "hunter"));
    }
}

static void the_size_is_checked_first(void **state)
{
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_json("[1,2]", 5, 4, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(err.text, "more than 4 bytes of JSON");
    assert_int_equal(doc_parse_json("[1,2]", 5, 5, &doc, &err), 0);
    json_decref(doc);
}

static char *nest(size_t depth, const char *core)
{
    size_t size = strlen(core);
    char *text = xcalloc(2 * depth + size + 1, 1);

    memset(text, '[', depth);
    memcpy(text + depth, core, size + 1);
    memset(text + depth + size, ']', depth);
    return text;
}

static void nesting_is_limited(void **state)
{
    cleanup_free char *most = nest(DOC_DEPTH_MAX, "1");
    cleanup_free char *more = nest(DOC_DEPTH_MAX + 1, "1");
    cleanup_free char *open = xcalloc(LIMIT, 1);
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_json(most, strlen(most), LIMIT, &doc, &err), 0);
    json_decref(doc);
    assert_int_equal(doc_parse_json(more, strlen(more), LIMIT, &doc, &err), -1);
    assert_string_equal(err.text, "line 1, column 129: nested deeper than 128 levels");
    memset(open, '[', LIMIT);
    assert_int_equal(doc_parse_json(open, LIMIT, LIMIT, &doc, &err), -1);
    assert_string_equal(err.text, "line 1, column 129: nested deeper than 128 levels");
    /* Brackets in strings do not count. */
    open[0] = '"';
    open[LIMIT - 1] = '"';
    assert_int_equal(doc_parse_json(open, LIMIT, LIMIT, &doc, &err), 0);
    json_decref(doc);
}

/* "{}," takes a hundred times the memory of its text. */
static void the_memory_of_a_document_is_limited(void **state)
{
    static const struct {
        const char *piece;
        size_t count;
        bool is_refused;
    } cases[] = {
        {"{},", 400000, true}, {"[],", 600000, true},        {"\"\",", 1100000, true},
        {"1,", 2200000, true}, {"{\"a\":1},", 220000, true}, {"1,", 100000, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        size_t length = strlen(cases[i].piece);
        size_t size = length * cases[i].count + 2;
        cleanup_free char *text = xmalloc(size + 1);
        cleanup_json json_t *doc = NULL;
        struct error err = {0};

        text[0] = '[';
        for (size_t k = 0; k < cases[i].count; k++)
            memcpy(text + 1 + k * length, cases[i].piece, length);
        memcpy(text + size - 2, "]", 2); /* in place of the last comma */
        size -= 1;
        print_message("%s\n", cases[i].piece);
        if (!cases[i].is_refused) {
            assert_int_equal(doc_parse_json(text, size, SIZE_MAX, &doc, &err), 0);
            continue;
        }
        assert_int_equal(doc_parse_json(text, size, SIZE_MAX, &doc, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
        assert_non_null(strstr(err.text, "the document takes too much memory"));
        /* JSON is YAML too. */
        assert_int_equal(doc_parse_yaml(text, size, SIZE_MAX, &doc, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
    }
}

static void skipped_members_are_not_checked(void **state)
{
    static const char *const skipped_members[] = {"a", "b.c", "b.d", "e.f", NULL};
    static const struct {
        const char *text, *rest; /* NULL: refused */
    } cases[] = {
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"b\":2,\"c\":3}"},
        {"{\"c\":{\"a\":1},\"b\":{\"c\":[{\"x\":\"]\"}],\"a\":4,\"d\":\"\\\"\"}}",
         "{\"c\":{\"a\":1},\"b\":{\"a\":4}}"},
        {"{\"b\":{\"e\":{\"c\":1}},\"a\" : {} }", "{\"b\":{\"e\":{\"c\":1}}}"},
        {"{\"b\":[{\"c\":1,\"d\":2}]}", "{\"b\":[{\"c\":1,\"d\":2}]}"},
        {"{\"e\":{\"c\":1,\"f\":2}}", "{\"e\":{\"c\":1}}"},
        {"{\"a\":1,\"a\":2}", "{}"},
        {"{\"a\":{\"unread\":[1.5,nonsense]}}", "{}"},
        {"[{\"a\":1}]", "[{\"a\":1}]"},
        {"{\"\\u0061\":1}", "{\"a\":1}"},
        {"{\"a\":[}", NULL},
        {"{\"a\":\"}", NULL},
        {"{\"a\":", NULL},
        {"{\"a\":}", NULL},
        {"{\"a\":1", NULL},
        {"{\"a\":1 2}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        size_t size = strlen(cases[i].text);
        cleanup_free char *text = xmemdup(cases[i].text, size);
        cleanup_free char *rest = NULL;
        cleanup_json json_t *doc = NULL;
        struct error err = {0};
        int result = doc_parse_json_without(text, size, LIMIT, skipped_members, &doc, &err);

        print_message("%s\n", cases[i].text);
        assert_int_equal(result, cases[i].rest ? 0 : -1);
        if (!cases[i].rest)
            continue;
        rest = doc_dump(doc);
        assert_string_equal(rest, cases[i].rest);
    }
}

/* The copy ends where the text does, so that the sanitizer notices a read past its end. */
static void a_text_that_is_cut_anywhere_is_refused(void **state)
{
    static const char text[] =
        "{\"\\u00e4\":[1,-2.5e3,{\"x\":\"\xc3\xa4\\n\"}],\"t\":[true,false,null]}";

    (void)state;
    for (size_t size = 0; size < strlen(text); size++) {
        cleanup_free char *copy = xmemdup(text, size);
        json_t *doc = NULL;
        struct error err = {0};

        assert_int_equal(doc_parse_json(copy, size, LIMIT, &doc, &err), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_any_value_and_writes_it_compactly),
        cmocka_unit_test(sorts_keys_at_every_level_when_asked),
        cmocka_unit_test(names_the_place_and_keeps_the_output),
        cmocka_unit_test(a_nul_byte_in_the_text_is_refused),
        cmocka_unit_test(the_error_does_not_quote_what_may_be_a_secret),
        cmocka_unit_test(the_size_is_checked_first),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(the_memory_of_a_document_is_limited),
        cmocka_unit_test(skipped_members_are_not_checked),
        cmocka_unit_test(a_text_that_is_cut_anywhere_is_refused),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
