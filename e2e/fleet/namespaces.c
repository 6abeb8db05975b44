/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a namespace: its objects are deleted, then the namespace itself. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/effects.h"

static const struct resource *namespaces_of(const struct cluster *cluster)
{
    return cluster_builtin(cluster, "", "namespaces");
}

bool namespace_is_terminating(const struct cluster *cluster, const char *name)
{
    const struct record *record = store_get(&cluster->store, namespaces_of(cluster), "", name);

    return record && record_has_metadata(record, "deletionTimestamp");
}

/* An object of the namespace that is not marked; *ret_count is how many objects there are. */
static const struct record *find_unmarked(const struct cluster *cluster, const char *name,
                                          const struct resource **ret_resource, size_t *ret_count)
{
    const struct record *record = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < cluster->store.bucket_count; i++) {
        const struct store_bucket *bucket = &cluster->store.buckets[i];
        const struct resource *resource =
            cluster_find_resource(cluster, bucket->group, bucket->plural);

        if (!resource || !resource->is_namespaced)
            continue;
        for (size_t k = store_first(&cluster->store, resource, name);
             (record = store_at(&cluster->store, resource, name, k)); k++) {
            ++*ret_count;
            *ret_resource = resource;
            if (!record_has_metadata(record, "deletionTimestamp"))
                return record;
        }
    }
    return NULL;
}

void namespace_progress(struct cluster *cluster, const char *name)
{
    const struct resource *resource = NULL;
    cleanup_free char *namespace_name = xstrdup(name);
    cleanup_json json_t *object = NULL;
    const struct record *record = NULL;
    size_t count = 0;

    if (!namespace_is_terminating(cluster, namespace_name))
        return;
    while ((record = find_unmarked(cluster, namespace_name, &resource, &count))) {
        cleanup_free char *object_name = xstrdup(record->name->bytes);

        (void)removal_start(cluster, resource, namespace_name, object_name, REMOVE_BACKGROUND);
        /* The deletion of the last object has ended the namespace already. */
        if (!namespace_is_terminating(cluster, namespace_name))
            return;
    }
    if (count > 0)
        return;
    resource = namespaces_of(cluster);
    record = store_get(&cluster->store, resource, "", namespace_name);
    object = record_json(record, "v1", "Namespace");
    if (json_array_size(doc_get(object, "spec.finalizers")) > 0) {
        (void)json_object_del(json_object_get(object, "spec"), "finalizers");
        (void)store_put(&cluster->store, resource, object);
    }
    (void)removal_finish(cluster, resource, "", namespace_name);
}
