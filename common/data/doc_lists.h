/* SPDX-License-Identifier: Apache-2.0 */
/* Documents with long lists, read without holding those in memory: a tree takes a dozen bytes for
 * each byte of its text, and more if somebody wants it to. */
#pragma once

#include "common/data/doc.h"

struct doc_list_path {
    const char *keys[2]; /* {"component", "resources"}: a member of a member of the document */
};

struct doc_lists {
    const struct doc_list_path *paths;
    size_t count;
    /* What the rest of the document and one element may take together, by an estimate of the
     * tree's own size. More is ERROR_TOO_LARGE. */
    size_t tree_max_bytes;
    /* Nothing has been handed over, or what has been is void: the text is read from its start. */
    void (*on_begin)(void *data);
    /* The elements of a list in their order; list is an index of paths. Borrowed. */
    void (*on_element)(void *data, size_t list, const json_t *element);
    void *data;
};

/* Reads what doc_parse_yaml() reads and refuses what it refuses. The lists stand in *ret_doc, but
 * empty: their elements went to on_element(). */
int doc_parse_yaml_lists(const char *text, size_t size, size_t max_bytes,
                         const struct doc_lists *lists, json_t **ret_doc, struct error *err)
    must_check;
