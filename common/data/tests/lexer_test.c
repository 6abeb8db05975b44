/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/lexer.h"

/* A copy of exactly this size, so that the sanitizer notices a read past its end. */
static struct lexer lexer_of(const char *text, char **ret_copy)
{
    *ret_copy = xmemdup(text, strlen(text));
    return (struct lexer){*ret_copy, *ret_copy + strlen(text)};
}

static void tokens_are_read_in_their_order(void **state)
{
    static const char text[] = " {\"a\\n\" :[1,-0.5e+2,true,false,null]\t}\r\n";
    static const struct {
        enum lexer_type type;
        const char *text;
    } expected[] = {
        {LEXER_OBJECT_BEGIN, "{"}, {LEXER_STRING, "a\\n"}, {LEXER_COLON, ":"},
        {LEXER_ARRAY_BEGIN, "["},  {LEXER_NUMBER, "1"},    {LEXER_COMMA, ","},
        {LEXER_NUMBER, "-0.5e+2"}, {LEXER_COMMA, ","},     {LEXER_TRUE, "true"},
        {LEXER_COMMA, ","},        {LEXER_FALSE, "false"}, {LEXER_COMMA, ","},
        {LEXER_NULL, "null"},      {LEXER_ARRAY_END, "]"}, {LEXER_OBJECT_END, "}"},
        {LEXER_END, ""},           {LEXER_END, ""},
    };
    cleanup_free char *copy = NULL;
    struct lexer lexer = lexer_of(text, &copy);

    (void)state;
    for (size_t i = 0; i < array_length(expected); i++) {
        struct lexer_token token = {0};

        assert_int_equal(lexer_next(&lexer, &token), expected[i].type);
        assert_int_equal(token.type, expected[i].type);
        assert_int_equal(token.size, strlen(expected[i].text));
        assert_memory_equal(token.text, expected[i].text, token.size);
        assert_int_equal(token.has_escapes, i == 1);
        assert_int_equal(token.is_real, i == 6);
    }
}

static void an_invalid_token_names_its_fault_and_place(void **state)
{
    static const struct {
        const char *text;
        enum lexer_fault fault;
        size_t place;
    } cases[] = {
        {"x", LEXER_FAULT_SYNTAX, 0},           {"'a'", LEXER_FAULT_SYNTAX, 0},
        {"nul", LEXER_FAULT_SYNTAX, 0},         {"-", LEXER_FAULT_SYNTAX, 0},
        {"1.", LEXER_FAULT_SYNTAX, 2},          {"1.e5", LEXER_FAULT_SYNTAX, 2},
        {"1e", LEXER_FAULT_SYNTAX, 2},          {"1e+", LEXER_FAULT_SYNTAX, 3},
        {".5", LEXER_FAULT_SYNTAX, 0},          {"\"a", LEXER_FAULT_INCOMPLETE, 2},
        {"\"a\\\"", LEXER_FAULT_INCOMPLETE, 4}, {"\"a\\", LEXER_FAULT_SYNTAX, 2},
        {"\"a\\x\"", LEXER_FAULT_SYNTAX, 2},    {"\"a\\u12g4\"", LEXER_FAULT_SYNTAX, 2},
        {"\"a\\u123", LEXER_FAULT_SYNTAX, 2},   {"\"a\nb\"", LEXER_FAULT_SYNTAX, 2},
        {"\"a\x1f\"", LEXER_FAULT_SYNTAX, 2},   {"\"a\xff\"", LEXER_FAULT_UTF8, 2},
        {"\"a\xc3", LEXER_FAULT_UTF8, 2},       {"\"a\xed\xa0\x80\"", LEXER_FAULT_UTF8, 2},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *copy = NULL;
        struct lexer lexer = lexer_of(cases[i].text, &copy);
        struct lexer_token token = {0};

        print_message("%s\n", cases[i].text);
        assert_int_equal(lexer_next(&lexer, &token), LEXER_INVALID);
        assert_int_equal(token.fault, cases[i].fault);
        assert_ptr_equal(token.text, copy + cases[i].place);
    }
}

static void a_nul_byte_is_a_fault_of_its_own(void **state)
{
    struct lexer inside = {"\"a\0\"", NULL};
    struct lexer outside = {"\0", NULL};
    struct lexer_token token = {0};

    (void)state;
    inside.end = inside.at + 4;
    outside.end = outside.at + 1;
    assert_int_equal(lexer_next(&inside, &token), LEXER_INVALID);
    assert_int_equal(token.fault, LEXER_FAULT_NUL);
    assert_int_equal(lexer_next(&outside, &token), LEXER_INVALID);
    assert_int_equal(token.fault, LEXER_FAULT_NUL);
}

