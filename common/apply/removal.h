/* SPDX-License-Identifier: Apache-2.0 */
/* Removes recorded objects, group after group; a group is done when all its objects are gone.
 *
 * An object is deleted with its uid as precondition and background propagation, after its
 * before-delete annotations and patch were written. Objects that were replaced or belong to another
 * owner now are left alone and leave the inventory. Waiting for the end uses watches. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/apply/cluster.h"
#include "common/apply/inventory.h"

enum {
    REMOVAL_PARALLEL_MAX = 16, /* requests at a time; objects that are waited for do not count */
    /* Objects that a group with REMOVAL_ALL or REMOVAL_SELECTED removes at a time. If there are
     * more, it lists again when these are gone. */
    REMOVAL_LISTED_MAX = 10000,
};

enum removal_group_type {
    REMOVAL_NAMESPACED, /* of the recorded objects: those with a namespace, without CRDs */
    REMOVAL_CLUSTER_SCOPED,
    REMOVAL_CRDS,
    REMOVAL_NOTHING, /* "empty" */
    REMOVAL_CUSTOM,  /* recorded objects that match one of the resources */
    /* Every object of the cluster that matches, recorded or not, whoever owns it. It takes the
     * recorded objects that match, unless it has a target_name. */
    REMOVAL_ALL,
    /* The same with match_labels in addition; it takes no recorded objects: if it removes one, a
     * later group finds it gone. */
    REMOVAL_SELECTED,
};

/* Empty lists match all, but an object without a namespace does not match a list of namespaces.
 * kind and api_version are compared literally. */
struct removal_resource {
    char *api_version, *kind;
    char **names, **namespaces; /* terminated by NULL; NULL: all */
};

struct removal_group {
    enum removal_group_type type;
    struct removal_resource *resources;
    size_t resource_count;
    json_t *match_labels; /* REMOVAL_SELECTED; object or NULL */
    bool is_force;        /* remove finalizers after the DELETE */
    bool is_wait_only;    /* REMOVAL_SELECTED: delete nothing, wait until they are gone */
    char *target_name;    /* another cluster: REMOVAL_ALL and REMOVAL_SELECTED; NULL: the item's */
};

void removal_group_done(struct removal_group *group);
/* The groups that apply if none are given: namespaced, cluster-scoped, CRDs. Static. */
extern const struct removal_group REMOVAL_DEFAULT_GROUPS[3];

/* Everything is borrowed until on_done or removal_cancel(). */
struct removal_options {
    struct cluster *cluster;
    /* The clusters of groups with a target_name, parallel to groups; NULL elements: cluster. */
    struct cluster *const *group_clusters;
    const struct removal_group *groups;
    size_t group_count;
    const struct inventory *entries; /* what is to be removed */
    struct apply_owner owner;
    const char *field_manager; /* of the writes before a DELETE */
    kube_may_send_fn *may_send;
    const void *may_send_data;
    /* A recorded object is gone (REMOVAL_DELETE) or is left alone (the other verdicts): it may
     * leave the stored list. Called once for each object that a group took and, before the first
     * group, for those whose policy is to keep them; no group removes these. */
    void (*on_removed)(void *data, const struct object_ref *ref, enum removal_verdict verdict);
    /* All groups are done, and the removal is freed. Entries that no group took were not passed to
     * on_removed: they stay. */
    void (*on_done)(void *data);
    void *data;
};

struct removal;
/* Callbacks come from the loop, never from inside removal_start(). What fails is retried until it
 * succeeds or the removal is cancelled. ERROR_INVALID: a group has a target_name, but no cluster;
 * or a REMOVAL_SELECTED group is not limited by labels, names or namespaces. */
int removal_start(const struct removal_options *options, struct removal **ret_removal,
                  struct error *err) must_check;
/* NULL is fine; also from inside on_removed; not after on_done. Requests that were sent may still
 * take effect. */
void removal_cancel(struct removal *removal);
/* What it waits for, with kind, name, finalizers and the server's last message for up to five
 * objects; NULL: nothing. Belongs to the caller. */
char *removal_describe(const struct removal *removal);
/* The last error that the server reported for something that the removal still waits for;
 * ERROR_NONE: none. */
const struct error *removal_error(const struct removal *removal);
