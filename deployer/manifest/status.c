/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/manifest/status.h"

#include <stdlib.h>
#include <string.h>

#include "common/apply/kinds.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

#define OWN_MEMBER "longshore"

void manifest_status_done(struct manifest_status *status)
{
    inventory_done(&status->inventory);
    free(status->cluster);
    *status = (struct manifest_status){0};
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

static int read_entry(const json_t *element, bool is_old, struct inventory_entry *ret_entry,
                      struct error *err)
{
    const json_t *reference = is_old ? element : doc_member(element, "resource");
    const json_t *annotations = doc_member(element, "annotateBeforeDelete");
    const json_t *patch = doc_member(element, "patchBeforeDelete");
    const char *policy = NULL;

    if (doc_want_text(element, "policy", &policy, err) < 0 ||
        (policy && *policy && policy_parse(policy, &ret_entry->policy, err) < 0) ||
        object_ref_parse(reference, &ret_entry->ref, err) < 0)
        return -1;
    ret_entry->is_crd = kind_is_crd(ret_entry->ref.api_version, ret_entry->ref.kind);
    ret_entry->is_namespaced = ret_entry->ref.namespace_name != NULL;
    ret_entry->annotate_before_delete = copy_of(annotations, json_object_size(annotations) > 0);
    ret_entry->patch_before_delete = copy_of(patch, json_object_size(patch) > 0);
    read_own(doc_member(element, OWN_MEMBER), ret_entry);
    return 0;
}

static int check_kind(const json_t *document, bool *ret_is_old, struct error *err)
{
    const char *api_version = doc_text_or(document, "apiVersion", "");
    const char *kind = doc_text_or(document, "kind", "");

    *ret_is_old = strcmp(api_version, MANIFEST_API_VERSION_OLD) == 0;
    if (!*ret_is_old && strcmp(api_version, MANIFEST_API_VERSION) != 0)
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
    };
    return 0;
}

/* ---- Writing ---- */

static json_t *entry_document(const struct inventory_entry *entry)
{
    json_t *document = json_pack("{s:s,s:o}", "policy", policy_name(entry->policy), "resource",
                                 object_ref_json(&entry->ref));

    if (entry->annotate_before_delete)
        doc_set_new(document, "annotateBeforeDelete",
                    json_deep_copy(entry->annotate_before_delete));
    if (entry->patch_before_delete)
        doc_set_new(document, "patchBeforeDelete", json_deep_copy(entry->patch_before_delete));
    if (json_array_size(entry->own_finalizers) > 0)
        doc_set_new(document, OWN_MEMBER ".finalizers", json_deep_copy(entry->own_finalizers));
    if (json_array_size(entry->own_owners) > 0)
        doc_set_new(document, OWN_MEMBER ".ownerReferences", json_deep_copy(entry->own_owners));
    return document;
}

json_t *manifest_status_document(const struct inventory *inventory, const char *cluster)
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
    return document;
}
