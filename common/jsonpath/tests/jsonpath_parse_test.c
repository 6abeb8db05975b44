/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "common/jsonpath/jsonpath.h"

static const char *const good[] = {
    "a",
    ".a",
    "a.b",
    "$",
    "@",
    "$.a",
    "@.a",
    "['a']",
    "a['b']",
    "a['b.c','d']",
    "a\\.b/c",
    "a-b_c:d/e~f=g(h)",
    "\xc3\xa4.b",
    ".*",
    "a.*",
    "a[*]",
    "a[]",
    "a[0]",
    "a[-1]",
    "a[1:]",
    "a[:1]",
    "a[:]",
    "a[::]",
    "a[::2]",
    "a[-3:-1:1]",
    "a[0,1]",
    "a[ 0 , 1 ]",
    "a[*,0]",
    "a[2147483647]",
    "..",
    "..a",
    "...a",
    "a..b..c",
    "a..['b']",
    "a..",
    "['..a']",
    " a .b ",
    "a[?(@.b)]",
    "a[?(@)]",
    "a[?( @.b == \"x\" )]",
    "a[?(@.b=='x')].c",
    "a[?(@.b==\")]\")]",
    "a[?(.b==1)]",
    "a[?($.b==1)]",
    "a[?('x'==@.b)]",
    "a[?(@.b==-1)]",
    "a[?(@.b==+1.5)]",
    "a[?(@.b==007)]",
    "a[?(@.b==99999999999999999999)]",
    "a[?(@.b==true)]",
    "a[?(@.b!=false)]",
    "a[?(@.b<@.c)]",
    "a[?(@.b>=.c.d[0])]",
    "a[?(@['b']==1)]",
    "a[?(@['b=c']==1)]",
    "a[?(@.b[0]==1)]",
    "a[?(@.b[?(@.c==1)])]",
    "a[?(@..b==1)]",
    "a[?(@..==1)]",
    "a[?(@.b==\"\\\"\\\\\\a\\b\\f\\n\\r\\t\\v\\x41\\101\\u00e4\\U0001F600\")]",
    "a[?(@.b=='\\'')]",
    "a[?(@.b==\"'\")]",
};

static void parses_paths_of_the_dialect(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        cleanup_jsonpath struct jsonpath *path = NULL;
        struct error err = {0};

        if (jsonpath_parse(good[i], &path, &err) < 0)
            fail_msg("%s: %s", good[i], err.text);
        assert_non_null(path);
    }
}

