/* SPDX-License-Identifier: Apache-2.0 */
/* The expected trees are those of sigs.k8s.io/yaml v1.6.0 unless a comment says otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

enum { LIMIT = 1000000 };

static char *convert(const char *text, struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (doc_parse_yaml(text, strlen(text), LIMIT, &doc, err) < 0)
        return NULL;
    return doc_dump(doc);
}

static void is_converted(const char *text, const char *json)
{
    struct error err = {0};
    cleanup_free char *written = convert(text, &err);

    if (!written)
        fail_msg("'%s': %s", text, err.text);
    else if (strcmp(written, json) != 0)
        fail_msg("'%s' gives %s, not %s", text, written, json);
}

static const struct {
    const char *text, *json;
} scalars[] = {
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"nULL", "\"nULL\""},
    {"true", "true"},
    {"True", "true"},
    {"TRUE", "true"},
    {"tRUE", "\"tRUE\""},
    {"yes", "true"},
    {"Yes", "true"},
    {"YES", "true"},
    {"on", "true"},
    {"On", "true"},
    {"ON", "true"},
    {"y", "true"},
    {"Y", "true"},
    {"false", "false"},
    {"no", "false"},
    {"No", "false"},
    {"NO", "false"},
    {"off", "false"},
    {"Off", "false"},
    {"OFF", "false"},
    {"n", "false"},
    {"N", "false"},
    {"nO", "\"nO\""},
    {"yep", "\"yep\""},
    {"'yes'", "\"yes\""},
    {"\"on\"", "\"on\""},
    {"\"~\"", "\"~\""},
    {"0", "0"},
    {"-0", "0"},
    {"42", "42"},
    {"+42", "42"},
    {"-42", "-42"},
    {"1_000", "1000"},
    {"1_", "1"},
    {"_1", "\"_1\""},
    {"0x1f", "31"},
    {"0X1F", "31"},
    {"-0x1f", "-31"},
    {"0x", "\"0x\""},
    {"0xg", "\"0xg\""},
    {"0o17", "15"},
    {"0o8", "\"0o8\""},
    {"017", "15"},
    {"-017", "-15"},
    {"08", "8.0"},
    {"00", "0"},
    {"0b101", "5"},
    {"-0b101", "-5"},
    {"0b2", "\"0b2\""},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"0x7fffffffffffffff", "9223372036854775807"},
    {"-0x8000000000000000", "-9223372036854775808"},
    {"9223372036854775808", "9.223372036854776e+18"},   /* Go: exact, up to 2^64 */
    {"18446744073709551615", "1.8446744073709552e+19"}, /* Go: exact */
    {"-9223372036854775809", "-9.223372036854776e+18"},
    {"1.5", "1.5"},
    {"-1.5", "-1.5"},
    {"1.", "1.0"},
    {".5", "0.5"},
    {"-.5", "-0.5"},
    {".5_0", "0.5"},
    {"._5", "\"._5\""},
    {"1e3", "1000.0"},
    {"1E-3", "0.001"},
    {"1.5e+3", "1500.0"},
    {"1e", "\"1e\""},
    {"1e999", "\"1e999\""},
    {"1.2.3", "\"1.2.3\""},
    {"0x1p3", "\"0x1p3\""},
    {".", "\".\""},
    {"-", "[null]"},
    {"+", "\"+\""},
    {"12:30", "\"12:30\""},
    {"2001-12-14", "\"2001-12-14\""},
    {"2001-12-14T21:59:43Z", "\"2001-12-14T21:59:43Z\""},
    {"a b", "\"a b\""},
    {"inf", "\"inf\""},
    {"nan", "\"nan\""},
    {"'1'", "\"1\""},
    {"!!str 1", "\"1\""},
    {"!!str yes", "\"yes\""},
    {"!!str", "\"\""},
    {"! 1", "\"1\""},
    {"!!int '7'", "7"},
    {"!!float 7", "7.0"},
    {"!!float '1.5'", "1.5"},
    {"!!bool 'yes'", "true"},
    {"!!null ''", "null"},
    {"!!binary aGVsbG8=", "\"hello\""},
    {"!!binary |\n  aGVs\n  bG8=\n", "\"hello\""},
    {"!!timestamp 2001-12-14", "\"2001-12-14\""},
    {"!!map {}", "{}"},
    {"!!seq []", "[]"},
    {"!<tag:yaml.org,2002:int> 3", "3"},
};

