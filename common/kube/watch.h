/* SPDX-License-Identifier: Apache-2.0 */
/* List, then watch, for ever: reconnects with back-off and jitter, starts over after 410, survives
 * token rotation and an API server that is away. Memory is bounded by one object: they are handed
 * on one by one as the bytes come and never kept. */
#pragma once

#include <jansson.h>

#include "common/kube/client.h"

enum kube_event {
    KUBE_EVENT_LISTING, /* a list begins. What an earlier one has listed does not count any more */
    KUBE_EVENT_LISTED,  /* an object of the list (each new list repeats all) */
    KUBE_EVENT_SYNCED,  /* the list is complete. What it has not listed is gone */
    KUBE_EVENT_ADDED,
    KUBE_EVENT_MODIFIED,
    KUBE_EVENT_DELETED,
    /* The stream was lost, or access is denied; err says why; we go on trying. */
    KUBE_EVENT_BROKEN,
    /* The server's state is older than what it has told already (etcd was put back to a backup):
     * what was told since may be undone, and its versions are given out a second time. All that is
     * known of versions is void; a list follows. */
    KUBE_EVENT_REWOUND,
};

/* object is borrowed and is NULL for all that is not about one. err is NULL but for BROKEN, and for
 * an object that could not be read as a whole (nested too deep, say): that one has no more than its
 * metadata. May start and cancel calls and stop watches; must not run the loop (kube_perform()). */
typedef void kube_watch_fn(void *data, enum kube_event event, const json_t *object,
                           const struct error *err);

/* Whether this very version of an object is known already, from the answer to a write say. */
typedef bool kube_known_fn(void *data, const char *namespace_name, const char *name,
                           const char *resource_version);

struct kube_watch_options {
    struct kube_resource resource;
    const char *namespace_name; /* NULL: all */
    const char *label_selector, *field_selector;
    bool is_watch_only;    /* no list: start with what the server's cache holds, as ADDED */
    bool is_metadata_only; /* PartialObjectMetadata */
    /* What on_event never looks at need not be parsed: "a" or "a.b", NULL at the end. What is
     * deleted then comes without spec and status, too. Lives as long as the watch; may be NULL. */
    const char *const *left_out;
    kube_known_fn *is_known; /* then there is no event, nor the work for it; or NULL */
    size_t page_size;        /* 0: 500 */
    uint32_t retry_first_ms, retry_max_ms; /* 0: 200 ms, 30 s */
    kube_watch_fn *on_event;
    void *data;
};

struct kube_watch;

int kube_watch_start(struct kube *kube, const struct kube_watch_options *options,
                     struct kube_watch **ret_watch, struct error *err) must_check;
/* How long ago the server last told it anything: an object, a bookmark (one comes every minute or
 * so), a list. What it says in refusing does not count. NULL: 0. */
uint64_t kube_watch_silent_ms(const struct kube_watch *watch);
void kube_watch_stop(struct kube_watch *watch); /* NULL is fine; also from inside on_event */
