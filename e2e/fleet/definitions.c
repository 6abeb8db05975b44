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

static json_t *stored_versions(const json_t *spec)
{
    const json_t *versions = doc_get(spec, "versions");
    json_t *names = json_array();

    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *version = json_array_get(versions, i);

        if (doc_bool_or(version, "storage", false))
            (void)json_array_append_new(names, json_string(doc_text_or(version, "name", "")));
    }
    return names;
}

static json_t *make_status(const struct cluster *cluster, const json_t *spec)
{
    char now[TIMESTAMP_MAX];

    timestamp_format(cluster_now_s(cluster) * 1000, now);
    return json_pack("{s:[o, o], s:O, s:o}", "conditions",
                     condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                     condition("Established", "InitialNamesAccepted",
                               "the initial names have been accepted", now),
                     "acceptedNames", doc_get(spec, "names"), "storedVersions",
                     stored_versions(spec));
}

void definition_written(struct cluster *cluster, const struct record *record)
{
    cleanup_json json_t *object = record_json(record, "", "");
    const json_t *spec = doc_member(object, "spec");
    const struct resource *resource = resources_custom(cluster->shared->resources, spec);

    if (!resource)
        return;
    cluster_add_custom(cluster, resource);
    if (doc_get(object, "status.conditions") || doc_get(object, "metadata.deletionTimestamp"))
        return;
    (void)json_object_set_new(object, "status", make_status(cluster, spec));
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
