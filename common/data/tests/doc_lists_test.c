/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_lists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"

enum { LIMIT = 8 << 20, TREE = 1 << 20 };

static const struct doc_list_path paths[] = {{{"a", "l"}}, {{"a", "m"}}};

/* What was handed over, as "0:<json> 1:<json> ". */
struct seen {
    struct buffer text;
    size_t count;
    bool is_counted_only;
};

static void begin(void *data)
{
    struct seen *seen = data;

    buffer_clear(&seen->text);
    seen->count = 0;
}

static void note(void *data, size_t list, const json_t *element)
{
    struct seen *seen = data;
    cleanup_free char *json = seen->is_counted_only ? NULL : doc_dump(element);
    struct error err = {0};

    seen->count++;
    if (json && buffer_append_text(&seen->text, &err, "%zu:%s ", list, json) < 0)
        fail_msg("%s", err.text);
}

static int read_text(const char *text, size_t size, struct seen *seen, json_t **ret_doc,
                     struct error *err)
{
    const struct doc_lists lists = {.paths = paths,
                                    .count = array_length(paths),
                                    .tree_max_bytes = TREE,
                                    .on_begin = begin,
                                    .on_element = note,
                                    .data = seen};

    buffer_init(&seen->text, LIMIT);
    return doc_parse_yaml_lists(text, size, LIMIT, &lists, ret_doc, err);
}

static const struct {
    const char *text, *elements, *rest;
} good[] = {
    {"", "", "null"},
    {"[1]", "", "[1]"},
    {"{\"a\":{\"l\":[1,{\"b\":[2]}],\"k\":[3]},\"l\":[4]}", "0:1 0:{\"b\":[2]} ",
     "{\"a\":{\"l\":[],\"k\":[3]},\"l\":[4]}"},
    {"a:\n  m: [x]\n  l:\n  - 1\n  - b: [2]\nl: [4]\n", "1:\"x\" 0:1 0:{\"b\":[2]} ",
     "{\"a\":{\"m\":[],\"l\":[]},\"l\":[4]}"},
    /* no lists: they stay */
    {"a: {l: {x: 1}, m: null}", "", "{\"a\":{\"l\":{\"x\":1},\"m\":null}}"},
    {"a: [{l: [1]}]", "", "{\"a\":[{\"l\":[1]}]}"},
    {"a: [[1], [2]]", "", "{\"a\":[[1],[2]]}"},
    {"b: {a: {l: [1]}}", "", "{\"b\":{\"a\":{\"l\":[1]}}}"},
    /* what an anchor repeats is there for both */
    {"a: {l: &l [1, 2], m: *l}", "0:1 0:2 1:1 1:2 ", "{\"a\":{\"l\":[],\"m\":[]}}"},
    {"x: &x {l: [1]}\na: *x", "0:1 ", "{\"x\":{\"l\":[1]},\"a\":{\"l\":[]}}"},
    {"a: &x {l: [1]}\nb: *x", "0:1 ", "{\"a\":{\"l\":[]},\"b\":{\"l\":[1]}}"},
    {"a: {l: [&e {k: v}, *e]}\nb: *e", "0:{\"k\":\"v\"} 0:{\"k\":\"v\"} ",
     "{\"a\":{\"l\":[]},\"b\":{\"k\":\"v\"}}"},
    {"a: {<<: {l: [1], m: [2]}, l: [3]}", "0:3 1:2 ", "{\"a\":{\"l\":[],\"m\":[]}}"},
    /* JSON up to the last byte, but YAML in the end: nothing is handed over twice */
    {"{\"a\":{\"l\":[1,2,]}}", "0:1 0:2 ", "{\"a\":{\"l\":[]}}"},
};

static void lists_are_handed_over_and_the_rest_is_the_tree(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        struct seen seen = {0};
        cleanup_json json_t *doc = NULL;
        cleanup_free char *rest = NULL;
        struct error err = {0};

        print_message("%s\n", good[i].text);
        if (read_text(good[i].text, strlen(good[i].text), &seen, &doc, &err) < 0)
            fail_msg("%s", err.text);
        rest = doc_dump(doc);
        assert_string_equal(rest, good[i].rest);
        assert_string_equal(seen.text.data ? seen.text.data : "", good[i].elements);
        buffer_done(&seen.text);
    }
}

