/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a collection page by page. Each object is passed on as soon as it has been received, so
 * memory is bounded by one object, not by a page. */
#pragma once

#include <jansson.h>

#include "common/kube/client.h"

struct kube_list;

/* object is borrowed. err is NULL; or set if only the metadata could be parsed (object.h); or set
 * with object NULL if an object was too large and is skipped. */
typedef void kube_item_fn(void *data, const json_t *object, const struct error *err);
/* Called exactly once, from the loop, unless cancelled. On success err->kind is ERROR_NONE and
 * resource_version (borrowed) is that of the list. After a failure the objects passed on so far are
 * not the complete list; ERROR_GONE means that the snapshot has expired: start over. */
typedef void kube_listed_fn(void *data, const char *resource_version, const struct error *err);

struct kube_list_options {
    struct kube_resource resource;
    const char *namespace_name; /* NULL: all */
    const char *label_selector, *field_selector;
    bool is_metadata_only;              /* PartialObjectMetadata */
    const char *const *skipped_members; /* as in struct kube_watch_options */
    size_t page_size;                   /* 0: 500 */
    bool is_first_page_only;
    bool is_not_retried;   /* else a page is requested up to 5 more times after temporary errors */
    kube_item_fn *on_item; /* NULL: only resource_version is of interest */
    kube_listed_fn *on_done;
    void *data;
};

int kube_list_start(struct kube *kube, const struct kube_list_options *options,
                    struct kube_list **ret_list, struct error *err) must_check;
/* NULL is fine; also from inside on_item. on_done is not called. */
void kube_list_cancel(struct kube_list *list);

/* Runs the loop until the list is complete or has failed. Not from inside a callback of this
 * client.
 */
int kube_list_perform(struct kube *kube, const struct kube_list_options *options, struct error *err)
    must_check;
