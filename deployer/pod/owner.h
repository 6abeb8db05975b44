/* SPDX-License-Identifier: Apache-2.0 */
/* Which deployer an object of the host cluster belongs to. Deployers of several Landscapers may
 * share a host namespace, and each of them may have an item of the same name. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/kube/client.h"
#include "deployer/config/config.h"

enum owner {
    OWNER_OURS,
    OWNER_UNSAID, /* no deployer-id; or the empty one without a mark, as the Go deployer writes it
                   */
    OWNER_THEIRS,
};

enum owner owner_of(const struct deployer_config *config, const json_t *object);
/* The object belongs to another deployer, and not to this item either. A deployer that was renamed,
 * or reaches its Landscaper under another address, still recognises the objects of its items by the
 * item's uid. */
bool owner_is_neighbour(const struct deployer_config *config, const json_t *object,
                        const char *item_uid);
/* One of the list's objects is another deployer's. item_uid may be NULL: unknown. */
bool owner_is_list_shared(const struct deployer_config *config, const json_t *list,
                          const char *item_uid);
/* The identity under which this deployer made one of the list's objects for this very item; NULL:
 * the present one. Borrowed from the list. */
const char *owner_former_id(const struct deployer_config *config, const json_t *list,
                            const char *item_uid);

/* A selector of all objects of an item, by the labels that the Go deployer sets as well. Belongs to
 * the caller. */
char *owner_item_selector(const char *namespace_name, const char *name);

/* A collection of objects that is removed with an item; one request each. */
struct owner_collection {
    struct kube_resource resource;
    char *label_selector, *field_selector; /* field_selector may be NULL */
};

/* is_shared: the account of an item of the same name is another deployer's. Then only objects that
 * carry our identity are removed; state and exports, which name no deployer, stay. */
struct owner_item {
    const char *namespace_name, *name;
    bool is_shared;
    const char *former_id; /* owner_former_id(), or NULL */
};

/* The collection to remove in a step, counted from 0. False: there is no such step. */
bool owner_collection_init(struct owner_collection *collection,
                           const struct deployer_config *config, const struct owner_item *item,
                           size_t step);
void owner_collection_done(struct owner_collection *collection);
static inline void owner_collection_donep(struct owner_collection *collection)
{
    owner_collection_done(collection);
}
#define cleanup_owner_collection __attribute__((cleanup(owner_collection_donep)))
