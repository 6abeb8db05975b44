/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/archive/tests/folder.h"
#include "common/base/memory.h"
#include "common/component/yamlfs.h"
#include "common/data/doc.h"

static int write_tree(const struct folder *folder, const char *text, struct yamlfs_counts *counts,
                      struct error *err)
{
    cleanup_json json_t *value = NULL;
    cleanup_json json_t *tree = NULL;

    assert_int_equal(doc_parse_yaml(text, strlen(text), 1 << 20, &value, err), 0);
    if (yamlfs_open(value, &tree, err) < 0)
        return -1;
    return yamlfs_write(tree, folder->fd, &ARCHIVE_LIMITS_BLUEPRINT, counts, err);
}

static const struct {
    const char *tree, *file, *text; /* NULL: not there */
} files[] = {
    {"{a: hello}", "a", "hello"},
    {"{a: ''}", "a", ""},
    {"{a: null}", "a", ""},
    {"{d: {e: {f: x}}}", "d/e/f", "x"},
    {"{a: [1]}", "a", NULL},
    {"{a: 5}", "a", "5"},
    {"{a: true}", "a", "true"},
    {"{a: {$type: file, value: v}}", "a", "v"},
    {"{a: {$type: other, value: v}}", "a", "v"},
    {"{a: {$type: file, binary: aGk=}}", "a", "hi"},
    {"{a: {$type: file}}", "a", ""},
    {"{a: {$type: json, value: {z: 1, b: [x]}}}", "a", "{\"b\":[\"x\"],\"z\":1}"},
    {"{a: {$type: json}}", "a", "null"},
    {"{d: {$type: directory, value: {f: x}}}", "d/f", "x"},
    {"{a: \"---Start Binary---\\naGVs\\nbG8=\\n---End Binary---\\n\"}", "a", "hello"},
    {"{a: \"---Start Binary---\\naGVs\"}", "a", "---Start Binary---\naGVs"},
    {"{a: x, l: {$type: symlink, value: a}}", "l", "x"},
    {"{d: {l: {$type: symlink, value: ../a}}, a: x}", "d/l", "x"},
    {"{d: {l: {$type: symlink, value: /a}}, a: x}", "d/l", "x"},
    {"{l: {$type: symlink, value: m}, m: {$type: symlink, value: ../../d/a}, d: {a: x}}", "l", "x"},
    {"\"a: from text\"", "a", "from text"},
    {"null", "a", NULL},
};

static void every_kind_of_node_is_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(files); i++) {
        struct folder folder = {0};
        struct yamlfs_counts counts = {0};
        struct error err = {0};
        cleanup_free char *text = NULL;

        print_message("%s\n", files[i].tree);
        folder_make(&folder);
        if (write_tree(&folder, files[i].tree, &counts, &err) < 0)
            fail_msg("%s", err.text);
        text = folder_read(&folder, files[i].file);
        if (files[i].text)
            assert_string_equal(text, files[i].text);
        else
            assert_null(text);
        folder_remove(&folder);
    }
}

static void yaml_nodes_are_written_as_yaml(void **state)
{
    struct folder folder = {0};
    struct yamlfs_counts counts = {0};
    struct error err = {0};
    cleanup_free char *text = NULL;
    cleanup_json json_t *back = NULL;

    (void)state;
    folder_make(&folder);
    assert_int_equal(write_tree(&folder, "{a: {$type: yaml, value: {k: [1, 'x']}}}", &counts, &err),
                     0);
    text = folder_read(&folder, "a");
    assert_int_equal(doc_parse_yaml(text, strlen(text), 1 << 20, &back, &err), 0);
    assert_int_equal(json_integer_value(json_array_get(doc_member(back, "k"), 0)), 1);
    assert_int_equal(counts.files, 1);
    folder_remove(&folder);
}

static const struct {
    const char *tree, *why;
} wrong[] = {
    {"[]", "expected an object"},
    {"5", "expected an object"},
    {"{'..': x}", "\"/..\": invalid file name"},
    {"{'.': x}", "invalid file name"},
    {"{'': x}", "invalid file name"},
    {"{'a/b': x}", "invalid file name"},
    {"{'../../etc/x': x}", "invalid file name"},
    {"{d: {'..': {a: x}}}", "\"/d/..\": invalid file name"},
    {"{l: {$type: symlink, value: gone}}", "\"l\""},
    {"{l: {$type: symlink}}", "has no target"},
    {"{l: {$type: symlink, value: l}}", "more than 40 symlinks"},
    {"{l: {$type: symlink, value: m}, m: {$type: symlink, value: l}}", "more than 40 symlinks"},
    {"{l: {$type: symlink, value: d}, d: {}}", "symlinks to directories"},
    {"{d: {$type: directory, value: x}}", "must be an object"},
    {"{a: {$type: file, value: 5}}", "expected a string"},
    {"{a: \"---Start Binary---\\n!\\n---End Binary---\"}", "\"a\""},
    {"\"a: [\"", "line"},
};

