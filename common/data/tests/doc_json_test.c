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
    /* Integers past 64 bits are reals, wherever they stand. */
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
    {" ", "the text ends too early"},
    {"{", "the text ends too early"},
    {"[1,", "the text ends too early"},
    {"\"abc", "the text ends too early"},
    {"{}x", "something follows the end"},
    {"{} {}", "something follows the end"},
    {"{\"a\":1,\n \"a\":2}", "line 2, column 4: a key appears twice in one object"},
    {"\"\\u0000\"", "NUL characters are not allowed"},
    {"{\"\\u0000\":1}", "NUL characters are not allowed"},
    {"\"\xff\"", "not UTF-8"},
    {"1e999", "a number is too large"},
    {"[01]", "not JSON"},
    {"{a:1}", "not JSON"},
    {"{'a':1}", "not JSON"},
    {"[1,]", "not JSON"},
    {"nul", "not JSON"},
    {"NaN", "not JSON"},
    {"/* */1", "not JSON"},
    {"\"\\ud800\"", "not JSON"},
    {"\"a\nb\"", "not JSON"},
    {"-", "not JSON"},
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

static void the_depth_has_an_edge(void **state)
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
    assert_string_equal(err.text, "line 1, column 129: deeper than 128 levels");
    memset(open, '[', LIMIT);
    assert_int_equal(doc_parse_json(open, LIMIT, LIMIT, &doc, &err), -1);
    assert_string_equal(err.text, "line 1, column 129: deeper than 128 levels");
    /* Brackets in texts are text. */
    open[0] = '"';
    open[LIMIT - 1] = '"';
    assert_int_equal(doc_parse_json(open, LIMIT, LIMIT, &doc, &err), 0);
    json_decref(doc);
}

static const struct {
    const char *text, *written;
    bool is_mended;
} lists[] = {
    {"[{\"a\":1}]", "[{\"a\":1}]", false},
    {"[18446744073709551615]", "[1.8446744073709552e+19]", false},
    {"[\"a\\u0000b\",1]",
     "[\"a\xef\xbf\xbd"
     "b\",1]",
     true},
    {"[{\"\\u0000\":18446744073709551615}]", "[{\"\xef\xbf\xbd\":1.8446744073709552e+19}]", true},
    {"[\"\\\\u0000\"]", "[\"\\\\u0000\"]", false},
};

static void a_lenient_reader_mends_what_would_spoil_a_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lists); i++) {
        cleanup_json json_t *doc = NULL;
        cleanup_free char *written = NULL;
        struct error err = {0};
        bool is_mended = !lists[i].is_mended;

        if (doc_parse_json_lenient(lists[i].text, strlen(lists[i].text), LIMIT, &doc, &is_mended,
                                   &err) < 0)
            fail_msg("%s: %s", lists[i].text, err.text);
        written = doc_dump(doc);
        assert_string_equal(written, lists[i].written);
        assert_int_equal(is_mended, lists[i].is_mended);
    }
}

static void a_lenient_reader_cuts_what_is_too_deep(void **state)
{
    cleanup_free char *deep = nest(5000, "18446744073709551615,\"\\u0000\"");
    cleanup_free char *text =
        xasprintf("{\"a\":%s,\"b\":[%s,\"\\u0000\"],\"c\":\"kept\"}", deep, deep);
    cleanup_json json_t *doc = NULL;
    const json_t *at = NULL;
    struct error err = {0};
    bool is_mended = false;
    size_t levels = 0;

    (void)state;
    assert_int_equal(doc_parse_json_lenient(text, strlen(text), LIMIT, &doc, &is_mended, &err), 0);
    assert_true(is_mended);
    assert_string_equal(doc_text(doc, "c"), "kept");
    for (at = doc_get(doc, "a"); json_is_array(at); at = json_array_get(at, 0))
        levels++;
    assert_int_equal(levels, DOC_DEPTH_MAX - 1);
    assert_true(json_is_null(at));
}

static void a_lenient_reader_still_wants_json(void **state)
{
    cleanup_free char *open = xcalloc(LIMIT, 1);
    json_t *doc = NULL;
    struct error err = {0};
    bool is_mended = false;

    (void)state;
    memset(open, '[', LIMIT);
    assert_int_equal(doc_parse_json_lenient(open, LIMIT, LIMIT, &doc, &is_mended, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(doc_parse_json_lenient("[x]", 3, LIMIT, &doc, &is_mended, &err), -1);
    assert_int_equal(doc_parse_json_lenient("[1]", 3, 2, &doc, &is_mended, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_null(doc);
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
        cmocka_unit_test(the_depth_has_an_edge),
        cmocka_unit_test(a_lenient_reader_mends_what_would_spoil_a_list),
        cmocka_unit_test(a_lenient_reader_cuts_what_is_too_deep),
        cmocka_unit_test(a_lenient_reader_still_wants_json),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
