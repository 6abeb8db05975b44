/* SPDX-License-Identifier: Apache-2.0 */
/* CustomResourceDefinitions: the API server establishes a new one, and deletes the objects of one
 * that is deleted. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "e2e/fleet/effects.h"

static const struct resource *definitions_of(const struct cluster *cluster)
{
    return cluster_builtin(cluster, "apiextensions.k8s.io", "customresourcedefinitions");
}

static json_t *condition(const char *type, const char *reason, const char *message,
                         const char *time)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status", "True",
                     "lastTransitionTime", time, "reason", reason, "message", message);
}

/* Sets the status of a definition whose names are accepted. */
static void establish(const struct cluster *cluster, json_t *object)
{
    json_t *status = json_object_get(object, "status");
    char now[TIMESTAMP_MAX];

    timestamp_format(cluster_now_s(cluster) * 1000, now);
    (void)json_object_set_new(
        status, "conditions",
        json_pack("[o, o]", condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                  condition("Established", "InitialNamesAccepted",
                            "the initial names have been accepted", now)));
    (void)json_object_set_new(status, "acceptedNames",
                              json_deep_copy(doc_get(object, "spec.names")));
}

void definition_written(struct cluster *cluster, const struct record *record)
{
    cleanup_json json_t *object = record_json(record, "", "");
    const json_t *spec = doc_member(object, "spec");
    const struct resource *resource = resources_custom(cluster->shared->resources, spec);

    if (!resource)
        return;
    cluster_add_custom(cluster, resource);
    if (json_array_size(doc_get(object, "status.conditions")) > 0 ||
        doc_get(object, "metadata.deletionTimestamp"))
        return;
    establish(cluster, object);
    (void)store_put(&cluster->store, definitions_of(cluster), object);
}

void definition_removed(struct cluster *cluster, const struct record *record)
{
    const char *name = record->name->bytes;
    const char *dot = strchr(name, '.');
    cleanup_free char *plural = dot ? xstrndup(name, (size_t)(dot - name)) : xstrdup("");

    if (dot)
        cluster_remove_custom(cluster, dot + 1, plural);
}

void definition_progress(struct cluster *cluster, const char *name)
{
    const struct resource *definitions = definitions_of(cluster);
    const struct record *definition = store_get(&cluster->store, definitions, "", name);
    const char *dot = strchr(name, '.');
    cleanup_free char *plural = dot ? xstrndup(name, (size_t)(dot - name)) : xstrdup("");
    const struct resource *custom = NULL;
    const struct record *record = NULL;
    size_t index = 0;

    if (!definition || !dot || !record_has_metadata(definition, "deletionTimestamp"))
        return;
    custom = cluster_find_resource(cluster, dot + 1, plural);
    while (custom && (record = store_at(&cluster->store, custom, NULL, index))) {
        cleanup_free char *namespace_name = xstrdup(record->namespace_name->bytes);
        cleanup_free char *object_name = xstrdup(record->name->bytes);

        if (!removal_start(cluster, custom, namespace_name, object_name, REMOVE_BACKGROUND) ||
            store_get(&cluster->store, custom, namespace_name, object_name))
            index++; /* it is held by a finalizer */
    }
    (void)removal_finish(cluster, definitions, "", name);
}
