/* SPDX-License-Identifier: Apache-2.0 */
/* What stays of a live object that a manifest replaces. */
#include <string.h>

#include "common/apply/merge_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

const char *const merge_server_members[] = {
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    NULL,
};

json_t *merge_without_server_members(const json_t *object)
{
    json_t *copy = json_copy(doc_writable(object));
    const json_t *metadata = doc_member(object, "metadata");
    json_t *reduced = NULL;

    if (!json_is_object(metadata))
        return copy;
    reduced = json_copy(doc_writable(metadata));
    for (size_t i = 0; merge_server_members[i]; i++)
        (void)json_object_del(reduced, merge_server_members[i]);
    (void)json_object_set_new(copy, "metadata", reduced);
    return copy;
}

static bool is_kind(const json_t *object, const char *api_version, const char *kind)
{
    return strcmp(doc_text_or(object, "apiVersion", ""), api_version) == 0 &&
           strcmp(doc_text_or(object, "kind", ""), kind) == 0;
}

/* Whether an entry of managedFields is of the cluster itself. Whoever writes through a subresource
 * acts as a controller: the deployment controller even sets an annotation together with the status.
 */
static bool is_of_cluster(const json_t *entry)
{
    static const char *const components[] = {
        "cloud-controller-manager", "kube-apiserver", "kube-controller-manager",
        "kube-scheduler",           "kubelet",
    };
    const char *manager = doc_text_or(entry, "manager", "");

    if (*doc_text_or(entry, "subresource", ""))
        return true;
    for (size_t i = 0; i < array_length(components); i++) {
        if (strcmp(manager, components[i]) == 0)
            return true;
    }
    return false;
}

/* A manifest that has null, "" or [] says nothing: the server treats them as missing. */
static bool is_unset(const json_t *value)
{
    return !value || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static bool has_fields(const json_t *owned)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(owned, key, value)
    {
        if (strncmp(key, "f:", 2) == 0)
            return true;
    }
    return false;
}

/* Adds the members of live to kept that are in owned, a part of fieldsV1, and not in the manifest.
 * Lists are taken as a whole. manifest is NULL if it has nothing here. */
static void keep_owned(const json_t *owned, const json_t *live, const json_t *manifest,
                       json_t *kept)
{
    const char *key = NULL;
    json_t *fields = NULL;

    doc_foreach(owned, key, fields)
    {
        const char *name = key + 2;
        json_t *present = NULL;
        const json_t *wanted = NULL;
        json_t *part = NULL;

        if (strncmp(key, "f:", 2) != 0 || !(present = json_object_get(live, name)))
            continue;
        wanted = json_object_get(manifest, name);
        if (!is_unset(wanted) && !json_is_object(wanted))
            continue;
        if (!json_is_object(present) || json_object_size(fields) == 0) {
            if (is_unset(wanted))
                (void)json_object_set_new_nocheck(kept, name, json_deep_copy(present));
            continue;
        }
        if (!has_fields(fields))
            continue;
        part = json_object_get(kept, name);
        part = json_is_object(part) ? json_incref(part) : json_object();
        keep_owned(fields, present, wanted, part);
        if (json_object_size(part) > 0)
            (void)json_object_set_nocheck(kept, name, part);
        json_decref(part);
    }
}

static void keep_path(const json_t *live, const json_t *manifest, const char *path, json_t *kept)
{
    const json_t *present = doc_get(live, path);

    if (!is_unset(present) && is_unset(doc_get(manifest, path)))
        doc_set_new(kept, path, json_deep_copy(present));
}

static bool is_external(const json_t *service)
{
    return strcmp(doc_text_or(service, "spec.type", ""), "ExternalName") == 0;
}

/* The addresses of a Service are allocated together. Another ipFamilyPolicy needs other ones. */
static void keep_addresses(const json_t *live, const json_t *manifest, json_t *kept)
{
    const char *policy = doc_text(manifest, "spec.ipFamilyPolicy");

    if (is_external(manifest) || is_external(live) ||
        !is_unset(doc_get(manifest, "spec.clusterIP")) ||
        !is_unset(doc_get(manifest, "spec.clusterIPs")))
        return;
    keep_path(live, manifest, "spec.clusterIP", kept);
    if (policy && strcmp(policy, doc_text_or(live, "spec.ipFamilyPolicy", "")) != 0)
        return;
    keep_path(live, manifest, "spec.clusterIPs", kept);
    keep_path(live, manifest, "spec.ipFamilies", kept);
    keep_path(live, manifest, "spec.ipFamilyPolicy", kept);
}