static void escapes_are_decoded(void **state)
{
    static const struct {
        const char *text, *decoded; /* NULL: fault */
        enum lexer_fault fault;
    } cases[] = {
        {"\"\"", "", LEXER_FAULT_NONE},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz", LEXER_FAULT_NONE},
        {"\"\\u003c\\u003E\"", "<>", LEXER_FAULT_NONE},
        {"\"\\u00e4\\u20AC\"", "\xc3\xa4\xe2\x82\xac", LEXER_FAULT_NONE},
        {"\"\\ud83d\\udea2\"", "\xf0\x9f\x9a\xa2", LEXER_FAULT_NONE},
        {"\"\\uffff\"", "\xef\xbf\xbf", LEXER_FAULT_NONE},
        {"\"\\u0000\"", NULL, LEXER_FAULT_NUL},
        {"\"\\ud83d\"", NULL, LEXER_FAULT_SYNTAX},
        {"\"\\ud83dx\\udea2\"", NULL, LEXER_FAULT_SYNTAX},
        {"\"\\ud83d\\n12345\"", NULL, LEXER_FAULT_SYNTAX},
        {"\"\\ud83d\\ud83d\"", NULL, LEXER_FAULT_SYNTAX},
        {"\"\\udea2\\ud83d\"", NULL, LEXER_FAULT_SYNTAX},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *copy = NULL;
        cleanup_free char *out = NULL;
        struct lexer lexer = lexer_of(cases[i].text, &copy);
        struct lexer_token token = {0};
        size_t size = 0;

        print_message("%s\n", cases[i].text);
        assert_int_equal(lexer_next(&lexer, &token), LEXER_STRING);
        out = xmalloc(token.size);
        assert_int_equal(lexer_decode(&token, out, &size), cases[i].fault);
        if (!cases[i].decoded)
            continue;
        assert_int_equal(size, strlen(cases[i].decoded));
        assert_memory_equal(out, cases[i].decoded, size);
    }
}

static void the_structure_is_the_same_however_the_text_is_cut(void **state)
{
    static const char text[] = "{\"a[\\\"\":[1,\"}\\\\\"],\"b\":{}}]";
    static const char found[] = "{\"\":[,\"\"],\"\":{}}]";

    (void)state;
    for (size_t chunk = 1; chunk <= strlen(text); chunk++) {
        struct lexer_structure structure = {0};
        size_t count = 0;

        for (size_t from = 0; from < strlen(text); from += chunk) {
            size_t size = strlen(text) - from < chunk ? strlen(text) - from : chunk;
            cleanup_free char *piece = xmemdup(text + from, size);
            const char *at = piece;

            while ((at = lexer_structure_next(&structure, at, piece + size)))
                assert_int_equal(*at++, found[count++]);
        }
        assert_int_equal(count, strlen(found));
        assert_int_equal(structure.depth, 0);
        assert_false(structure.is_in_string);
    }
}

static void values_are_skipped_unchecked(void **state)
{
    static const struct {
        const char *text;
        int length; /* -1: it does not end */
    } cases[] = {
        {"1,", 1},         {"true}", 4},
        {"nonsense ]", 8}, {"\"a\\\"b\" ", 6},
        {"{}x", 2},        {"[{\"]\":[}]]]", 10},
        {"{\"a\":", -1},   {"[", -1},
        {"\"a\\\"", -1},   {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *copy = NULL;
        struct lexer lexer = lexer_of(cases[i].text, &copy);
        const char *after = lexer_skip_value(lexer.at, lexer.end);

        print_message("%s\n", cases[i].text);
        assert_int_equal(after ? (int)(after - copy) : -1, cases[i].length);
    }
}

static void valid_json_is_accepted_and_invalid_json_refused(void **state)
{
    static const char *const valid[] = {"0",
                                        " [] ",
                                        "{}",
                                        "[1,[2,{}],\"x\"]",
                                        "{\"a\":{\"b\":[]},\"c\":null}",
                                        "\"\\u0000\"",
                                        "{\"a\":1,\"a\":2}",
                                        "\"\\ud800\"",
                                        "18446744073709551616"};
    static const char *const invalid[] = {
        "",    " ",     "[",          "]",        "[1,]",       "[,1]", "[1 2]",     "[1}",
        "{]",  "{1:2}", "{\"a\"}",    "{\"a\":}", "{\"a\":1,}", "{,}",  "{\"a\" 1}", "{\"a\":1:2}",
        "1 2", "1,2",   "true false", ":",        ",",          "[01]", "\"\xff\"",  "[\"a\":1]"};

    (void)state;
    for (size_t i = 0; i < array_length(valid); i++) {
        print_message("%s\n", valid[i]);
        assert_null(lexer_check(valid[i], strlen(valid[i])));
    }
    for (size_t i = 0; i < array_length(invalid); i++) {
        print_message("%s\n", invalid[i]);
        assert_non_null(lexer_check(invalid[i], strlen(invalid[i])));
    }
}

static void json_may_be_as_deep_as_go_reads_it(void **state)
{
    enum { DEPTH = 10000 };
    char text[2 * (DEPTH + 1)] = {0};

    (void)state;
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    assert_null(lexer_check(text, 2 * (size_t)DEPTH));
    memset(text, '[', DEPTH + 1);
    memset(text + DEPTH + 1, ']', DEPTH + 1);
    assert_ptr_equal(lexer_check(text, sizeof(text)), text + DEPTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_read_in_their_order),
        cmocka_unit_test(an_invalid_token_names_its_fault_and_place),
        cmocka_unit_test(a_nul_byte_is_a_fault_of_its_own),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(the_structure_is_the_same_however_the_text_is_cut),
        cmocka_unit_test(values_are_skipped_unchecked),
        cmocka_unit_test(valid_json_is_accepted_and_invalid_json_refused),
        cmocka_unit_test(json_may_be_as_deep_as_go_reads_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
