/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/merge.h"

#include <string.h>

#include "common/apply/merge_internal.h"
#include "common/apply/word.h"
#include "common/data/doc.h"

static const char *const strategy_names[] = {
    [STRATEGY_UPDATE] = "update", [STRATEGY_PATCH] = "patch",
    [STRATEGY_MERGE] = "merge",   [STRATEGY_MERGE_OVERWRITE] = "mergeOverwrite",
    [STRATEGY_APPLY] = "apply",
};

const char *strategy_name(enum update_strategy strategy)
{
    return strategy_names[strategy];
}

int strategy_parse(const char *text, enum update_strategy *ret_strategy, struct error *err)
{
    int index = word_index(strategy_names, array_length(strategy_names), text);

    if (index < 0)
        return error_set(err, ERROR_INVALID,
                         "unknown update strategy \"%.64s\": expected update, patch, merge, "
                         "mergeOverwrite or apply",
                         text);
    *ret_strategy = (enum update_strategy)index;
    return 0;
}

/* The object at this path, which is created if it is missing or null; NULL if there is a value of
 * another type, which the server will reject. */
static json_t *make_object(json_t *parent, const char *key)
{
    json_t *value = json_object_get(parent, key);

    if (value && !json_is_null(value))
        return json_is_object(value) ? value : NULL;
    value = json_object();
    return json_object_set_new(parent, key, value) == 0 ? value : NULL;
}

static void set_member(json_t *object, const char *map, const char *key, const char *value)
{
    json_t *members = make_object(make_object(object, "metadata"), map);

    if (members)
        (void)json_object_set_new_nocheck(members, key, doc_new_text(value));
}

/* Changes the object. */
static void set_owner(json_t *object, const struct apply_owner *owner)
{
    set_member(object, "labels", owner->label_key, owner->label_value);
    if (owner->annotation_key)
        set_member(object, "annotations", owner->annotation_key, owner->annotation_value);
}

json_t *merge_with_owner(const json_t *manifest, const struct apply_owner *owner)
{
    json_t *object = json_deep_copy(manifest);

    set_owner(object, owner);
    return object;
}

json_t *merge_for_create(const json_t *manifest, const json_t *annotations,
                         const struct apply_owner *owner)
{
    cleanup_json json_t *known = merge_without_server_members(manifest);
    json_t *object = json_deep_copy(known);
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(annotations, key, value)
    {
        json_t *members = make_object(make_object(object, "metadata"), "annotations");

        if (members)
            (void)json_object_set_nocheck(members, key, value);
    }
    set_owner(object, owner);
    return object;
}

/* The metadata of the server as live has it. managedFields is left out: the server then keeps it.
 */
static void set_server_members(json_t *object, const json_t *live)
{
    const json_t *metadata = doc_member(live, "metadata");

    for (size_t i = 0; merge_server_members[i]; i++) {
        const char *key = merge_server_members[i];
        json_t *value = json_object_get(metadata, key);

        if (value && strcmp(key, "managedFields") != 0)
            (void)json_object_set(json_object_get(object, "metadata"), key, value);
    }
}

/* What STRATEGY_UPDATE and STRATEGY_PATCH make of live, without the metadata of the server. */
static json_t *replace(const json_t *live, const json_t *desired,
                       const struct inventory_entry *entry)
{
    cleanup_json json_t *known = merge_without_server_members(desired);
    cleanup_json json_t *kept = merge_kept_part(live, desired);
    json_t *object = json_deep_copy(known);
    json_t *status = json_object_get(live, "status");

    merge_overlay(object, kept);
    merge_keep_of_kind(object, live);
    merge_unite_lists(object, live, entry);
    if (status && !doc_member(object, "status"))
        (void)json_object_set(object, "status", status);
    return object;
}

/* The same for the strategies that merge. */
static json_t *combine(const json_t *live, const json_t *manifest, bool is_overwriting,
                       const struct apply_owner *owner)
{
    cleanup_json json_t *known_live = merge_without_server_members(live);
    cleanup_json json_t *known_manifest = merge_without_server_members(manifest);
    json_t *object = merge_objects(known_live, known_manifest, is_overwriting);

    set_owner(object, owner);
    if (is_overwriting)
        merge_unite_lists(object, live, NULL);
    return object;
}

/* The lists were made from live as it was read, so nobody may have changed them since. */
static void guard_lists(json_t *patch, const json_t *live)
{
    json_t *metadata = json_object_get(patch, "metadata");
    const json_t *version = doc_get(live, "metadata.resourceVersion");

    if (version && (doc_member(metadata, "finalizers") || doc_member(metadata, "ownerReferences")))
        (void)json_object_set(metadata, "resourceVersion", doc_writable(version));
}

struct merge_result merge_for_change(const json_t *live, const json_t *manifest,
                                     enum update_strategy strategy, const struct apply_owner *owner,
                                     const struct inventory_entry *entry)
{
    cleanup_json json_t *desired = merge_with_owner(manifest, owner);
    cleanup_json json_t *known_live = merge_without_server_members(live);
    cleanup_json json_t *wanted = NULL;

    if (merge_is_recorded(live, desired, strategy, entry))
        return (struct merge_result){0};
    if (strategy == STRATEGY_APPLY)
        return (struct merge_result){.is_changed = true,
                                     .body = merge_without_server_members(desired)};
    if (strategy == STRATEGY_UPDATE || strategy == STRATEGY_PATCH)
        wanted = replace(live, desired, entry);
    else
        wanted = combine(live, manifest, strategy == STRATEGY_MERGE_OVERWRITE, owner);
    if (merge_is_equal(known_live, wanted))
        return (struct merge_result){0};
    if (strategy == STRATEGY_PATCH) {
        json_t *patch = merge_patch_between(known_live, wanted);

        guard_lists(patch, live);
        return (struct merge_result){.is_changed = true, .is_patch = true, .body = patch};
    }
    set_server_members(wanted, live);
    return (struct merge_result){.is_changed = true, .body = json_incref(wanted)};
}

void merge_result_done(struct merge_result *result)
{
    json_decref(result->body);
    *result = (struct merge_result){0};
}
