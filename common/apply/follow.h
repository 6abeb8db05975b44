/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: follows an object that a reference names, or the objects that labels select.
 * The kind is looked up, then the object is watched. Both are retried until they succeed. */
#pragma once

#include "common/apply/cluster.h"

enum { FOLLOW_RETRY_FIRST_MS = 1000, FOLLOW_RETRY_MAX_MS = 30 * 1000 };

/* Strings and cluster are borrowed until follow_stop(). */
struct follow_options {
    struct cluster *cluster;
    const char *api_version, *kind_name;
    const struct kind *kind;    /* if it is known already; copied; else NULL */
    const char *namespace_name; /* ignored for one object of a cluster-scoped kind */
    const char *name;           /* NULL: the objects that match label_selector */
    const char *label_selector; /* NULL: all */
    /* If not NULL: called when the kind is found (borrowed), and nothing is watched. */
    void (*on_kind)(void *data, const struct kind *kind);
    /* As for cluster_watch(). In addition, it is called with an error if the kind cannot be looked
     * up. ERROR_NOT_FOUND without an object means that no such object can exist at present: the
     * kind is not in what the server serves, or the reference does not fit the scope of the kind.
     * Any other error says nothing about the object. A response 404 to the watch alone is
     * ERROR_TEMPORARY and leads to a lookup, since a proxy may have sent it. */
    cluster_object_fn *on_object;
    void *data;
};

struct follow;
/* The callbacks come from the loop, never from inside follow_start(). */
struct follow *follow_start(const struct follow_options *options) must_check;
void follow_stop(struct follow *follow); /* NULL is fine; also from inside a callback */
/* NULL: not found yet. Borrowed. */
const struct kind *follow_kind(const struct follow *follow);
