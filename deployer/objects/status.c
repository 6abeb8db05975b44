/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/apply/kinds.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

#define OWN_MEMBER "longshore"
#define LATE_MEMBER OWN_MEMBER ".late"

void manifest_status_done(struct manifest_status *status)
{
    inventory_done(&status->inventory);
    free(status->cluster);
    json_decref(status->late);
    *status = (struct manifest_status){0};
}

/* ---- What can be stored ---- */

enum { EXACT_MAX = 1000 * 1000 * 1000 };

/* A copy as the API server returns it after a merge patch: without null, which a merge patch cannot
 * store, and with whole numbers as integers. What is written has to be equal to what is read,
 * because a list that differs was written by somebody else. */
static json_t *storable(const json_t *value)
{
    json_t *copy = NULL;
    const char *key = NULL;
    json_t *member = NULL;

    if (json_is_object(value)) {
        copy = json_object();
        doc_foreach(value, key, member)
        {
            if (!json_is_null(member))
                (void)json_object_set_new(copy, key, storable(member));
        }
        return copy;
    }
    if (json_is_array(value)) {
        copy = json_array();
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (!json_is_null(json_array_get(value, i)))
                (void)json_array_append_new(copy, storable(json_array_get(value, i)));
        }
        return copy;
    }
    if (json_is_real(value) && json_real_value(value) > -EXACT_MAX &&
        json_real_value(value) < EXACT_MAX) {
        json_int_t whole = (json_int_t)json_real_value(value);

        if ((double)whole == json_real_value(value))
            return json_integer(whole);
    }
    return json_deep_copy(value);
}

/* ---- Reading ---- */

static json_t *copy_of(const json_t *value, bool is_wanted)
{
    return is_wanted ? json_deep_copy(value) : NULL;
}

/* Our additions can be lost or damaged without harm. */
static void read_own(const json_t *own, struct inventory_entry *entry)
{
    const json_t *finalizers = doc_member(own, "finalizers");
    const json_t *owners = doc_member(own, "ownerReferences");

    entry->own_finalizers = copy_of(finalizers, json_is_array(finalizers));
    entry->own_owners = copy_of(owners, json_is_array(owners));
}

/* The patch as it was configured, if what is stored of it is not all. */
static json_t *read_patch(const json_t *element)
{
    const json_t *stored = doc_member(element, "patchBeforeDelete");
    const char *text = doc_text(element, OWN_MEMBER ".patchBeforeDelete");
    cleanup_json json_t *exact = NULL;
    cleanup_json json_t *form = NULL;
    cleanup_json json_t *empty = json_object();
    struct error ignored = {0};

    if (text && doc_parse_json(text, strlen(text), SECRET_MAX_BYTES, &exact, &ignored) == 0) {
        form = storable(exact);
        /* Otherwise somebody else has written another patch since. */
        if (json_is_object(exact) && json_equal(form, stored ? stored : empty))
            return steal(&exact);
    }
    return copy_of(stored, json_object_size(stored) > 0);
}

static int read_entry(const json_t *element, bool is_old, struct inventory_entry *ret_entry,
                      struct error *err)
{
    const json_t *reference = is_old ? element : doc_member(element, "resource");
    const json_t *annotations = doc_member(element, "annotateBeforeDelete");
    const char *policy = NULL;
    struct error ignored = {0};

    if (doc_want_text(element, "policy", &policy, err) < 0 ||
        object_ref_parse(reference, &ret_entry->ref, err) < 0)
        return -1;
    /* The Go deployer does not check the word, stores it as it is and acts as for manage. */
    if (policy && policy_parse(policy, &ret_entry->policy, &ignored) < 0)
        ret_entry->policy = POLICY_MANAGE;
    ret_entry->is_crd = kind_is_crd(ret_entry->ref.api_version, ret_entry->ref.kind);
    ret_entry->is_namespaced = ret_entry->ref.namespace_name != NULL;
    ret_entry->annotate_before_delete = copy_of(annotations, json_object_size(annotations) > 0);
    ret_entry->patch_before_delete = read_patch(element);
    read_own(doc_member(element, OWN_MEMBER), ret_entry);
    return 0;
}

static int check_kind(const json_t *document, bool *ret_is_old, struct error *err)
{
    const char *api_version = doc_text_or(document, "apiVersion", "");
    const char *kind = doc_text_or(document, "kind", "");

    *ret_is_old = strcmp(api_version, MANIFEST_API_VERSION_OLD) == 0;
    if (!*ret_is_old && strcmp(api_version, MANIFEST_API_VERSION) != 0 &&
        strcmp(api_version, HELM_API_VERSION) != 0)
        return error_set(err, ERROR_INVALID,
                         "apiVersion \"%s\": must be " MANIFEST_API_VERSION
                         " or " MANIFEST_API_VERSION_OLD,
                         api_version);
    if (strcmp(kind, KIND_PROVIDER_STATUS) != 0)
        return error_set(err, ERROR_INVALID, "kind \"%s\": must be " KIND_PROVIDER_STATUS, kind);
    return 0;
}

