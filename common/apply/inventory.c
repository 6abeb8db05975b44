/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/inventory.h"

#include <string.h>

#include "common/apply/word.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

static const char *const policy_names[] = {
    [POLICY_MANAGE] = "manage",       [POLICY_FALLBACK] = "fallback", [POLICY_KEEP] = "keep",
    [POLICY_IMMUTABLE] = "immutable", [POLICY_IGNORE] = "ignore",
};

const char *policy_name(enum apply_policy policy)
{
    return policy_names[policy];
}

int policy_parse(const char *text, enum apply_policy *ret_policy, struct error *err)
{
    int index = word_index(policy_names, array_length(policy_names), text);

    if (index < 0)
        return error_set(err, ERROR_INVALID,
                         "unknown policy \"%.64s\": expected manage, fallback, keep, immutable or "
                         "ignore",
                         text);
    *ret_policy = (enum apply_policy)index;
    return 0;
}

void inventory_entry_done(struct inventory_entry *entry)
{
    object_ref_done(&entry->ref);
    json_decref(entry->annotate_before_delete);
    json_decref(entry->patch_before_delete);
    json_decref(entry->own_finalizers);
    json_decref(entry->own_owners);
    free(entry->desired_hash);
    free(entry->applied_hash);
    *entry = (struct inventory_entry){0};
}

struct inventory_entry inventory_entry_copy(const struct inventory_entry *entry)
{
    struct inventory_entry copy = *entry;

    copy.ref = object_ref_copy(&entry->ref);
    copy.annotate_before_delete = json_deep_copy(entry->annotate_before_delete);
    copy.patch_before_delete = json_deep_copy(entry->patch_before_delete);
    copy.own_finalizers = json_deep_copy(entry->own_finalizers);
    copy.own_owners = json_deep_copy(entry->own_owners);
    copy.desired_hash = xstrdup_or_null(entry->desired_hash);
    copy.applied_hash = xstrdup_or_null(entry->applied_hash);
    return copy;
}

void inventory_done(struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->count; i++)
        inventory_entry_done(&inventory->entries[i]);
    free(inventory->entries);
    json_decref(inventory->places);
    *inventory = (struct inventory){0};
}

/* ---- Places ---- */

/* Names and uids are keys of one object: a key of a name begins with a digit. */
static char *uid_key(const struct object_ref *ref)
{
    return ref->uid && *ref->uid ? xasprintf("u%s", ref->uid) : NULL;
}

static struct inventory_entry *entry_of_key(const struct inventory *inventory, const char *key)
{
    const json_t *place = key ? json_object_get(inventory->places, key) : NULL;

    return place ? &inventory->entries[json_integer_value(place)] : NULL;
}

/* Takes key over. */
static void set_place(struct inventory *inventory, char *key, size_t place)
{
    if (key)
        (void)json_object_set_new_nocheck(inventory->places, key, json_integer((json_int_t)place));
    free(key);
}

static void clear_place(struct inventory *inventory, const char *key, size_t place)
{
    if (entry_of_key(inventory, key) == &inventory->entries[place])
        (void)json_object_del(inventory->places, key);
}

static void set_places(struct inventory *inventory, size_t place)
{
    const struct object_ref *ref = &inventory->entries[place].ref;

    if (!inventory->places)
        inventory->places = json_object();
    set_place(inventory, object_ref_key(ref), place);
    set_place(inventory, uid_key(ref), place);
}

/* Leaves a gap, which has to be closed or filled. */
static struct inventory_entry take_out(struct inventory *inventory, size_t place)
{
    struct inventory_entry entry = inventory->entries[place];
    cleanup_free char *name = object_ref_key(&entry.ref);
    cleanup_free char *uid = uid_key(&entry.ref);

    clear_place(inventory, name, place);
    clear_place(inventory, uid, place);
    return entry;
}

/* The last entry moves to the place of one that was taken out. */
static void close_gap(struct inventory *inventory, size_t place)
{
    size_t last = --inventory->count;

    if (place == last)
        return;
    inventory->entries[place] = inventory->entries[last];
    set_places(inventory, place);
}

