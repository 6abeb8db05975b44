/* SPDX-License-Identifier: Apache-2.0 */
/* A whole collection, page by page, each object handed on as soon as its last byte is there: memory
 * is bounded by one object, whatever the size of a page. */
#pragma once

#include <jansson.h>

#include "common/kube/client.h"

struct kube_list;

/* object is borrowed. err is NULL, or says that only the metadata could be read, or (object is
 * NULL) that an object was too large to be read at all. */
typedef void kube_item_fn(void *data, const json_t *object, const struct error *err);
/* Exactly once, from the loop, unless cancelled. err->kind is ERROR_NONE and resource_version (of
 * the whole, borrowed) is set if the list is complete, or as much of it as was wanted. After a
 * failure the objects handed on so far are no complete list; ERROR_GONE: it took too long, start
 * over. */
typedef void kube_listed_fn(void *data, const char *resource_version, const struct error *err);

struct kube_list_options {
    struct kube_resource resource;
    const char *namespace_name; /* NULL: all */
    const char *label_selector, *field_selector;
    bool is_metadata_only;       /* PartialObjectMetadata */
    const char *const *left_out; /* as of a watch */
    size_t page_size;            /* 0: 500 */
    bool is_first_page_only;
    bool is_not_retried; /* else a page is asked for up to 5 more times after TEMPORARY failures */
    kube_item_fn *on_item; /* NULL: what is wanted is the version alone */
    kube_listed_fn *on_done;
    void *data;
};

int kube_list_start(struct kube *kube, const struct kube_list_options *options,
                    struct kube_list **ret_list, struct error *err) must_check;
void kube_list_cancel(struct kube_list *list); /* NULL is fine; also from inside on_item */

/* Runs the loop until the list is complete; for programs that do one thing after another. */
int kube_list_perform(struct kube *kube, const struct kube_list_options *options, struct error *err)
    must_check;
