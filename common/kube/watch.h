/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and then watches a collection until stopped. Reconnects with back-off and jitter, lists
 * again after 410 Gone, and survives token rotation, outages of the API server and restores of
 * etcd. Objects are passed on as they are received and not stored, so memory is bounded by one
 * object. */
#pragma once

#include <jansson.h>

#include "common/base/hash_table.h"
#include "common/kube/client.h"

enum kube_event {
    KUBE_EVENT_LISTING, /* a list begins; an earlier, incomplete one is void */
    KUBE_EVENT_LISTED,  /* an object of the list (each list contains all objects) */
    KUBE_EVENT_SYNCED,  /* the list is complete: objects that were not listed are gone */
    KUBE_EVENT_ADDED,
    KUBE_EVENT_MODIFIED,
    KUBE_EVENT_DELETED,
    /* The stream broke or access was denied, for the reason in err. It is retried. */
    KUBE_EVENT_BROKEN,
    /* The server's state is older than what it has already reported: etcd was restored from a
     * backup. Later changes may be undone, and their resourceVersions will be used again, so all
     * known versions are void. A list follows. */
    KUBE_EVENT_REWOUND,
};

/* object is borrowed; NULL for events that are not about one object. err is set for BROKEN, and for
 * an object that could not be parsed completely (nested too deep, for example) and so has only its
 * metadata; else NULL. May start and cancel calls and stop watches, but must not run the loop
 * (kube_perform()). */
typedef void kube_watch_fn(void *data, enum kube_event event, const json_t *object,
                           const struct error *err);

/* Whether this version of an object is known already, for example from the response to a write. */
typedef bool kube_known_fn(void *data, const char *namespace_name, const char *name,
                           const char *resource_version);

/* The options that watches have in common, stored once: thousands of clusters have the same
 * watches. Zeroed: empty. */
struct kube_watch_pool {
    struct hash_table targets;
};
void kube_watch_pool_done(struct kube_watch_pool *pool); /* all its watches have been stopped */

struct kube_watch_options {
    struct kube_resource resource;
    const char *namespace_name; /* NULL: all */
    const char *label_selector, *field_selector;
    bool is_watch_only;    /* no list (needs no permission for it): existing objects are ADDED */
    bool is_metadata_only; /* PartialObjectMetadata */
    /* Members that on_event does not need and that are not parsed: "a" or "a.b", terminated by
     * NULL. Deleted objects then also lack spec and status. Borrowed as long as the watch lives, or
     * NULL.
     */
    const char *const *skipped_members;
    kube_known_fn *is_known; /* known versions cause no event and are not parsed; or NULL */
    /* There is no list at first: what was changed after this resourceVersion is reported. Borrowed
     * until kube_watch_start() returns; NULL: a list comes first. */
    const char *start_version;
    size_t page_size;                      /* 0: 500 */
    uint32_t retry_first_ms, retry_max_ms; /* 0: 200 ms, 30 s */
    /* The server is asked to end a stream after this plus a random part of it, so that watches that
     * began together are not renewed together. 0: 300 s. */
    uint32_t stream_s;
    /* The server sends no bookmarks. A stream without events then continues from an old version,
     * which the server may have forgotten (410), so that it is listed again; and it is noticed only
     * at its end that the stream stalls. For whoever has so many watches that bookmarks are most of
     * the load, and a watch with bookmarks on the same connection, see on_stalled. */
    bool is_without_bookmarks;
    /* Nothing, not even a bookmark, was received for too long on a stream with bookmarks, which is
     * being renewed: streams of the same server without bookmarks should be, too. NULL is fine. */
    void (*on_stalled)(void *data);
    struct kube_watch_pool *pool; /* borrowed as long as the watch lives, or NULL */
    kube_watch_fn *on_event;
    void *data;
};

struct kube_watch;

int kube_watch_start(struct kube *kube, const struct kube_watch_options *options,
                     struct kube_watch **ret_watch, struct error *err) must_check;
/* Begins a new stream where the present one is, if there is one. Not from inside on_event. */
void kube_watch_renew(struct kube_watch *watch);
/* The options, without start_version, data, pool and is_without_bookmarks. Borrowed. */
const struct kube_watch_options *kube_watch_get_options(const struct kube_watch *watch);
/* Asks for bookmarks from the next stream on. */
void kube_watch_want_bookmarks(struct kube_watch *watch);
/* Time since an object, a bookmark (about one per minute) or a list was received; error responses
 * do not count. 0 for NULL. */
uint64_t kube_watch_idle_ms(const struct kube_watch *watch);
void kube_watch_stop(struct kube_watch *watch); /* NULL is fine; also from inside on_event */
