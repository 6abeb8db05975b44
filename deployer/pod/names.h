/* SPDX-License-Identifier: Apache-2.0 */
/* Names, labels and annotations of all objects of an item. Deterministic, and unique for each item
 * whatever its name. */
#pragma once

#include <jansson.h>

#include "common/data/names.h"
#include "deployer/config/config.h"
#include "deployer/item/item.h"

struct object_names {
    char hash[NAME_HASH_SIZE]; /* of namespace/name: label LABEL_ITEM_HASH */
    char *pod;                 /* fixed, so that there is only one pod at a time */
    char *account;             /* ServiceAccount, Role and RoleBinding */
    char *input;               /* Secret of this job's inputs */
    char *pull;                /* Secret of this job's image pull credentials */
    char *state_prefix;        /* of new state Secrets; wait appends "-<uuid>-<number>" */
    char *report;              /* Secret in which wait says how far a snapshot is */
    /* Export Secret on the host cluster. The Go controller expects "NS-N-export", which is
     * ambiguous (a-b/c, a/b-c): if two known items share it, use host_export_own for both. Equal to
     * host_export_own if NS-N-export would be too long. */
    char *host_export, *host_export_own;
    char *selector;       /* label selector of everything of this item: "LABEL_ITEM_HASH=hash" */
    char *run_selector;   /* of objects that are removed after a run: "...,LABEL_ROLE=run" */
    char *state_selector; /* of the item's state Secrets, Go's included */
};

/* job may be NULL or "" if input and pull are not needed. */
void object_names_init(struct object_names *names, const char *namespace_name, const char *name,
                       const char *job);
void object_names_done(struct object_names *names);
static inline void object_names_donep(struct object_names *names)
{
    object_names_done(names);
}
#define cleanup_object_names __attribute__((cleanup(object_names_donep)))

/* Go's default labels (deployer-id, name, item name and namespace) and our hash. New reference. */
json_t *object_labels(const struct deployer_config *config, const char *namespace_name,
                      const char *name);
/* Full names and uid of the item. New reference. */
json_t *object_annotations(const struct item *item);
/* {"apiVersion", "kind", "metadata": {name, namespace, labels, annotations}}. New reference. */
json_t *object_new(const char *api_version, const char *kind, const char *name,
                   const struct deployer_config *config, const struct item *item);
