/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

enum { LIMIT = 1000000 };

static const struct {
    const char *json, *yaml;
} written[] = {
    {"{}", "{}\n"},
    {"[]", "[]\n"},
    {"null", "null\n"},
    {"1.5", "1.5\n"},
    {"\"text\"", "text\n"},
    {"\"two\\nlines\"", "|-\n  two\n  lines\n"},
    {"{\"a\":1,\"b\":{\"c\":[1,{\"d\":2,\"e\":[]}]}}",
     "a: 1\nb:\n  c:\n  - 1\n  - d: 2\n    e: []\n"},
    {"[[1,[2,3]],{\"a\":{\"b\":{}}}]", "- - 1\n  - - 2\n    - 3\n- a:\n    b: {}\n"},
    {"{\"script\":\"#!/bin/sh\\nset -e\\n\\necho \\\"hi\\\"\\n\"}",
     "script: |\n  #!/bin/sh\n  set -e\n\n  echo \"hi\"\n"},
    {"[{\"s\":\"a\\nb\"}]", "- s: |-\n    a\n    b\n"},
    {"{\"args\":[\"--flag\",\"-v\",\"a=b\",\"$(VAR)\"]}",
     "args:\n- --flag\n- -v\n- a=b\n- $(VAR)\n"},
    {"{\"t\":true,\"f\":false,\"n\":null,\"r\":3.0}", "t: true\nf: false\n\"n\": null\nr: 3.0\n"},
};

static void writes_block_style(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(written); i++) {
        cleanup_json json_t *doc = NULL;
        cleanup_free char *text = NULL;
        struct error err = {0};

        assert_int_equal(
            doc_parse_json(written[i].json, strlen(written[i].json), LIMIT, &doc, &err), 0);
        text = doc_dump_yaml(doc);
        assert_string_equal(text, written[i].yaml);
    }
}

static const char *const quoted[] = {
    "",     "yes",   "no",       "on",           "off",          "y",         "n",          "true",
    "~",    "null",  "1",        "-1",           "1.5",          "0x1f",      "0o7",        "1_000",
    ".5",   ".inf",  "1e3",      "12:30",        "1.2.3",        "<<",        "2001-12-14", "- a",
    "-",    "---",   "...",      "a: b",         "a:",           "a #b",      "#a",         "@a",
    "`a",   "%a",    "!a",       "&a",           "*a",           "[a",        "a]",         "{a",
    "a,b",  "|",     ">",        "'a'",          "\"a\"",        " a",        "a ",         "\ta",
    "a\tb", "? a",   ": a",      "\x01",         "\x7f",         "a\r\nb",    "\n",         "a\n\n",
    "\na",  " a\nb", "\xc2\x85", "\xe2\x80\xa8", "\xef\xbb\xbf", "a\xc2\x80",
};

static const char *const plain[] = {
    "a",      "a b",      "a-b",       "a:b",    "a#b", "/path/to", "http://x/y?z",
    "_x",     "\xc3\xa4", "yesterday", "1.2.3a", "v1",  "-v",       "nullable",
    "a'b\"c", "a & b",    "x.y/z",     "~a",     "0xg", "$HOME",    "a=b",
};

static void strings_that_look_like_another_type_are_quoted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(quoted); i++) {
        cleanup_json json_t *doc = json_string(quoted[i]);
        cleanup_free char *text = doc_dump_yaml(doc);

        if (text[0] != '"')
            fail_msg("%s is not quoted", text);
    }
}

static void other_strings_are_not_quoted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(plain); i++) {
        cleanup_json json_t *doc = json_string(plain[i]);
        cleanup_free char *text = doc_dump_yaml(doc);
        cleanup_free char *expected = xasprintf("%s\n", plain[i]);

        assert_string_equal(text, expected);
    }
}

static void comes_back(const json_t *doc)
{
    cleanup_json json_t *back = NULL;
    cleanup_free char *text = doc_dump_yaml(doc);
    struct error err = {0};

    if (doc_parse_yaml(text, strlen(text), LIMIT, &back, &err) < 0)
        fail_msg("%s in %s", err.text, text);
    if (!json_equal(doc, back))
        fail_msg("another tree: %s", text);
}

/* Each string as a value, as a key, as an item and at the top. */
static void strings_are_preserved_in_every_position(void **state)
{
    static const char *const others[] = {
        "a\nb",
        "a\nb\n",
        "a\n\nb",
        "a\n b\n",
        "a\n\tb",
        "a\n  ",
        "a\n  \nb",
        "a \nb",
        "a\n#b\n",
        "a\n---\nb",
        "a\n...\n",
        "a: b\nc: d\n",
        "\xf0\x9f\x9a\xa2\nb",
    };
    const char *texts[array_length(quoted) + array_length(plain) + array_length(others)];
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < array_length(quoted); i++)
        texts[count++] = quoted[i];
    for (size_t i = 0; i < array_length(plain); i++)
        texts[count++] = plain[i];
    for (size_t i = 0; i < array_length(others); i++)
        texts[count++] = others[i];
    for (size_t i = 0; i < count; i++) {
        cleanup_json json_t *doc = json_object();
        cleanup_json json_t *top = json_string(texts[i]);
        json_t *items = json_array();

        comes_back(top);
        (void)json_array_append(items, top);
        (void)json_array_append_new(items, json_pack("[s]", texts[i]));
        (void)json_array_append_new(items, json_pack("{s:s}", texts[i], texts[i]));
        (void)json_object_set_new(doc, "items", items);
        (void)json_object_set_new(doc, "value", json_string(texts[i]));
        (void)json_object_set_new(doc, texts[i], json_pack("{s:{s:s}}", texts[i], "k", texts[i]));
        comes_back(doc);
    }
}

static void long_keys_are_preserved(void **state)
{
    static const size_t sizes[] = {100, 166, 167, 500, 1000, 1024, 1025, 5000};

    (void)state;
    for (size_t i = 0; i < array_length(sizes); i++) {
        cleanup_json json_t *doc = json_object();
        cleanup_free char *key = xcalloc(sizes[i] + 1, 1);

        memset(key, 'k', sizes[i]);
        (void)json_object_set_new(doc, key, json_pack("{s:[i,i],s:s}", "a", 1, 2, "b", "x\ny"));
        memset(key, 1, sizes[i]);
        (void)json_object_set_new(doc, key, json_pack("[i]", 1));
        (void)json_object_set_new(doc, "z", json_true());
        comes_back(doc);
    }
}

static void deep_trees_are_preserved(void **state)
{
    cleanup_json json_t *doc = json_integer(1);

    (void)state;
    for (int i = 0; i < DOC_DEPTH_MAX; i++) {
        json_t *outer = i % 3 ? json_object() : json_array();

        if (i % 3)
            (void)json_object_set_new(outer, "k", steal(&doc));
        else
            (void)json_array_append_new(outer, steal(&doc));
        doc = outer;
    }
    comes_back(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_block_style),
        cmocka_unit_test(strings_that_look_like_another_type_are_quoted),
        cmocka_unit_test(other_strings_are_not_quoted),
        cmocka_unit_test(strings_are_preserved_in_every_position),
        cmocka_unit_test(long_keys_are_preserved),
        cmocka_unit_test(deep_trees_are_preserved),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
