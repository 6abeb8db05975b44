/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/managed.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "e2e/fleet/apply_merge.h"
#include "e2e/fleet/fields.h"

#define APPLY "Apply"
#define UPDATE "Update"

/* Nobody owns these. */
static const char *const unowned_metadata[] = {
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "selfLink",
    "creationTimestamp",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
};

/* The part of an object whose fields are owned: a copy that shares all values but the metadata. */
static json_t *owned_part(const json_t *object, const struct managed_by *by)
{
    json_t *part = json_copy(doc_writable(object));
    json_t *metadata = json_copy(doc_writable(doc_member(object, "metadata")));

    (void)json_object_del(part, "apiVersion");
    (void)json_object_del(part, "kind");
    for (size_t i = 0; i < array_length(by->ignored); i++)
        (void)json_object_del(part, by->ignored[i] ? by->ignored[i] : "");
    for (size_t i = 0; i < array_length(unowned_metadata); i++)
        (void)json_object_del(metadata, unowned_metadata[i]);
    (void)json_object_set_new(part, "metadata", metadata ? metadata : json_object());
    return part;
}

/* The structs of built-in kinds exist even when empty, so that nobody owns them as such. */
static void add_structs(json_t *part, const json_t *other)
{
    static const char *const structs[] = {"spec", "status"};

    for (size_t i = 0; i < array_length(structs); i++) {
        if (json_is_object(doc_member(other, structs[i])) && !doc_member(part, structs[i]))
            (void)json_object_set_new(part, structs[i], json_object());
    }
}

/* What changed between two versions of an object; before may be NULL. */
static struct fields_change compare_owned(const struct shape *shape, const json_t *before,
                                          const json_t *after, const struct managed_by *by)
{
    cleanup_json json_t *old = before ? owned_part(before, by) : json_pack("{s:{}}", "metadata");
    cleanup_json json_t *new = owned_part(after, by);

    if (shape->is_builtin) {
        add_structs(old, new);
        add_structs(new, old);
    }
    return fields_compare(shape, old, new);
}

static bool is_entry(const json_t *entry, const struct managed_by *by, const char *operation)
{
    return strcmp(doc_text_or(entry, "manager", ""), by->manager) == 0 &&
           strcmp(doc_text_or(entry, "operation", ""), operation) == 0 &&
           strcmp(doc_text_or(entry, "apiVersion", ""), by->api_version) == 0 &&
           strcmp(doc_text_or(entry, "subresource", ""), by->subresource) == 0;
}

static json_t *find_entry(const json_t *entries, const struct managed_by *by, const char *operation)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);

        if (is_entry(entry, by, operation))
            return entry;
    }
    return NULL;
}

static const json_t *set_of(const json_t *entry)
{
    return doc_member(entry, "fieldsV1");
}

static json_t *make_entry(const struct managed_by *by, const char *operation)
{
    char time[TIMESTAMP_MAX];
    json_t *entry = NULL;

    timestamp_format(by->now_s * 1000, time);
    entry = json_pack("{s:s, s:s, s:s, s:s, s:s}", "manager", by->manager, "operation", operation,
                      "apiVersion", by->api_version, "time", time, "fieldsType", "FieldsV1");
    if (by->subresource[0])
        (void)json_object_set_new(entry, "subresource", json_string(by->subresource));
    return entry;
}

static int compare_text(const json_t *a, const json_t *b, const char *key)
{
    return strcmp(doc_text_or(a, key, ""), doc_text_or(b, key, ""));
}

static bool is_before(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"operation", "time", "manager", "apiVersion", "subresource"};

    for (size_t i = 0; i < array_length(keys); i++) {
        int order = compare_text(a, b, keys[i]);

        if (order != 0)
            return order < 0;
    }
    return false;
}

/* Takes entry over and inserts it in the order in which the API server lists entries. */
static void insert_entry(json_t *entries, json_t *entry)
{
    size_t at = 0;

    while (at < json_array_size(entries) && is_before(json_array_get(entries, at), entry))
        at++;
    (void)json_array_insert_new(entries, at, entry);
}

static void set_managed(json_t *object, json_t *entries)
{
    json_t *metadata = json_object_get(object, "metadata");

    if (json_array_size(entries) > 0)
        (void)json_object_set(metadata, "managedFields", entries);
    else
        (void)json_object_del(metadata, "managedFields");
}

/* The entries without the fields that changed, except those of the entry to be written. */
static json_t *without_changed(const json_t *entries, const json_t *own,
                               const struct fields_change *change)
{
    json_t *result = json_array();

    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);
        cleanup_json json_t *kept = NULL, *left = NULL;
        json_t *copy = NULL;

        if (entry == own)
            continue;
        kept = fields_minus(set_of(entry), change->changed);
        left = fields_minus(kept, change->removed);
        if (!left)
            continue;
        copy = json_copy(entry);
        (void)json_object_set(copy, "fieldsV1", left);
        (void)json_array_append_new(result, copy);
    }
    return result;
}

static const json_t *entries_of(const json_t *before, const json_t *after)
{
    const json_t *given = doc_get(after, "metadata.managedFields");

    return json_array_size(given) > 0 ? given : doc_get(before, "metadata.managedFields");
}

/* [{}] asks the API server to forget all managers. */
static bool is_reset(const json_t *entries)
{
    return json_array_size(entries) == 1 && json_object_size(json_array_get(entries, 0)) == 0;
}

