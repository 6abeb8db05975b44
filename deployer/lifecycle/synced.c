/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/synced.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/names.h"

json_t *synced_entry(const struct object_ref *ref)
{
    const char *group = NULL, *version = NULL;
    size_t size = 0;

    api_version_split(ref->api_version, &group, &size, &version);
    return json_pack("{s:s%, s:s, s:s, s:s, s:s}", "group", group, size, "version", version, "kind",
                     ref->kind, "name", ref->name, "namespace",
                     ref->namespace_name ? ref->namespace_name : "");
}

struct object_ref synced_ref(const json_t *entry)
{
    const char *group = doc_text_or(entry, "group", "");
    const char *namespace_name = doc_text_or(entry, "namespace", "");

    return (struct object_ref){
        .api_version = *group ? xasprintf("%s/%s", group, doc_text_or(entry, "version", ""))
                              : xstrdup(doc_text_or(entry, "version", "")),
        .kind = xstrdup(doc_text_or(entry, "kind", "")),
        .name = xstrdup(doc_text_or(entry, "name", "")),
        .namespace_name = *namespace_name ? xstrdup(namespace_name) : NULL,
    };
}

json_t *synced_of_plan(const struct plan *plan)
{
    json_t *list = json_array();

    for (size_t i = 0; i < plan->count; i++)
        json_array_append_new(list, synced_entry(&plan->objects[i].ref));
    return list;
}

static char *key_of(const json_t *entry)
{
    struct object_ref ref = synced_ref(entry);
    char *key = object_ref_key(&ref);

    object_ref_done(&ref);
    return key;
}

static json_t *keys_of(const json_t *list)
{
    json_t *keys = json_object();
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(list), i, entry)
    {
        cleanup_free char *key = key_of(entry);

        json_object_set_new(keys, key, json_true());
    }
    return keys;
}

static void append_missing(json_t *list, const json_t *from, const json_t *known)
{
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(from), i, entry)
    {
        cleanup_free char *key = key_of(entry);

        if (!doc_member(known, key))
            json_array_append(list, entry);
    }
}

static bool is_same_version(const json_t *entry, const json_t *other)
{
    return strcmp(doc_text_or(entry, "version", ""), doc_text_or(other, "version", "")) == 0;
}

json_t *synced_union(const json_t *before, const json_t *more)
{
    cleanup_json json_t *known = keys_of(before), *newer = json_object();
    json_t *list = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(more), i, entry)
    {
        cleanup_free char *key = key_of(entry);

        json_object_set(newer, key, entry);
    }
    json_array_foreach(doc_writable(before), i, entry)
    {
        cleanup_free char *key = key_of(entry);
        json_t *other = json_object_get(newer, key);

        json_array_append(list, other && !is_same_version(entry, other) ? other : entry);
    }
    append_missing(list, more, known);
    return list;
}

json_t *synced_minus(const json_t *before, const json_t *now)
{
    cleanup_json json_t *known = keys_of(now);
    json_t *list = json_array();

    append_missing(list, before, known);
    return list;
}

bool synced_is_removed_last(const json_t *entry)
{
    static const char *const kinds[] = {
        "CustomResourceDefinition",
        "Namespace",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "Service",
        "Deployment",
    };

    for (size_t i = 0; i < array_length(kinds); i++) {
        if (strcmp(doc_text_or(entry, "kind", ""), kinds[i]) == 0)
            return true;
    }
    return false;
}

struct inventory synced_inventory(const json_t *synced, bool is_last)
{
    struct inventory inventory = {0};
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(synced), i, entry)
    {
        bool is_home = strcmp(doc_text_or(entry, "kind", ""), "Namespace") == 0 &&
                       strcmp(doc_text_or(entry, "name", ""), KYMA_NAMESPACE) == 0;
        struct object_ref ref = {0};

        if (synced_is_removed_last(entry) != is_last)
            continue;
        ref = synced_ref(entry);
        (void)inventory_add(&inventory, (struct inventory_entry){
                                            .ref = ref,
                                            .policy = is_home ? POLICY_KEEP : POLICY_MANAGE,
                                            .is_crd = kind_is_crd(ref.api_version, ref.kind),
                                            .is_namespaced = ref.namespace_name != NULL,
                                        });
    }
    return inventory;
}

static bool is_workload(const char *kind)
{
    return strcmp(kind, "Deployment") == 0 || strcmp(kind, "StatefulSet") == 0;
}

bool synced_may_be_manager(const struct object_ref *ref)
{
    return is_workload(ref->kind);
}

const json_t *synced_manager(const json_t *synced)
{
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(synced), i, entry)
    {
        if (strcmp(doc_text_or(entry, "group", ""), "apps") == 0 &&
            is_workload(doc_text_or(entry, "kind", "")))
            return entry;
    }
    return NULL;
}

/* Whatever its apiVersion is. */
static bool is_named(const json_t *object, const struct object_ref *ref)
{
    const char *namespace_name = doc_text_or(object, "metadata.namespace", "");

    /* What lacks a namespace gets "default", what has one although it is cluster-scoped loses it.
     */
    return strcmp(doc_text_or(object, "metadata.name", ""), ref->name) == 0 &&
           strcmp(doc_text_or(object, "kind", ""), ref->kind) == 0 &&
           (!*namespace_name || !ref->namespace_name ||
            strcmp(namespace_name, ref->namespace_name) == 0);
}

const json_t *synced_find_object(const json_t *objects, const struct object_ref *ref)
{
    size_t i;
    json_t *object;

    json_array_foreach(doc_writable(objects), i, object)
    {
        if (is_named(object, ref) &&
            strcmp(doc_text_or(object, "apiVersion", ""), ref->api_version) == 0)
            return object;
    }
    return NULL;
}

static size_t group_length(const char *api_version)
{
    return strchr(api_version, '/') ? strcspn(api_version, "/") : 0;
}

bool synced_has_other_version(const json_t *objects, const struct object_ref *ref)
{
    size_t length = group_length(ref->api_version);
    size_t i;
    json_t *object;

    json_array_foreach(doc_writable(objects), i, object)
    {
        const char *api_version = doc_text_or(object, "apiVersion", "");

        if (strcmp(api_version, ref->api_version) != 0 && group_length(api_version) == length &&
            strncmp(api_version, ref->api_version, length) == 0 && is_named(object, ref))
            return !synced_find_object(objects, ref);
    }
    return false;
}
