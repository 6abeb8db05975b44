/* SPDX-License-Identifier: Apache-2.0 */
/* What is watched. One allocation, and no URL: a process may have a hundred thousand watches, and
 * needs their URLs every few minutes at most. Private to common/kube. */
#pragma once

#include "common/kube/watch.h"

struct watch_target {
    const char *group, *version, *plural;                         /* in texts; group may be NULL */
    const char *namespace_name, *label_selector, *field_selector; /* or NULL */
    char texts[];
};

/* Copies what it needs of the options; *ret_target is freed with free(). ERROR_INVALID for names
 * that cannot be part of a URL. */
int watch_target_new(const struct kube_watch_options *options, const char *server,
                     struct watch_target **ret_target, struct error *err) must_check;
struct kube_resource watch_target_resource(const struct watch_target *target);
/* See kube_watch_url(). server is the one of watch_target_new(). Belongs to the caller. */
char *watch_target_url(const struct watch_target *target, const char *server, const char *version,
                       bool has_bookmarks, uint32_t seconds);