static struct inventory_entry *append(struct inventory *inventory, struct inventory_entry entry)
{
    if (!inventory->entries || inventory->count == inventory->capacity) {
        inventory->capacity = inventory->capacity ? inventory->capacity * 2 : 4;
        inventory->entries =
            xreallocarray(inventory->entries, inventory->capacity, sizeof(*inventory->entries));
    }
    inventory->entries[inventory->count] = entry;
    set_places(inventory, inventory->count);
    return &inventory->entries[inventory->count++];
}

void inventory_set_uid(struct inventory *inventory, struct inventory_entry *entry, const char *uid)
{
    size_t place = (size_t)(entry - inventory->entries);
    cleanup_free char *old = uid_key(&entry->ref);

    clear_place(inventory, old, place);
    free(entry->ref.uid);
    entry->ref.uid = xstrdup_or_null(uid);
    set_places(inventory, place);
}

/* ---- Changing ---- */

struct inventory inventory_copy(const struct inventory *inventory)
{
    struct inventory copy = {0};

    for (size_t i = 0; i < inventory->count; i++)
        (void)append(&copy, inventory_entry_copy(&inventory->entries[i]));
    return copy;
}

struct inventory inventory_copy_made(const struct inventory *inventory)
{
    struct inventory copy = {0};

    for (size_t i = 0; i < inventory->count; i++) {
        if (!inventory->entries[i].is_new)
            (void)append(&copy, inventory_entry_copy(&inventory->entries[i]));
    }
    return copy;
}

static bool has_element(const json_t *list, const json_t *element)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_equal(json_array_get(list, i), element))
            return true;
    }
    return false;
}

/* Adds the elements of other that *list does not have. The old *list is not changed, because it may
 * be part of a manifest. */
static void unite(json_t **list, const json_t *other)
{
    json_t *united = NULL;

    if (json_array_size(other) == 0)
        return;
    united = json_is_array(*list) ? json_copy(*list) : json_array();
    for (size_t i = 0; i < json_array_size(other); i++) {
        json_t *element = json_array_get(other, i);

        if (!has_element(united, element))
            (void)json_array_append(united, element);
    }
    json_decref(*list);
    *list = united;
}

static void keep_text(char **text, char **old)
{
    if (!*text)
        *text = steal(old);
}

static void keep_what_is_missing(struct inventory_entry *entry, struct inventory_entry *old)
{
    bool is_replaced = !object_ref_equal(&entry->ref, &old->ref);

    entry->is_new = entry->is_new && old->is_new;
    keep_text(&entry->ref.uid, &old->ref.uid);
    unite(&entry->own_finalizers, old->own_finalizers);
    unite(&entry->own_owners, old->own_owners);
    if (is_replaced)
        return;
    if (!entry->desired_hash && !entry->applied_hash) {
        keep_text(&entry->desired_hash, &old->desired_hash);
        keep_text(&entry->applied_hash, &old->applied_hash);
    }
}

struct inventory_entry *inventory_find(const struct inventory *inventory,
                                       const struct object_ref *ref)
{
    cleanup_free char *uid = uid_key(ref);
    struct inventory_entry *found = entry_of_key(inventory, uid);
    cleanup_free char *name = found ? NULL : object_ref_key(ref);

    return found ? found : entry_of_key(inventory, name);
}

/* Takes the entry out that the new one replaces. Returns its place. */
static size_t replace(struct inventory *inventory, const struct inventory_entry *old,
                      struct inventory_entry *entry)
{
    size_t place = (size_t)(old - inventory->entries);
    struct inventory_entry taken = take_out(inventory, place);

    keep_what_is_missing(entry, &taken);
    inventory_entry_done(&taken);
    return place;
}

struct inventory_entry *inventory_add(struct inventory *inventory, struct inventory_entry entry)
{
    const struct inventory_entry *old = inventory_find(inventory, &entry.ref);
    size_t place = 0;

    if (!old)
        return append(inventory, entry);
    place = replace(inventory, old, &entry);
    /* The uid may be that of one entry and the name that of another. */
    while ((old = inventory_find(inventory, &entry.ref))) {
        size_t other = replace(inventory, old, &entry);

        close_gap(inventory, other > place ? other : place);
        place = other < place ? other : place;
    }
    inventory->entries[place] = entry;
    set_places(inventory, place);
    return &inventory->entries[place];
}