static int read_entries(const json_t *list, bool is_old, struct inventory *inventory,
                        struct error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct inventory_entry entry = {0};

        if (read_entry(json_array_get(list, i), is_old, &entry, err) < 0) {
            inventory_entry_done(&entry);
            return error_wrap(err, "managedResources[%zu]", i);
        }
        (void)inventory_add(inventory, entry);
    }
    return 0;
}

int manifest_status_parse(const json_t *document, struct manifest_status *ret_status,
                          struct error *err)
{
    struct inventory inventory = {0};
    const json_t *list = NULL;
    bool is_old = false;

    if (!document || json_is_null(document) || json_object_size(document) == 0) {
        *ret_status = (struct manifest_status){0};
        return 0;
    }
    if (check_kind(document, &is_old, err) < 0 ||
        doc_want_array(document, "managedResources", &list, err) < 0)
        return -1;
    if (read_entries(list, is_old, &inventory, err) < 0) {
        inventory_done(&inventory);
        return -1;
    }
    *ret_status = (struct manifest_status){
        .inventory = inventory,
        .cluster = xstrdup_or_null(doc_text(document, OWN_MEMBER ".cluster")),
        .late =
            copy_of(doc_get(document, LATE_MEMBER), json_is_object(doc_get(document, LATE_MEMBER))),
    };
    return 0;
}

/* ---- Writing ---- */

static void write_patch(json_t *document, const json_t *patch)
{
    cleanup_json json_t *form = storable(patch);
    cleanup_free char *exact = NULL;

    if (!json_equal(form, patch)) {
        exact = doc_dump(patch);
        doc_set_text(document, OWN_MEMBER ".patchBeforeDelete", exact);
    }
    if (json_object_size(form) > 0)
        doc_set_new(document, "patchBeforeDelete", steal(&form));
}

static json_t *entry_document(const struct inventory_entry *entry)
{
    json_t *document = json_pack("{s:s,s:o}", "policy", policy_name(entry->policy), "resource",
                                 object_ref_json(&entry->ref));

    if (entry->annotate_before_delete)
        doc_set_new(document, "annotateBeforeDelete",
                    json_deep_copy(entry->annotate_before_delete));
    if (entry->patch_before_delete)
        write_patch(document, entry->patch_before_delete);
    if (json_array_size(entry->own_finalizers) > 0)
        doc_set_new(document, OWN_MEMBER ".finalizers", storable(entry->own_finalizers));
    if (json_array_size(entry->own_owners) > 0)
        doc_set_new(document, OWN_MEMBER ".ownerReferences", storable(entry->own_owners));
    return document;
}

json_t *manifest_status_document(const struct inventory *inventory, const char *cluster,
                                 const json_t *late)
{
    json_t *document =
        json_pack("{s:s,s:s}", "apiVersion", MANIFEST_API_VERSION, "kind", KIND_PROVIDER_STATUS);
    json_t *list = json_array();

    for (size_t i = 0; i < inventory->count; i++)
        (void)json_array_append_new(list, entry_document(&inventory->entries[i]));
    if (json_array_size(list) > 0)
        doc_set_new(document, "managedResources", json_incref(list));
    json_decref(list);
    if (cluster)
        doc_set_text(document, OWN_MEMBER ".cluster", cluster);
    if (late)
        doc_set_new(document, LATE_MEMBER, json_deep_copy(late));
    return document;
}

json_t *manifest_status_core(const json_t *document)
{
    static const char *const others[] = {"apiVersion", "lastOperation", "podStatus", "access",
                                         "release"};
    json_t *core = NULL;

    if (!document)
        return NULL;
    core = json_copy(doc_writable(document));
    for (size_t i = 0; i < array_length(others); i++)
        (void)json_object_del(core, others[i]);
    return core;
}

/* ---- Late changes ---- */

struct late_memory manifest_status_late(const json_t *document, const char *job)
{
    const json_t *late = doc_get(document, LATE_MEMBER);
    struct late_memory memory = {0};
    int64_t streak = doc_integer_or(late, "streak", 0);
    struct error err = {0};

    if (timestamp_parse(doc_text_or(late, "time", ""), &memory.triggered_unix_ms, &err) < 0 ||
        memory.triggered_unix_ms < 0)
        return (struct late_memory){0};
    (void)snprintf(memory.change, sizeof(memory.change), "%s", doc_text_or(late, "change", ""));
    memory.streak = streak > 0 && streak <= LATE_STREAK_MAX ? (unsigned)streak : 0;
    memory.is_pending =
        doc_bool_or(late, "pending", false) && strcmp(doc_text_or(late, "job", ""), job) == 0;
    return memory;
}

void manifest_status_set_late(json_t *status, const struct late_memory *memory, const char *job)
{
    char time[TIMESTAMP_MAX] = {0};

    if (memory->triggered_unix_ms == 0)
        return;
    timestamp_format(memory->triggered_unix_ms, time);
    doc_set_new(status, "providerStatus." LATE_MEMBER,
                json_pack("{s:s,s:s,s:i,s:s,s:b}", "change", memory->change, "time", time, "streak",
                          (int)memory->streak, "job", job, "pending", memory->is_pending ? 1 : 0));
}
