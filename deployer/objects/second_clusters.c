/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters of Targets that a configuration refers to by name. */
#include <string.h>

#include "common/base/memory.h"
#include "deployer/objects/work.h"

struct cluster *manifest_find_cluster(const struct second_cluster *seconds, size_t count,
                                      const char *target)
{
    for (size_t i = 0; target && i < count; i++) {
        if (strcmp(seconds[i].target, target) == 0)
            return seconds[i].cluster;
    }
    return NULL;
}

struct cluster **manifest_check_clusters(struct manifest_config *config,
                                         const struct second_cluster *seconds, size_t count)
{
    struct cluster **clusters = xcalloc(config->check_count + 1, sizeof(struct cluster *));

    for (size_t i = 0; i < config->check_count; i++) {
        struct custom_check *check = &config->checks[i];

        clusters[i] = manifest_find_cluster(seconds, count, check->target_name);
        for (size_t j = 0; j < check->requirement_count; j++) {
            struct check_value_from *from = check->requirements[j].value_from;

            if (from)
                from->cluster = manifest_find_cluster(seconds, count, from->target_name);
        }
    }
    return clusters;
}

struct cluster **manifest_export_clusters(const struct manifest_config *config,
                                          const struct second_cluster *seconds, size_t count)
{
    struct cluster **clusters = xcalloc(config->export_count + 1, sizeof(struct cluster *));

    for (size_t i = 0; i < config->export_count; i++)
        clusters[i] = manifest_find_cluster(seconds, count, config->exports[i].target_name);
    return clusters;
}

void manifest_seconds_free(struct second_cluster *seconds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cluster_put(seconds[i].cluster);
        free(seconds[i].target);
    }
    free(seconds);
}
