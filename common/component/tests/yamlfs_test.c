/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "folder.h"
#include "init/blueprint/yamlfs.h"

static int write_tree(const struct folder *folder, const char *text, struct yamlfs_counts *counts,
                      struct error *err)
{
    cleanup_json json_t *value = NULL;
    cleanup_json json_t *tree = NULL;

    assert_int_equal(doc_parse_yaml(text, strlen(text), 1 << 20, &value, err), 0);
    if (yamlfs_open(value, &tree, err) < 0)
        return -1;
    return yamlfs_write(tree, folder->fd, counts, err);
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

static void yaml_nodes_hold_yaml(void **state)
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
    {"{'..': x}", "'/..' is no file name"},
    {"{'.': x}", "is no file name"},
    {"{'': x}", "is no file name"},
    {"{'a/b': x}", "is no file name"},
    {"{'../../etc/x': x}", "is no file name"},
    {"{d: {'..': {a: x}}}", "'/d/..' is no file name"},
    {"{l: {$type: symlink, value: gone}}", "'l'"},
    {"{l: {$type: symlink}}", "symlink to nothing"},
    {"{l: {$type: symlink, value: l}}", "too many symlinks"},
    {"{l: {$type: symlink, value: m}, m: {$type: symlink, value: l}}", "too many symlinks"},
    {"{l: {$type: symlink, value: d}, d: {}}", "symlink to a directory"},
    {"{d: {$type: directory, value: x}}", "must be an object"},
    {"{a: {$type: file, value: 5}}", "expected a string"},
    {"{a: \"---Start Binary---\\n!\\n---End Binary---\"}", "'a'"},
    {"\"a: [\"", "line"},
};

static void names_and_links_that_lead_astray_are_refused(void **state)
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
            fail_msg("'%s' is not in '%s'", wrong[i].why, err.text);
        folder_remove(&folder);
    }
}

/* {d: {d: ... {}}} with this many directories. */
static json_t *nest(unsigned depth)
{
    json_t *tree = json_object();

    for (unsigned i = 0; i < depth; i++)
        tree = json_pack("{s:o}", "d", tree);
    return tree;
}

static void depth_is_bounded(void **state)
{
    for (unsigned over = 0; over <= 1; over++) {
        cleanup_json json_t *tree = nest(YAMLFS_DEPTH_MAX + over);
        struct folder folder = {0};
        struct yamlfs_counts counts = {0};
        struct error err = {0};

        (void)state;
        folder_make(&folder);
        assert_int_equal(yamlfs_write(tree, folder.fd, &counts, &err), over ? -1 : 0);
        assert_int_equal(err.kind, over ? ERROR_TOO_LARGE : ERROR_NONE);
        folder_remove(&folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_node_is_written),
        cmocka_unit_test(yaml_nodes_hold_yaml),
        cmocka_unit_test(names_and_links_that_lead_astray_are_refused),
        cmocka_unit_test(depth_is_bounded),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
