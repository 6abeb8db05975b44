/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/cluster.h"

#include <string.h>

#include "common/base/memory.h"

enum { LOG_MAX = 8 * 1024 * 1024 };

void cluster_init(struct cluster *cluster, struct cluster_shared *shared, uint32_t index,
                  size_t history_max)
{
    *cluster = (struct cluster){.shared = shared, .index = index};
    store_init(&cluster->store, shared->pool, history_max);
    buffer_init(&cluster->log, LOG_MAX);
}

void cluster_done(struct cluster *cluster)
{
    store_done(&cluster->store);
    free((void *)cluster->customs);
    faults_done(&cluster->faults);
    counters_done(&cluster->counters, cluster->shared->pool);
    buffer_done(&cluster->log);
}

void cluster_copy(struct cluster *cluster, const struct cluster *from)
{
    store_copy(&cluster->store, &from->store);
    cluster->custom_count = 0;
    for (size_t i = 0; i < from->custom_count; i++)
        cluster_add_custom(cluster, from->customs[i]);
}

static bool is_resource(const struct resource *resource, const char *group, const char *plural)
{
    return strcmp(resource->plural, plural) == 0 && strcmp(resource->group, group) == 0;
}

const struct resource *cluster_find_resource(const struct cluster *cluster, const char *group,
                                             const char *plural)
{
    for (size_t i = 0; i < cluster->custom_count; i++) {
        if (is_resource(cluster->customs[i], group, plural))
            return cluster->customs[i];
    }
    return resources_find_builtin(cluster->shared->resources, group, plural);
}

static bool is_kind(const struct resource *resource, const char *group, const char *kind)
{
    return strcmp(resource->kind, kind) == 0 && strcmp(resource->group, group) == 0;
}

const struct resource *cluster_find_kind(const struct cluster *cluster, const char *group,
                                         const char *kind)
{
    const struct resource *resource = NULL;

    for (size_t i = 0; i < cluster->custom_count; i++) {
        if (is_kind(cluster->customs[i], group, kind))
            return cluster->customs[i];
    }
    for (size_t i = 0; (resource = resources_builtin(cluster->shared->resources, i)); i++) {
        if (is_kind(resource, group, kind))
            return resource;
    }
    return NULL;
}

void cluster_add_custom(struct cluster *cluster, const struct resource *resource)
{
    for (size_t i = 0; i < cluster->custom_count; i++) {
        if (is_resource(cluster->customs[i], resource->group, resource->plural)) {
            cluster->customs[i] = resource;
            return;
        }
    }
    cluster->customs = (const struct resource **)xreallocarray(
        (void *)cluster->customs, cluster->custom_count + 1, sizeof(struct resource *));
    cluster->customs[cluster->custom_count++] = resource;
}

void cluster_remove_custom(struct cluster *cluster, const char *group, const char *plural)
{
    for (size_t i = 0; i < cluster->custom_count; i++) {
        if (is_resource(cluster->customs[i], group, plural)) {
            cluster->customs[i] = cluster->customs[--cluster->custom_count];
            return;
        }
    }
}

int64_t cluster_now_s(const struct cluster *cluster)
{
    return clock_unix_ms(cluster->shared->clock) / 1000;
}

const struct resource *cluster_builtin(const struct cluster *cluster, const char *group,
                                       const char *plural)
{
    return resources_find_builtin(cluster->shared->resources, group, plural);
}
