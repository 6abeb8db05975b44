/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/owner.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/names.h"

enum owner owner_of(const struct deployer_config *config, const json_t *object)
{
    cleanup_free char *identity = name_label_value(config->identity);
    const char *id = object_label(object, LABEL_DEPLOYER_ID);
    const char *mark = object_label(object, LABEL_LANDSCAPER);

    if (!id)
        return OWNER_UNSAID;
    if (strcmp(id, identity) != 0)
        return OWNER_THEIRS;
    /* A configured identity is unique by contract. */
    if (*identity)
        return OWNER_OURS;
    if (!mark)
        return OWNER_UNSAID;
    return strcmp(mark, config->landscaper_mark) == 0 ? OWNER_OURS : OWNER_THEIRS;
}

bool owner_is_neighbour(const struct deployer_config *config, const json_t *object,
                        const char *item_uid)
{
    const char *uid = object_annotation(object, ANNOTATION_ITEM_UID);

    if (owner_of(config, object) != OWNER_THEIRS)
        return false;
    return !uid || !item_uid || strcmp(uid, item_uid) != 0;
}

bool owner_is_list_shared(const struct deployer_config *config, const json_t *list,
                          const char *item_uid)
{
    const json_t *object = NULL;
    size_t i = 0;

    json_array_foreach(doc_member(list, "items"), i, object)
    {
        if (owner_is_neighbour(config, object, item_uid))
            return true;
    }
    return false;
}

const char *owner_former_id(const struct deployer_config *config, const json_t *list,
                            const char *item_uid)
{
    cleanup_free char *identity = name_label_value(config->identity);
    const json_t *object = NULL;
    size_t i = 0;

    json_array_foreach(doc_member(list, "items"), i, object)
    {
        const char *id = object_label(object, LABEL_DEPLOYER_ID);

        if (id && strcmp(id, identity) != 0 && !owner_is_neighbour(config, object, item_uid))
            return id;
    }
    return NULL;
}

char *owner_item_selector(const char *namespace_name, const char *name)
{
    cleanup_free char *name_value = name_label_value(name);
    cleanup_free char *namespace_value = name_label_value(namespace_name);

    return xasprintf(LABEL_ITEM_NAME "=%s," LABEL_ITEM_NAMESPACE "=%s", name_value,
                     namespace_value);
}

/* With an empty identity, and another deployer's objects of the same name, the mark has to match.
 */
static char *own_selector(const struct deployer_config *config, const char *of_item,
                          const struct owner_item *item)
{
    cleanup_free char *identity = name_label_value(config->identity);

    if (item->is_shared && !*identity)
        return xasprintf("%s," LABEL_DEPLOYER_ID "=," LABEL_LANDSCAPER "=%s", of_item,
                         config->landscaper_mark);
    if (!item->is_shared && item->former_id)
        return xasprintf("%s," LABEL_DEPLOYER_ID " in (%s,%s)", of_item, identity, item->former_id);
    return xasprintf("%s," LABEL_DEPLOYER_ID "=%s", of_item, identity);
}

/* The ServiceAccount is removed last: it tells the garbage collector which deployer the other
 * objects belong to. */
static const struct kube_resource *const own_kinds[] = {
    &KUBE_SECRETS, &KUBE_CONFIG_MAPS, &KUBE_ROLE_BINDINGS, &KUBE_ROLES, &KUBE_SERVICE_ACCOUNTS};

enum { STEP_STATE, STEP_GO_EXPORT, STEP_OWN };

bool owner_collection_init(struct owner_collection *collection,
                           const struct deployer_config *config, const struct owner_item *item,
                           size_t step)
{
    cleanup_free char *of_item = owner_item_selector(item->namespace_name, item->name);
    cleanup_free char *name_value = name_label_value(item->name);
    cleanup_object_names struct object_names names = {0};
    size_t number = item->is_shared ? step + STEP_OWN : step;

    *collection = (struct owner_collection){.resource = KUBE_SECRETS};
    switch (number) {
    case STEP_STATE:
        collection->label_selector = xasprintf("%s,!" LABEL_DEPLOYER_ID, of_item);
        return true;
    case STEP_GO_EXPORT:
        /* Its only label is the item's name, and two items can share its own name. */
        object_names_init(&names, item->namespace_name, item->name, NULL);
        collection->label_selector = xasprintf(LABEL_NAME "=%s,!" LABEL_DEPLOYER_ID, name_value);
        collection->field_selector = xasprintf("metadata.name=%s", names.host_export);
        return true;
    default:
        if (number - STEP_OWN >= array_length(own_kinds))
            return false;
        collection->resource = *own_kinds[number - STEP_OWN];
        collection->label_selector = own_selector(config, of_item, item);
        return true;
    }
}

void owner_collection_done(struct owner_collection *collection)
{
    free(collection->label_selector);
    free(collection->field_selector);
    *collection = (struct owner_collection){0};
}