static void scalars_have_the_type_that_kubernetes_gives_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(scalars); i++)
        is_converted(scalars[i].text, scalars[i].json);
}

static const struct {
    const char *text, *json;
} trees[] = {
    {"", "null"},
    {"\n# nothing\n", "null"},
    {"---\n", "null"},
    {"---\n---\n", "null"},
    {"a: 1\n", "{\"a\":1}"},
    {"a: 1\n---\n", "{\"a\":1}"},
    {"---\na: 1\n...\n", "{\"a\":1}"},
    {"\xef\xbb\xbf"
     "a: 1\n",
     "{\"a\":1}"},
    {"%YAML 1.1\n---\na: 1\n", "{\"a\":1}"},
    {"a:\nb:\n- 1\n- - 2\n  - 3\n-\n", "{\"a\":null,\"b\":[1,[2,3],null]}"},
    {"{a: [1, {b: c}], \"d\": 'e'}", "{\"a\":[1,{\"b\":\"c\"}],\"d\":\"e\"}"},
    {"{\n\t\"a\": [\n\t\t1\n\t]\n}\n", "{\"a\":[1]}"},
    {"{\"a\":\"\\ud83d\\udea2\"}", "{\"a\":\"\xf0\x9f\x9a\xa2\"}"},
    {"{\"a\":1} # not quite JSON", "{\"a\":1}"},
    {"a: |\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\"}"},
    {"a: >-\n  one\n  two\n", "{\"a\":\"one two\"}"},
    {"a: \"x\\ty\\u00e4\"", "{\"a\":\"x\\ty\xc3\xa4\"}"},
    {"? a\n: 1\n? b\n", "{\"a\":1,\"b\":null}"},
    /* Keys of other types. */
    {"1: a\n", "{\"1\":\"a\"}"},
    {"0x10: a\n", "{\"16\":\"a\"}"},
    {"1.5: a\n", "{\"1.5\":\"a\"}"},
    {"2.0: a\n", "{\"2\":\"a\"}"},
    {"yes: a\n", "{\"true\":\"a\"}"},
    {"off: a\n", "{\"false\":\"a\"}"},
    {"'yes': a\n", "{\"yes\":\"a\"}"},
    /* Anchors and aliases. */
    {"a: &x [1, 2]\nb: *x\n", "{\"a\":[1,2],\"b\":[1,2]}"},
    {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
    {"&k a: *k\n", "{\"a\":\"a\"}"},
    {"a: &x {b: &y 1, c: *y}\nd: *x\n", "{\"a\":{\"b\":1,\"c\":1},\"d\":{\"b\":1,\"c\":1}}"},
    {"- &k x\n- *k : 1\n", "[\"x\",{\"x\":1}]"},
    /* Merge keys. */
    {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n",
     "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"b\":1}}"},
    {"<<: {a: 1}\n", "{\"a\":1}"},
    {"<<: [{a: 1, b: 1}, {a: 2, c: 2}]\n", "{\"a\":1,\"b\":1,\"c\":2}"},
    {"<<: {a: 1}\n<<: {b: 2}\n", "{\"a\":1,\"b\":2}"},
    {"<<: {<<: {a: 1}, b: 2}\n", "{\"b\":2,\"a\":1}"},
    {"'<<': 1\n", "{\"<<\":1}"},
    {"a: <<\n", "{\"a\":\"<<\"}"},
    /* As the specification of merge keys requires; in go-yaml v2 the later one wins. */
    {"a: 1\n<<: {a: 2}\n", "{\"a\":1}"},
};

static void documents_have_the_expected_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(trees); i++)
        is_converted(trees[i].text, trees[i].json);
}