static const struct {
    const char *text, *why;
} wrong[] = {
    {"a: {l: [1, {x: 1, x: 2}]}", "line 1, column 19: a key appears twice in one mapping"},
    {"{\"a\":{\"l\":[1],\n\"l\":[2]}}", "line 2, column 1: a key appears twice"},
    {"{\"a\":{\"l\":[1]},\n\"a\":{\"l\":[2]}}", "line 2, column 1: a key appears twice"},
    {"a: {l: [1]}\n---\na: {l: [2]}\n", "more than one document"},
    {"{\"a\":{\"l\":[1]}} x", "line 1"},
    {"{\"a\":\"1\" \"b\":2}", "did not find expected ',' or '}'"},
    {"{\"\\q\":1}", "line 1, column 3: found unknown escape character"},
};

static void what_is_wrong_is_told_by_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct seen seen = {0};
        json_t *doc = NULL;
        struct error err = {0};

        print_message("%s\n", wrong[i].text);
        assert_int_equal(read_text(wrong[i].text, strlen(wrong[i].text), &seen, &doc, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("'%s' is not in '%s'", wrong[i].why, err.text);
        buffer_done(&seen.text);
    }
}

/* head, then piece so many times, then tail. */
static char *repeated(const char *head, const char *piece, size_t count, const char *tail)
{
    struct buffer text = {0};
    struct error err = {0};
    int result = 0;

    buffer_init(&text, LIMIT);
    result |= buffer_append(&text, head, strlen(head), &err);
    for (size_t i = 0; i < count; i++)
        result |= buffer_append(&text, piece, strlen(piece), &err);
    result |= buffer_append(&text, tail, strlen(tail), &err);
    assert_int_equal(result, 0);
    return buffer_take(&text);
}

enum { MANY = 100000 };

static const struct {
    const char *head, *piece, *tail;
    size_t elements; /* 0: refused */
} large[] = {
    {"{\"a\":{\"l\":[0", ",{\"k\":1}", "]}}", MANY + 1},
    {"a:\n  l:\n", "  - {k: 1}\n", "", MANY},
    {"a:\n  l:\n", "  - &x {k: 1}\n", "", 0},
    {"a: &x\n  l:\n", "  - {k: 1}\n", "", 0},
    {"{\"a\":{\"l\":[[0", ",{}", "]]}}", 0},
    {"{\"a\":{\"k\":[0", ",{}", "]}}", 0},
    {"{\"a\":{\"l\":[],\"k\":[0", ",0", "]}}", 0},
    {"a:\n  l:\n  -\n", "    - {}\n", "", 0},
    {"a:\n  k:\n", "  - 0\n", "", 0},
    {"x: &x [a long text that is repeated]\nk:\n", "- *x\n", "", 0},
};

static void a_list_may_be_long_but_what_is_held_may_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(large); i++) {
        cleanup_free char *text = repeated(large[i].head, large[i].piece, MANY, large[i].tail);
        struct seen seen = {.is_counted_only = true};
        cleanup_json json_t *doc = NULL;
        struct error err = {0};
        int result = read_text(text, strlen(text), &seen, &doc, &err);

        print_message("%s%s...\n", large[i].head, large[i].piece);
        assert_int_equal(result, large[i].elements > 0 ? 0 : -1);
        if (result < 0) {
            assert_int_equal(err.kind, ERROR_TOO_LARGE);
            assert_non_null(strstr(err.text, "too large to be held in memory"));
            assert_non_null(strstr(err.text, "line "));
        } else {
            assert_int_equal(seen.count, large[i].elements);
        }
        buffer_done(&seen.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_handed_over_and_the_rest_is_the_tree),
        cmocka_unit_test(what_is_wrong_is_told_by_line_and_column),
        cmocka_unit_test(a_list_may_be_long_but_what_is_held_may_not),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