void managed_update(const struct shape *shape, const json_t *before, json_t *after,
                    const struct managed_by *by)
{
    struct fields_change change = compare_owned(shape, before, after, by);
    const json_t *entries = entries_of(before, after);
    cleanup_json json_t *result = NULL;
    json_t *own = NULL;

    if (is_reset(entries)) {
        result = json_array();
        set_managed(after, result);
        fields_change_done(&change);
        return;
    }
    own = find_entry(entries, by, UPDATE);
    result = without_changed(entries, own, &change);
    if (own || change.changed) {
        cleanup_json json_t *all = fields_union(set_of(own), change.changed);
        json_t *left = fields_minus(all, change.removed);
        json_t *entry = change.changed ? make_entry(by, UPDATE) : json_copy(own);

        if (left) {
            (void)json_object_set_new(entry, "fieldsV1", left);
            insert_entry(result, entry);
        } else {
            json_decref(entry);
        }
    }
    set_managed(after, result);
    fields_change_done(&change);
}

struct conflict_search {
    struct managed_conflicts *conflicts;
    const json_t *entry;
};

static char *describe(const json_t *entry)
{
    const char *subresource = doc_text_or(entry, "subresource", "");
    bool is_update = strcmp(doc_text_or(entry, "operation", ""), UPDATE) == 0;
    cleanup_free char *when =
        is_update ? xasprintf(" using %s at %s", doc_text_or(entry, "apiVersion", ""),
                              doc_text_or(entry, "time", ""))
                  : xstrdup("");

    return subresource[0] ? xasprintf("\"%s\" with subresource \"%s\"%s",
                                      doc_text_or(entry, "manager", ""), subresource, when)
                          : xasprintf("\"%s\"%s", doc_text_or(entry, "manager", ""), when);
}

static void note_conflict(void *data, const char *path)
{
    struct conflict_search *search = data;
    struct managed_conflicts *conflicts = search->conflicts;

    conflicts->rows =
        xreallocarray(conflicts->rows, conflicts->count + 1, sizeof(*conflicts->rows));
    conflicts->rows[conflicts->count++] =
        (struct managed_conflict){.manager = describe(search->entry), .path = xstrdup(path)};
}

static void find_conflicts(const json_t *entries, const json_t *own, const json_t *changed,
                           struct managed_conflicts *ret_conflicts)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        struct conflict_search search = {ret_conflicts, json_array_get(entries, i)};
        cleanup_json json_t *common = NULL;

        if (search.entry == own)
            continue;
        common = fields_common(set_of(search.entry), changed);
        fields_visit(common, note_conflict, &search);
    }
}

void managed_conflicts_done(struct managed_conflicts *conflicts)
{
    for (size_t i = 0; i < conflicts->count; i++) {
        free(conflicts->rows[i].manager);
        free(conflicts->rows[i].path);
    }
    free(conflicts->rows);
    *conflicts = (struct managed_conflicts){0};
}

static json_t *union_of_others(const json_t *entries, const json_t *own)
{
    json_t *all = NULL;

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        json_t *more = NULL;

        if (entry == own)
            continue;
        more = fields_union(all, set_of(entry));
        json_decref(all);
        all = more;
    }
    return all;
}

/* live with config merged into it, without what this manager applied before and nobody else owns.
 */
static json_t *merge(const struct shape *shape, const json_t *live, const json_t *config,
                     const json_t *own, const json_t *applied)
{
    json_t *merged = apply_merge(shape, live, config);
    cleanup_json json_t *others = union_of_others(doc_get(live, "metadata.managedFields"), own);
    cleanup_json json_t *keep = fields_union(applied, others);
    cleanup_json json_t *gone = fields_minus(set_of(own), keep);

    if (gone)
        apply_remove(shape, merged, gone, keep);
    return merged;
}

static json_t *applied_fields(const struct shape *shape, const json_t *config,
                              const struct managed_by *by)
{
    cleanup_json json_t *part = owned_part(config, by);

    if (json_object_size(doc_member(part, "metadata")) == 0)
        (void)json_object_del(part, "metadata");
    return fields_of(shape, part);
}

json_t *managed_apply(const struct shape *shape, const json_t *live, const json_t *config,
                      const struct managed_by *by, bool is_forced,
                      struct managed_conflicts *ret_conflicts)
{
    const json_t *entries = doc_get(live, "metadata.managedFields");
    json_t *own = find_entry(entries, by, APPLY);
    cleanup_json json_t *applied = applied_fields(shape, config, by);
    cleanup_json json_t *merged =
        live ? merge(shape, live, config, own, applied) : json_deep_copy(config);
    struct fields_change change = compare_owned(shape, live, merged, by);
    cleanup_json json_t *result = NULL;
    json_t *entry = NULL;

    if (!is_forced)
        find_conflicts(entries, own, change.changed, ret_conflicts);
    if (ret_conflicts->count > 0) {
        fields_change_done(&change);
        return NULL;
    }
    result = without_changed(entries, own, &change);
    if (applied) {
        bool is_same =
            own && !change.changed && !change.removed && json_equal(set_of(own), applied);

        entry = is_same ? json_copy(own) : make_entry(by, APPLY);
        if (live && !own && !change.changed && !change.removed)
            (void)json_object_del(entry, "time"); /* who changes no value leaves no time */
        (void)json_object_set(entry, "fieldsV1", applied);
        insert_entry(result, entry);
    }
    set_managed(merged, result);
    fields_change_done(&change);
    return steal(&merged);
}
