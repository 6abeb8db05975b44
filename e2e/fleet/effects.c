/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/effects.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "e2e/fleet/rules.h"

#define DEFINITIONS "customresourcedefinitions.apiextensions.k8s.io"

void effects_written(struct cluster *cluster, const struct resource *resource,
                     const struct record *record)
{
    if (rules_is(resource, DEFINITIONS))
        definition_written(cluster, record);
    else if (cluster->shared->has_controllers && rules_is(resource, "namespaces"))
        namespace_progress(cluster, record->name->bytes);
    else if (cluster->shared->has_controllers)
        workload_written(cluster, resource, record);
}

/* Whether the record has an owner reference to uid. */
static bool is_owned_by(const struct record *record, const char *uid)
{
    cleanup_json json_t *owners = record_metadata_json(record, "ownerReferences");

    for (size_t i = 0; i < json_array_size(owners); i++) {
        if (strcmp(doc_text_or(json_array_get(owners, i), "uid", ""), uid) == 0)
            return true;
    }
    return false;
}

/* One object that uid owns, or NULL. */
static const struct record *find_owned(const struct cluster *cluster, const char *uid,
                                       const struct store_bucket **ret_bucket)
{
    for (size_t i = 0; i < cluster->store.bucket_count; i++) {
        const struct store_bucket *bucket = &cluster->store.buckets[i];

        for (size_t k = 0; k < bucket->count; k++) {
            const struct record *record = bucket->records[k];

            if (!record_has_metadata(record, "ownerReferences") ||
                record_has_metadata(record, "deletionTimestamp") || !is_owned_by(record, uid))
                continue;
            *ret_bucket = bucket;
            return record;
        }
    }
    return NULL;
}

static void collect_owned(struct cluster *cluster, const char *uid)
{
    const struct store_bucket *bucket = NULL;
    const struct record *record = NULL;

    while ((record = find_owned(cluster, uid, &bucket))) {
        const struct resource *resource =
            cluster_find_resource(cluster, bucket->group, bucket->plural);

        if (!resource || !removal_start(cluster, resource, record->namespace_name->bytes,
                                        record->name->bytes, REMOVE_BACKGROUND))
            return;
    }
}

void effects_removed(struct cluster *cluster, const struct resource *resource,
                     const struct record *record)
{
    const char *namespace_name = record->namespace_name->bytes;

    if (rules_is(resource, DEFINITIONS))
        definition_removed(cluster, record);
    if (resource->is_custom) {
        cleanup_free char *name = xstrdup(resource->qualified);

        definition_progress(cluster, name);
    }
    if (!cluster->shared->has_controllers)
        return;
    collect_owned(cluster, record->uid);
    if (namespace_name[0] && namespace_is_terminating(cluster, namespace_name))
        namespace_progress(cluster, namespace_name);
}

static void add_finalizer(json_t *object, const char *finalizer)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_t *finalizers = json_object_get(metadata, "finalizers");

    if (!finalizers) {
        finalizers = json_array();
        (void)json_object_set_new(metadata, "finalizers", finalizers);
    }
    (void)json_array_append_new(finalizers, json_string(finalizer));
}

static void mark(struct cluster *cluster, const struct resource *resource, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_int_t generation = doc_integer_or(metadata, "generation", 0);
    char now[TIMESTAMP_MAX];

    timestamp_format(cluster_now_s(cluster) * 1000, now);
    (void)json_object_set_new(metadata, "deletionTimestamp", json_string(now));
    if (!rules_is(resource, "namespaces")) {
        (void)json_object_set_new(metadata, "deletionGracePeriodSeconds", json_integer(0));
        if (generation > 0)
            (void)json_object_set_new(metadata, "generation", json_integer(generation + 1));
    } else {
        doc_set_text(object, "status.phase", "Terminating");
    }
    effects_written(cluster, resource, store_put(&cluster->store, resource, object));
}

/* The finalizer that a policy adds; without controllers nobody removes it, as in a real cluster. */
static const char *policy_finalizer(const struct cluster *cluster, enum removal_policy policy)
{
    if (cluster->shared->has_controllers || policy == REMOVE_BACKGROUND)
        return NULL;
    return policy == REMOVE_FOREGROUND ? "foregroundDeletion" : "orphan";
}

static bool is_held(const struct cluster *cluster, const struct resource *resource,
                    const json_t *object)
{
    if (json_array_size(doc_get(object, "metadata.finalizers")) > 0)
        return true;
    if (rules_is(resource, "namespaces"))
        return json_array_size(doc_get(object, "spec.finalizers")) > 0;
    if (rules_is(resource, DEFINITIONS)) {
        const struct resource *custom =
            cluster_find_resource(cluster, doc_text_or(object, "spec.group", ""),
                                  doc_text_or(object, "spec.names.plural", ""));

        return custom && store_count(&cluster->store, custom) > 0;
    }
    return false;
}

static void remove_now(struct cluster *cluster, const struct resource *resource,
                       const char *namespace_name, const char *name)
{
    struct record *removed = store_remove(&cluster->store, resource, namespace_name, name);

    if (!removed)
        return;
    effects_removed(cluster, resource, removed);
    record_release(cluster->store.pool, removed);
}

bool removal_start(struct cluster *cluster, const struct resource *resource,
                   const char *namespace_name, const char *name, enum removal_policy policy)
{
    const struct record *record = store_get(&cluster->store, resource, namespace_name, name);
    const char *finalizer = policy_finalizer(cluster, policy);
    cleanup_json json_t *object = NULL;

    if (!record || record_has_metadata(record, "deletionTimestamp"))
        return false;
    object = record_json(record, "", "");
    if (finalizer)
        add_finalizer(object, finalizer);
    if (is_held(cluster, resource, object)) {
        cleanup_free char *definition = xstrdup(name);

        mark(cluster, resource, object);
        if (rules_is(resource, DEFINITIONS))
            definition_progress(cluster, definition);
    } else {
        remove_now(cluster, resource, namespace_name, name);
    }
    return true;
}

bool removal_finish(struct cluster *cluster, const struct resource *resource,
                    const char *namespace_name, const char *name)
{
    const struct record *record = store_get(&cluster->store, resource, namespace_name, name);
    cleanup_json json_t *object = NULL;

    if (!record || !record_has_metadata(record, "deletionTimestamp"))
        return false;
    object = record_json(record, "", "");
    if (is_held(cluster, resource, object))
        return false;
    remove_now(cluster, resource, namespace_name, name);
    return true;
}

bool removal_replaces(struct cluster *cluster, const struct resource *resource,
                      const char *namespace_name, const char *name, const json_t *object)
{
    if (!doc_text(object, "metadata.deletionTimestamp") || is_held(cluster, resource, object))
        return false;
    remove_now(cluster, resource, namespace_name, name);
    return true;
}
