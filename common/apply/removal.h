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

enum removal_group_type {
    REMOVAL_NAMESPACED, /* of the recorded objects: those with a namespace, without CRDs */
    REMOVAL_CLUSTER_SCOPED,
    REMOVAL_CRDS,
    REMOVAL_NOTHING,  /* "empty" */
    REMOVAL_CUSTOM,   /* recorded objects that match one of the resources */
    REMOVAL_ALL,      /* every object of the cluster that matches, recorded or not */
    REMOVAL_SELECTED, /* objects that match a resource and match_labels, recorded or not */
};

/* Empty lists match all. kind and api_version are compared literally. */
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

struct removal_options {
    struct cluster *cluster;
    /* The clusters of groups with a target_name, parallel to groups; NULL elements: cluster. */
    struct cluster *const *group_clusters;
    const struct removal_group *groups; /* borrowed until on_done or removal_cancel() */
    size_t group_count;
    const struct inventory *entries; /* what is to be removed; borrowed likewise */
    struct apply_owner owner;
    const char *field_manager;
    kube_may_send_fn *may_send;
    const void *may_send_data;
    /* An object is gone, or is left alone (verdict and message): it may leave the stored list. */
    void (*on_removed)(void *data, const struct object_ref *ref, enum removal_verdict verdict);
    /* All groups are done. Entries that no group took are not in on_removed: they stay. */
    void (*on_done)(void *data);
    void *data;
};

struct removal;
int removal_start(const struct removal_options *options, struct removal **ret_removal,
                  struct error *err) must_check;
void removal_cancel(struct removal *removal); /* NULL is fine */
/* What it waits for, with kind, name, finalizers and the server's last message for up to five
 * objects; NULL: nothing. Belongs to the caller. */
char *removal_describe(const struct removal *removal);
/* The last error that the server reported for a DELETE or a watch; ERROR_NONE: none. */
const struct error *removal_error(const struct removal *removal);