static void invalid_trees_are_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct folder folder = {0};
        struct yamlfs_counts counts = {0};
        struct error err = {0};

        print_message("%s\n", wrong[i].tree);
        folder_make(&folder);
        assert_int_equal(write_tree(&folder, wrong[i].tree, &counts, &err), -1);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].why, err.text);
        folder_remove(&folder);
    }
}

/* {d: {d: ... {}}}, so many directories deep. */
static json_t *nested(unsigned depth)
{
    json_t *tree = json_object();

    for (unsigned i = 0; i < depth; i++)
        tree = json_pack("{s:o}", "d", tree);
    return tree;
}

static void depth_is_bounded(void **state)
{
    for (unsigned over = 0; over <= 1; over++) {
        cleanup_json json_t *tree = nested(ARCHIVE_LIMITS_BLUEPRINT.depth_max + over);
        struct folder folder = {0};
        struct yamlfs_counts counts = {0};
        struct error err = {0};

        (void)state;
        folder_make(&folder);
        assert_int_equal(yamlfs_write(tree, folder.fd, &ARCHIVE_LIMITS_BLUEPRINT, &counts, &err),
                         over ? -1 : 0);
        assert_int_equal(err.kind, over ? ERROR_TOO_LARGE : ERROR_NONE);
        folder_remove(&folder);
    }
}

/* /d/l0 -> /d, /d/l1 -> /d/l0/l0, /d/l2 -> /d/l1/l1, ...: to resolve the symlink of level n takes
 * 2^(n+1) - 1 of them, n + 1 deep. */
static json_t *doubling_links(unsigned levels)
{
    json_t *tree = json_pack("{s:{s:{s:s, s:s}}}", "d", "l0", "$type", "symlink", "value", "/d");

    for (unsigned i = 1; i <= levels; i++) {
        char name[8];
        char target[24];

        (void)snprintf(name, sizeof(name), "l%u", i);
        (void)snprintf(target, sizeof(target), "/d/l%u/l%u", i - 1, i - 1);
        (void)json_object_set_new(json_object_get(tree, "d"), name,
                                  json_pack("{s:s, s:s}", "$type", "symlink", "value", target));
    }
    return tree;
}

/* 31 symlinks are followed, 63 are too many. With a limit on the depth only the third would follow
 * 2^31 of them. */
static void symlinks_are_counted_over_the_whole_path(void **state)
{
    static const struct {
        unsigned levels;
        int result;
    } cases[] = {{4, 0}, {5, -1}, {30, -1}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *tree = doubling_links(cases[i].levels);
        const json_t *node = NULL;
        struct error err = {0};
        char path[24];

        (void)snprintf(path, sizeof(path), "d/l%u", cases[i].levels);
        assert_int_equal(yamlfs_find(tree, path, &node, &err), cases[i].result);
        assert_int_equal(err.kind, cases[i].result < 0 ? ERROR_INVALID : ERROR_NONE);
    }
}

/* A file of ten bytes and nine links to it: 100 bytes, 10 entries; a directory is one more. */
static const char copies[] =
    "{a: abcdefghij, 1: &l {$type: symlink, value: a}, 2: *l, 3: *l, 4: *l, 5: *l, 6: *l, 7: *l, "
    "8: *l, 9: *l, d: {}}";

static void copies_count_against_the_limits(void **state)
{
    static const struct {
        uint64_t bytes_max, entries_max;
        int result;
    } cases[] = {{100, 11, 0}, {99, 11, -1}, {100, 10, -1}};
    cleanup_json json_t *tree = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_yaml(copies, strlen(copies), 1 << 20, &tree, &err), 0);
    for (size_t i = 0; i < array_length(cases); i++) {
        const struct archive_limits limits = {
            .bytes_max = cases[i].bytes_max, .entries_max = cases[i].entries_max, .depth_max = 64};
        struct yamlfs_counts counts = {0};
        struct folder folder = {0};

        err = (struct error){0};
        folder_make(&folder);
        assert_int_equal(yamlfs_write(tree, folder.fd, &limits, &counts, &err), cases[i].result);
        assert_int_equal(err.kind, cases[i].result < 0 ? ERROR_TOO_LARGE : ERROR_NONE);
        if (cases[i].result == 0) {
            assert_int_equal(counts.bytes, 100);
            assert_int_equal(counts.files, 10);
        }
        folder_remove(&folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_node_is_written),
        cmocka_unit_test(yaml_nodes_are_written_as_yaml),
        cmocka_unit_test(invalid_trees_are_rejected),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(symlinks_are_counted_over_the_whole_path),
        cmocka_unit_test(copies_count_against_the_limits),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
