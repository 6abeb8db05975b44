/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises an object that did not change since it was applied; merge.h explains how. */
#include <string.h>

#include "common/apply/merge_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* To be changed when the same manifest has another effect. */
#define FORMAT "1"

/* Whether the manifest determines the whole object, and not only the members that it has. */
static bool is_replacing(enum update_strategy strategy)
{
    return strategy == STRATEGY_UPDATE || strategy == STRATEGY_PATCH;
}

static char *hash_desired(const json_t *desired, enum update_strategy strategy)
{
    cleanup_json json_t *value = json_pack("[s, s, O]", FORMAT, strategy_name(strategy), desired);

    return merge_hash(value);
}

/* The members of live that the manifest has, too. A new reference. */
static json_t *common_part(const json_t *live, const json_t *manifest)
{
    json_t *common = json_object();
    const char *key = NULL;
    json_t *wanted = NULL;

    doc_foreach(manifest, key, wanted)
    {
        json_t *present = json_object_get(live, key);

        if (json_is_object(present) && json_is_object(wanted))
            (void)json_object_set_new_nocheck(common, key, common_part(present, wanted));
        else if (present)
            (void)json_object_set_nocheck(common, key, present);
    }
    return common;
}

/* live without the status and what others may write. A new reference. */
static json_t *own_part(const json_t *live, const json_t *desired)
{
    cleanup_json json_t *kept = merge_kept_part(live, desired);
    cleanup_json json_t *reduced = merge_without_server_members(live);
    json_t *copy = NULL;
    json_t *metadata = NULL;

    (void)json_object_del(reduced, "status");
    copy = json_deep_copy(reduced);
    metadata = json_object_get(copy, "metadata");
    (void)json_object_del(metadata, "finalizers");
    (void)json_object_del(metadata, "ownerReferences");
    merge_subtract(copy, kept);
    return copy;
}

static char *hash_live(const json_t *live, const json_t *desired, enum update_strategy strategy)
{
    cleanup_json json_t *part = NULL;

    if (is_replacing(strategy)) {
        part = own_part(live, desired);
    } else {
        cleanup_json json_t *known = merge_without_server_members(live);

        part = common_part(known, desired);
    }
    return merge_hash(part);
}

bool merge_is_recorded(const json_t *live, const json_t *desired, enum update_strategy strategy,
                       const struct inventory_entry *entry)
{
    cleanup_free char *desired_hash = NULL;
    cleanup_free char *live_hash = NULL;

    if (!entry || !entry->desired_hash || !entry->applied_hash)
        return false;
    desired_hash = hash_desired(desired, strategy);
    if (strcmp(desired_hash, entry->desired_hash) != 0)
        return false;
    live_hash = hash_live(live, desired, strategy);
    return strcmp(live_hash, entry->applied_hash) == 0 &&
           (!is_replacing(strategy) || merge_has_lists(live, desired, entry));
}

static void set_text(char **text, char *value)
{
    free(*text);
    *text = value;
}

static void set_list(json_t **list, const json_t *value)
{
    json_decref(*list);
    *list = json_array_size(value) > 0 ? json_deep_copy(value) : NULL;
}

void merge_note_applied(struct inventory_entry *entry, const json_t *manifest,
                        enum update_strategy strategy, const struct apply_owner *owner,
                        const json_t *annotations, const json_t *object)
{
    cleanup_json json_t *desired = merge_with_owner(manifest, owner);
    bool is_known = !is_replacing(strategy) || json_object_size(annotations) == 0;

    set_list(&entry->own_finalizers, doc_get(manifest, "metadata.finalizers"));
    set_list(&entry->own_owners, doc_get(manifest, "metadata.ownerReferences"));
    set_text(&entry->desired_hash, is_known ? hash_desired(desired, strategy) : NULL);
    set_text(&entry->applied_hash, is_known ? hash_live(object, desired, strategy) : NULL);
}