json_t *merge_kept_part(const json_t *live, const json_t *manifest)
{
    static const struct {
        const char *kind, *path; /* all of the core group */
    } members[] = {
        {"PersistentVolumeClaim", "spec.storageClassName"},
        {"PersistentVolumeClaim", "spec.volumeName"},
        {"Pod", "spec.nodeName"}, /* not in managedFields */
        {"ServiceAccount", "secrets"},
    };
    const json_t *managers = doc_get(live, "metadata.managedFields");
    json_t *kept = json_object();

    for (size_t i = 0; i < json_array_size(managers); i++) {
        const json_t *entry = json_array_get(managers, i);

        if (is_of_cluster(entry))
            keep_owned(doc_member(entry, "fieldsV1"), live, manifest, kept);
    }
    for (size_t i = 0; i < array_length(members); i++) {
        if (is_kind(live, "v1", members[i].kind))
            keep_path(live, manifest, members[i].path, kept);
    }
    if (is_kind(live, "v1", "Service"))
        keep_addresses(live, manifest, kept);
    /* These have rules of their own. */
    (void)json_object_del(kept, "status");
    (void)json_object_del(json_object_get(kept, "metadata"), "finalizers");
    (void)json_object_del(json_object_get(kept, "metadata"), "ownerReferences");
    return kept;
}

void merge_overlay(json_t *object, const json_t *part)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(part, key, value)
    {
        json_t *present = json_object_get(object, key);

        if (json_is_object(present) && json_is_object(value))
            merge_overlay(present, value);
        else
            (void)json_object_set_new_nocheck(object, key, json_deep_copy(value));
    }
}

void merge_subtract(json_t *object, const json_t *part)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(part, key, value)
    {
        json_t *present = json_object_get(object, key);

        if (json_is_object(present) && json_is_object(value))
            merge_subtract(present, value);
        if (!json_is_object(present) || !json_is_object(value) || json_object_size(present) == 0)
            (void)json_object_del(object, key);
    }
}

static bool is_same_port(const json_t *a, const json_t *b)
{
    return doc_integer_or(a, "port", 0) == doc_integer_or(b, "port", 0) &&
           strcmp(doc_text_or(a, "protocol", "TCP"), doc_text_or(b, "protocol", "TCP")) == 0;
}

static void keep_node_ports(json_t *object, const json_t *live)
{
    const char *type = doc_text_or(object, "spec.type", "");
    const json_t *ports = doc_get(object, "spec.ports");
    const json_t *live_ports = doc_get(live, "spec.ports");

    if (strcmp(type, "NodePort") != 0 && strcmp(type, "LoadBalancer") != 0)
        return;
    for (size_t i = 0; i < json_array_size(ports); i++) {
        json_t *port = json_array_get(ports, i);

        for (size_t j = 0; j < json_array_size(live_ports); j++) {
            const json_t *live_port = json_array_get(live_ports, j);
            int64_t number = doc_integer_or(live_port, "nodePort", 0);

            if (json_is_object(port) && number != 0 && is_same_port(port, live_port) &&
                doc_integer_or(port, "nodePort", 0) == 0)
                doc_set_new(port, "nodePort", json_integer(number));
        }
    }
}

static void copy_path(json_t *object, const json_t *live, const char *path)
{
    const json_t *value = doc_get(live, path);

    if (value)
        doc_set_new(object, path, json_deep_copy(value));
}

void merge_keep_of_kind(json_t *object, const json_t *live)
{
    if (is_kind(live, "v1", "Service"))
        keep_node_ports(object, live);
    if (is_kind(live, "batch/v1", "Job")) {
        copy_path(object, live, "spec.selector");
        copy_path(object, live, "spec.template.metadata.labels");
    }
}