static const struct {
    const char *text;
    size_t offset;
    const char *expected;
} bad[] = {
    {"", 0, "a path such as"},
    {"  ", 2, "a path such as"},
    {"{.a}", 0, "a path without braces"},
    {".", 1, "a member name"},
    {"a.", 2, "a member name"},
    {"a. b", 2, "a member name"},
    {"a.[0]", 2, "a member name"},
    {".$.a", 1, "a member name"},
    {"a.['b']", 2, "a member name"},
    {"['']", 2, "a member name"},
    {"a..,", 3, "a member name"},
    {"\ta", 0, "a member name"},
    {"a b", 2, "\".\", \"[\" or the end"},
    {"a,b", 1, "\".\", \"[\" or the end"},
    {"a]", 1, "\".\", \"[\" or the end"},
    {"a}", 1, "\".\", \"[\" or the end"},
    {"a\n", 1, "\".\", \"[\" or the end"},
    {"a@.b", 1, "\".\", \"[\" or the end"},
    {"$a", 1, "\".\", \"[\" or the end"},
    {"a\\", 2, "a character behind the backslash"},
    {"a....b", 3, "only one recursive descent"},
    {"....", 2, "only one recursive descent"},
    {"a[", 2, "an index, a slice"},
    {"a[1", 3, "an index, a slice"},
    {"a[x]", 2, "an index, a slice"},
    {"a[\"b\"]", 2, "an index, a slice"},
    {"a[1 2]", 4, "an index, a slice"},
    {"a[1:2:3:4]", 7, "an index, a slice"},
    {"a[-]", 2, "a 32-bit index"},
    {"a[--1]", 2, "a 32-bit index"},
    {"a[2147483648]", 2, "a 32-bit index"},
    {"a[1:99999999999999999999]", 4, "a 32-bit index"},
    {"a[::2147483648]", 4, "a 32-bit index"},
    {"a[1:2:0]", 6, "a step greater than 0"},
    {"a[::-1]", 4, "a step greater than 0"},
    {"a[0,1", 5, "\",\" or \"]\""},
    {"a[0,x]", 4, "\",\" or \"]\""},
    {"a['b", 4, "the closing quote"},
    {"a['b c']", 5, "\".\", \"[\" or the closing quote"},
    {"a['b,c']", 4, "\".\", \"[\" or the closing quote"},
    {"a['b'c]", 5, "an index, a slice"},
    {"a['b',\"c\"]", 6, "\",\" or \"]\""},
    {"a[?]", 3, "\"(\""},
    {"a[?(", 4, "a path such as @.a"},
    {"a[?()]", 4, "a path such as @.a"},
    {"a[?(b==1)]", 4, "a path such as @.a"},
    {"a[?(@.b==c)]", 9, "a path such as @.a"},
    {"a[?(@.b==null)]", 9, "a path such as @.a"},
    {"a[?(@.b==)]", 9, "a path such as @.a"},
    {"a[?(@.b=1)]", 7, "==, !="},
    {"a[?(@.b=~'x')]", 7, "==, !="},
    {"a[?(@.b<>1)]", 7, "==, !="},
    {"a[?(@.b===1)]", 7, "==, !="},
    {"a[?(@.b && @.c)]", 8, "==, !="},
    {"a[?(@.b", 7, "==, !="},
    {"a[?(@.b==1]", 10, "\")\""},
    {"a[?(@.b==1e5)]", 10, "\")\""},
    {"a[?(@.b==truex)]", 13, "\")\""},
    {"a[?(@.b==1 && @.c==2)]", 11, "\")\""},
    {"a[?(@.b==1)", 11, "\"]\""},
    {"a[?(@.b==1),0]", 11, "\"]\""},
    {"a[?(@.b==1.2.3)]", 9, "a number"},
    {"a[?(@.b==-)]", 9, "a number"},
    {"a[?(@.b==+-1)]", 9, "a number"},
    {"a[?(true)]", 4, "a path or a comparison"},
    {"a[?('x')]", 4, "a path or a comparison"},
    {"a[?(@.b==\"x)]", 13, "the closing quote"},
    {"a[?(@.b==\"x\ny\")]", 11, "the closing quote"},
    {"a[?(@.b==\"\\q\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\'\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\x4\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\xff\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\18\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\377\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\x00\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\ud800\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\U00110000\")]", 10, "an escape sequence"},
    {"a[?(@.b==\"\\", 10, "an escape sequence"},
    {"a.\xff", 2, "UTF-8"},
};

static void refuses_other_texts_with_the_offset(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        struct jsonpath *path = NULL;
        struct error err = {0};
        char start[100] = {0};

        if (jsonpath_parse(bad[i].text, &path, &err) == 0)
            fail_msg("'%s' was accepted", bad[i].text);
        assert_null(path);
        assert_int_equal(err.kind, ERROR_INVALID);
        (void)snprintf(start, sizeof(start), "invalid JSONPath at offset %zu: expected %s",
                       bad[i].offset, bad[i].expected);
        if (strncmp(err.text, start, strlen(start)) != 0)
            fail_msg("'%s': got '%s', expected '%s'", bad[i].text, err.text, start);
    }
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    jsonpath_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_paths_of_the_dialect),
        cmocka_unit_test(refuses_other_texts_with_the_offset),
        cmocka_unit_test(freeing_nothing_is_fine),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
