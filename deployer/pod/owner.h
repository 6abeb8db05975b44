/* SPDX-License-Identifier: Apache-2.0 */
/* Whose an object on the host is. Deployers of several Landscapers may share a namespace there, and
 * items of one name may be there in each of them. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/kube/client.h"
#include "deployer/config/config.h"

enum owner {
    OWNER_OURS,
    OWNER_UNSAID, /* anybody's: no deployer-id, or the empty one without a mark (the Go deployer) */
    OWNER_THEIRS,
};

enum owner owner_of(const struct deployer_config *config, const json_t *object);
/* Another deployer's, and not even of this item: who was renamed, or reaches the Landscaper by
 * another way than before, knows the objects of its items by the uid, which no other item has. */
bool owner_is_neighbour(const struct deployer_config *config, const json_t *object,
                        const char *item_uid);
/* One of the list's objects is another deployer's; item_uid NULL: nobody knows the item's. */
bool owner_is_list_shared(const struct deployer_config *config, const json_t *list,
                          const char *item_uid);
/* What we were called when we made one of the list's objects for this very item; NULL: as today.
 * Borrowed from the list. */
const char *owner_former_id(const struct deployer_config *config, const json_t *list,
                            const char *item_uid);

/* Everything of an item, by the labels that the Go deployer's objects carry as well as ours.
 * Belongs to the caller. */
char *owner_item_selector(const char *namespace_name, const char *name);

/* What goes with an item, one request after the other. */
struct owner_collection {
    struct kube_resource resource;
    char *label_selector, *field_selector; /* field_selector may be NULL */
};

/* Whose. is_shared: an account of an item of that name is another deployer's (everybody makes one,
 * first of all, and removes it last). Then only what says that it is ours goes, and state and
 * exports, which say nothing, stay. */
struct owner_item {
    const char *namespace_name, *name;
    bool is_shared;
    const char *former_id; /* owner_former_id(), or NULL */
};

/* False: there is no such step. */
bool owner_collection_init(struct owner_collection *collection,
                           const struct deployer_config *config, const struct owner_item *item,
                           size_t step);
void owner_collection_done(struct owner_collection *collection);
static inline void owner_collection_donep(struct owner_collection *collection)
{
    owner_collection_done(collection);
}
#define cleanup_owner_collection __attribute__((cleanup(owner_collection_donep)))