void inventory_remove(struct inventory *inventory, const struct object_ref *ref)
{
    const struct inventory_entry *found = inventory_find(inventory, ref);
    struct inventory_entry taken = {0};
    size_t place = 0;

    if (!found || !object_ref_equal(&found->ref, ref))
        return;
    place = (size_t)(found - inventory->entries);
    taken = take_out(inventory, place);
    close_gap(inventory, place);
    inventory_entry_done(&taken);
}

static int group_of(const struct inventory_entry *entry)
{
    if (entry->is_crd)
        return 0;
    return entry->is_namespaced ? 2 : 1;
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_entries(const void *a_void, const void *b_void)
{
    const struct inventory_entry *a = a_void;
    const struct inventory_entry *b = b_void;
    int order = group_of(a) - group_of(b);

    order = order ? order : compare_texts(a->ref.kind, b->ref.kind);
    order = order ? order : compare_texts(a->ref.namespace_name, b->ref.namespace_name);
    order = order ? order : compare_texts(a->ref.name, b->ref.name);
    order = order ? order : compare_texts(a->ref.uid, b->ref.uid);
    return order ? order : compare_texts(a->ref.api_version, b->ref.api_version);
}

void inventory_sort(struct inventory *inventory)
{
    if (inventory->count > 0)
        qsort(inventory->entries, inventory->count, sizeof(*inventory->entries), compare_entries);
    for (size_t i = 0; i < inventory->count; i++)
        set_places(inventory, i);
}

struct inventory inventory_orphans(const struct inventory *before, const struct inventory *now)
{
    struct inventory orphans = {0};

    for (size_t i = 0; i < before->count; i++) {
        if (!inventory_find(now, &before->entries[i].ref))
            (void)append(&orphans, inventory_entry_copy(&before->entries[i]));
    }
    return orphans;
}

static const char *metadata_text(const json_t *object, const char *map, const char *key)
{
    return json_string_value(doc_member(doc_get(object, map), key));
}

static const char *label_of(const struct apply_owner *owner, const json_t *object)
{
    return metadata_text(object, "metadata.labels", owner->label_key);
}

static const char *annotation_of(const struct apply_owner *owner, const json_t *object)
{
    if (!owner->annotation_key)
        return NULL;
    return metadata_text(object, "metadata.annotations", owner->annotation_key);
}

bool owner_has_object(const struct apply_owner *owner, const json_t *object)
{
    return label_of(owner, object) && !owner_is_other(owner, object);
}

bool owner_is_other(const struct apply_owner *owner, const json_t *object)
{
    const char *label = label_of(owner, object);
    const char *annotation = annotation_of(owner, object);

    return (label && strcmp(label, owner->label_value) != 0) ||
           (annotation && strcmp(annotation, owner->annotation_value) != 0);
}

static bool is_kept(enum apply_policy policy)
{
    return policy == POLICY_KEEP || policy == POLICY_IGNORE;
}

enum removal_verdict removal_judge(const struct inventory_entry *entry, const json_t *live,
                                   const struct apply_owner *owner)
{
    const char *live_uid = doc_text_or(live, "metadata.uid", "");
    bool has_uid = entry->ref.uid && *entry->ref.uid;

    if (is_kept(entry->policy))
        return REMOVAL_KEPT;
    if (has_uid && strcmp(entry->ref.uid, live_uid) != 0)
        return REMOVAL_REPLACED;
    if (owner_is_other(owner, live))
        return REMOVAL_MOVED;
    if ((!has_uid || entry->policy == POLICY_FALLBACK) && !owner_has_object(owner, live))
        return REMOVAL_FOREIGN;
    if (!*live_uid) /* there is nothing that the DELETE could have as a precondition */
        return REMOVAL_FOREIGN;
    return REMOVAL_DELETE;
}

const char *removal_verdict_text(enum removal_verdict verdict)
{
    static const char *const texts[] = {
        [REMOVAL_DELETE] = "was deleted",
        [REMOVAL_REPLACED] = "was replaced by another object of the same name",
        [REMOVAL_MOVED] = "belongs to another owner now",
        [REMOVAL_FOREIGN] = "does not have the label of its owner",
        [REMOVAL_KEPT] = "is kept because of its policy",
    };

    return texts[verdict];
}