static const struct {
    const char *text, *fault;
} bad[] = {
    {"a: 1\nb: 2\na: 3\n", "line 3, column 1: duplicate key"},
    {"x:\n  {a: 1, a: 2}\n", "line 2, column 10: duplicate key"},
    {"1: a\n'1': b\n", "line 2, column 1: duplicate key"},
    {"a: 1\n---\nb: 2\n", "line 2, column 1: more than one document"},
    {"a: .inf\n", "line 1, column 4: JSON has no infinity"},
    {"a: -.Inf\n", "JSON has no infinity"},
    {"a: .NaN\n", "JSON has no infinity"},
    {"a: *x\n", "line 1, column 4: alias without an anchor before it"},
    {"a: &x [*x]\n", "alias without an anchor before it"},
    {"b: &x 1\na: &x [*x]\n", "alias without an anchor before it"},
    {"a: !!int x\n", "line 1, column 4: the value does not fit its tag"},
    {"a: !!int 1.5\n", "does not fit its tag"},
    {"a: !!bool 1\n", "does not fit its tag"},
    {"a: !!null x\n", "does not fit its tag"},
    {"a: !!float x\n", "does not fit its tag"},
    {"a: !!binary '!'\n", "!!binary is not base64"},
    {"a: !!binary /w==\n", "invalid UTF-8"},
    {"a: !!binary AA==\n", "NUL characters are not allowed"},
    {"a: !thing x\n", "line 1, column 4: unknown tag"},
    {"a: !!python/object:os.system x\n", "unknown tag"},
    {"a: !!set {x}\n", "unsupported tag for a list or mapping"},
    {"a: !thing []\n", "unsupported tag for a list or mapping"},
    {"a: !x!y z\n", "line 1, column 4: found undefined tag handle"},
    {"a: \"x\\0y\"\n", "line 1, column 4: NUL characters are not allowed"},
    {"? [a]\n: b\n", "line 1, column 3: null, a list or a mapping cannot be a key"},
    {"~: b\n", "line 1, column 1: null, a list or a mapping cannot be a key"},
    {"{a: b}: c\n", "cannot be a key"},
    {"<<: 1\n", "line 1, column 5: only mappings can be merged"},
    {"<<: 'x\n", "found unexpected end of stream"},
    {"<<: {a: *x}\n", "line 1, column 9: alias without an anchor before it"},
    {"<<: [1]\n", "only mappings can be merged"},
    {"a: b: c\n", "line 1, column 5: mapping values are not allowed in this context"},
    {"a: [1\n", "line 2, column 1: did not find expected ',' or ']'"},
    {"\tx: 1\n", "line 1, column 1: found character that cannot start any token"},
    {"a: 'x\n", "found unexpected end of stream"},
    {"a: \x01\n", "byte 4: control characters are not allowed"},
    {"a: \xff\n", "byte 4: invalid leading UTF-8 octet"},
    {"[]\n]", "line 2, column 1:"},
};

static void names_the_place_and_keeps_the_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        json_t *doc = NULL;
        struct error err = {0};

        if (doc_parse_yaml(bad[i].text, strlen(bad[i].text), LIMIT, &doc, &err) == 0)
            fail_msg("'%s' was read", bad[i].text);
        assert_null(doc);
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, bad[i].fault))
            fail_msg("'%s': %s", bad[i].text, err.text);
    }
}

