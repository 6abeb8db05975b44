/* SPDX-License-Identifier: Apache-2.0 */
/* What is watched, and how: the options of a watch without what is its own. One allocation, shared
 * by all watches of a pool with the same options, and no URL: a process may have a hundred thousand
 * watches, and needs their URLs every few minutes at most. Private to common/kube. */
#pragma once

#include "common/kube/watch.h"

struct watch_target {
    struct hash_entry entry;
    struct kube_watch_pool *pool; /* NULL: it is not shared */
    size_t references;
    struct kube_watch_options options; /* data, pool and is_without_bookmarks are zero */
    char texts[];
};

/* Copies what it needs of the options, or finds an equal one in the pool of the options.
 * ERROR_INVALID for names that cannot be part of a URL. */
int watch_target_get(const struct kube_watch_options *options, const char *server,
                     struct watch_target **ret_target, struct error *err) must_check;
void watch_target_put(struct watch_target *target);
/* version: NULL for none. Belongs to the caller. */
char *watch_target_url(const struct watch_target *target, const char *server, const char *version,
                       bool has_bookmarks, uint32_t seconds);
