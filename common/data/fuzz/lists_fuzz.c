/* SPDX-License-Identifier: Apache-2.0 */
/* A document whose lists are handed over is the document that is read as one tree: the same
 * elements, the same rest, the same error. With less memory it is that, or refused as too large. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc_lists.h"

enum { SIZE_LIMIT = 1 << 20, SMALL_TREE = 4096 };

static const struct doc_list_path paths[] = {{{"a", "l"}}, {{"a", "m"}}, {{"b", "l"}}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true)
{
    if (!is_true)
        abort();
}

struct collected {
    json_t *lists[array_length(paths)];
};

static void begin(void *data)
{
    struct collected *collected = data;

    for (size_t i = 0; i < array_length(paths); i++) {
        json_decref(collected->lists[i]);
        collected->lists[i] = json_array();
    }
}

static void collect(void *data, size_t list, const json_t *element)
{
    struct collected *collected = data;

    insist(list < array_length(paths));
    (void)json_array_append_new(collected->lists[list], json_deep_copy(element));
}

/* Puts the elements back into the tree. */
static void put_back(const struct collected *collected, const json_t *doc)
{
    for (size_t i = 0; i < array_length(paths); i++) {
        json_t *list = json_object_get(doc_member(doc, paths[i].keys[0]), paths[i].keys[1]);

        insist(json_array_size(list) == 0);
        insist(json_is_array(list) || json_array_size(collected->lists[i]) == 0);
        if (json_is_array(list))
            (void)json_array_extend(list, collected->lists[i]);
    }
}

static void is_same(const uint8_t *data, size_t size, size_t tree_max_bytes, const json_t *whole,
                    const struct error *whole_err)
{
    struct collected collected = {0};
    const struct doc_lists lists = {.paths = paths,
                                    .count = array_length(paths),
                                    .tree_max_bytes = tree_max_bytes,
                                    .on_begin = begin,
                                    .on_element = collect,
                                    .data = &collected};
    cleanup_json json_t *doc = NULL;
    struct error err = {0};
    int result = doc_parse_yaml_lists((const char *)data, size, SIZE_LIMIT, &lists, &doc, &err);

    if (result == 0) {
        insist(whole != NULL);
        put_back(&collected, doc);
        insist(json_equal(doc, whole));
    } else if (tree_max_bytes == SIZE_MAX || err.kind != ERROR_TOO_LARGE) {
        insist(!whole && err.kind == whole_err->kind && strcmp(err.text, whole_err->text) == 0);
    }
    for (size_t i = 0; i < array_length(paths); i++)
        json_decref(collected.lists[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *whole = NULL;
    struct error err = {0};

    (void)!doc_parse_yaml((const char *)data, size, SIZE_LIMIT, &whole, &err);
    is_same(data, size, SIZE_MAX, whole, &err);
    is_same(data, size, SMALL_TREE, whole, &err);
    return 0;
}