static void the_error_does_not_quote_what_may_be_a_secret(void **state)
{
    static const char *const texts[] = {
        "password: hunter2: x\n", "hunter2: 1\nhunter2: 2\n",
        "a: !!int hunter2\n",     "a: !hunter2 x\n",
        "a: *hunter2\n",          "'hunter2",
    };

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        json_t *doc = NULL;
        struct error err = {0};

        assert_int_equal(doc_parse_yaml(texts[i], strlen(texts[i]), LIMIT, &doc, &err), -1);
        assert_null(strstr(err.text, "hunter"));
    }
}

static void the_size_is_checked_first(void **state)
{
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_yaml("a: 1\n", 5, 4, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(doc_parse_yaml("[1,2]", 5, 4, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(doc_parse_yaml("a: 1\n", 5, 5, &doc, &err), 0);
    json_decref(doc);
}

/* "- - - 1", which is not JSON. */
static char *nest(size_t depth)
{
    char *text = xcalloc(2 * depth + 2, 1);

    for (size_t i = 0; i < 2 * depth; i++)
        text[i] = i % 2 ? ' ' : '-';
    text[2 * depth] = '1';
    return text;
}

static void nesting_is_limited(void **state)
{
    cleanup_free char *most = nest(DOC_DEPTH_MAX);
    cleanup_free char *more = nest(DOC_DEPTH_MAX + 1);
    cleanup_free char *flow = xcalloc(10001, 1);
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_yaml(most, strlen(most), LIMIT, &doc, &err), 0);
    json_decref(doc);
    doc = NULL;
    assert_int_equal(doc_parse_yaml(more, strlen(more), LIMIT, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "line 1, column 257: nested deeper than 128 levels");
    memset(flow, '[', 10000);
    assert_int_equal(doc_parse_yaml(flow, 10000, LIMIT, &doc, &err), -1);
    memset(flow, '{', 10000);
    assert_int_equal(doc_parse_yaml(flow, 10000, LIMIT, &doc, &err), -1);
    assert_null(doc);
}

static void aliases_do_not_exceed_the_nesting_limit(void **state)
{
    cleanup_buffer struct buffer text = {0};
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    buffer_init(&text, LIMIT);
    assert_int_equal(buffer_append_text(&text, &err, "a0: &a0 [1]\n"), 0);
    for (int i = 1; i < 200; i++)
        assert_int_equal(buffer_append_text(&text, &err, "a%d: &a%d [*a%d]\n", i, i, i - 1), 0);
    assert_int_equal(doc_parse_yaml(text.data, text.size, LIMIT, &doc, &err), -1);
    assert_non_null(strstr(err.text, "nested deeper than 128 levels"));
    assert_null(doc);
}

static void a_billion_laughs_are_refused(void **state)
{
    static const char laughs[] = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
                                 "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
                                 "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
                                 "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
                                 "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
                                 "f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
                                 "g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n";
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_yaml(laughs, strlen(laughs), LIMIT, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(err.text,
                        "line 5, column 36: the document is too large with its aliases expanded");
    assert_null(doc);
}

/* Few nodes, but large ones. */
static void copies_of_long_strings_are_limited(void **state)
{
    cleanup_buffer struct buffer text = {0};
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    buffer_init(&text, LIMIT);
    assert_int_equal(buffer_append_text(&text, &err, "- &a x%0*d\n", 999, 0), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(buffer_append_text(&text, &err, "- *a\n"), 0);
    assert_int_equal(doc_parse_yaml(text.data, text.size, 8000, &doc, &err), 0);
    json_decref(doc);
    doc = NULL;
    assert_int_equal(doc_parse_yaml(text.data, text.size, 7999, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_null(doc);
}

static void a_copy_of_an_alias_is_independent(void **state)
{
    static const char text[] = "a: &x {k: [1]}\nb: *x\nc: {<<: *x}\n";
    cleanup_json json_t *doc = NULL;
    cleanup_free char *written = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_yaml(text, strlen(text), LIMIT, &doc, &err), 0);
    doc_set_text(doc, "a.k", "changed");
    written = doc_dump(doc);
    assert_string_equal(written, "{\"a\":{\"k\":\"changed\"},\"b\":{\"k\":[1]},\"c\":{\"k\":[1]}}");
}

static const struct {
    const char *text, *json;
} streams[] = {
    {"", "[]"},
    {"---\n---\n", "[]"},
    {"a: 1\n", "[{\"a\":1}]"},
    {"a: 1\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]"},
    {"---\n---\na: 1\n---\n# nothing\n---\n- b\n...\n", "[{\"a\":1},[\"b\"]]"},
    {"{\"a\":1}", "[{\"a\":1}]"},
    {"[]", "[[]]"},
    {"{\"a\":1}\n---\n{\"b\":2}\n", "[{\"a\":1},{\"b\":2}]"},
};

static void a_stream_gives_its_documents_without_the_empty_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(streams); i++) {
        cleanup_json json_t *docs = NULL;
        cleanup_free char *written = NULL;
        struct error err = {0};

        if (doc_parse_yaml_stream(streams[i].text, strlen(streams[i].text), LIMIT, &docs, &err) < 0)
            fail_msg("'%s': %s", streams[i].text, err.text);
        written = doc_dump(docs);
        assert_string_equal(written, streams[i].json);
    }
}

static void of_repeated_keys_the_last_one_counts_where_they_are_allowed(void **state)
{
    static const char *const texts[] = {
        "a: 1\nb: {c: 1, c: {d: 2}}\na: 3\n",
        "{\"a\": 1, \"b\": {\"c\": 1, \"c\": {\"d\": 2}}, \"a\": 3}"};

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        cleanup_json json_t *docs = NULL;
        cleanup_free char *written = NULL;
        struct error err = {0};

        assert_int_equal(doc_parse_yaml_stream(texts[i], strlen(texts[i]), LIMIT, &docs, &err), -1);
        assert_non_null(strstr(err.text, "duplicate key"));
        if (doc_parse_yaml_stream_repeated(texts[i], strlen(texts[i]), LIMIT, &docs, &err) < 0)
            fail_msg("'%s': %s", texts[i], err.text);
        written = doc_dump_sorted(docs);
        assert_string_equal(written, "[{\"a\":3,\"b\":{\"c\":{\"d\":2}}}]");
    }
}

static void the_memory_of_a_document_is_limited(void **state)
{
    enum { COUNT = 300000 };
    static const char piece[] = {'-', ' ', '{', '}', '\n'};
    size_t length = sizeof(piece);
    cleanup_free char *text = xcalloc(COUNT, length);
    json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + i * length, piece, length);
    assert_int_equal(doc_parse_yaml(text, COUNT * length, SIZE_MAX / 2, &doc, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "the document takes too much memory"));
}

static void an_anchor_ends_with_its_document(void **state)
{
    static const char text[] = "a: &x 1\n---\nb: *x\n";
    json_t *docs = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_yaml_stream(text, strlen(text), LIMIT, &docs, &err), -1);
    assert_int_equal(strncmp(err.text, "line 3, column 4: alias", 23), 0);
    assert_null(docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_have_the_type_that_kubernetes_gives_them),
        cmocka_unit_test(documents_have_the_expected_trees),
        cmocka_unit_test(names_the_place_and_keeps_the_output),
        cmocka_unit_test(the_error_does_not_quote_what_may_be_a_secret),
        cmocka_unit_test(the_size_is_checked_first),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(aliases_do_not_exceed_the_nesting_limit),
        cmocka_unit_test(a_billion_laughs_are_refused),
        cmocka_unit_test(copies_of_long_strings_are_limited),
        cmocka_unit_test(a_copy_of_an_alias_is_independent),
        cmocka_unit_test(a_stream_gives_its_documents_without_the_empty_ones),
        cmocka_unit_test(of_repeated_keys_the_last_one_counts_where_they_are_allowed),
        cmocka_unit_test(the_memory_of_a_document_is_limited),
        cmocka_unit_test(an_anchor_ends_with_its_document),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
