/* SPDX-License-Identifier: Apache-2.0 */
/* One simulated cluster: its objects, its custom resources, and what was asked of it. */
#pragma once

#include "common/base/clock.h"
#include "e2e/fleet/counters.h"
#include "e2e/fleet/faults.h"
#include "e2e/fleet/store.h"

/* What all clusters share. */
struct cluster_shared {
    struct text_pool *pool;
    struct resources *resources;
    struct clock *clock;
    uint64_t logged;      /* requests in all logs: numbers them in the order of all clusters */
    bool has_controllers; /* namespaces end, workloads become ready, owned objects are collected */
};

struct connection;

struct cluster {
    struct cluster_shared *shared;
    uint32_t index;
    struct store store;
    const struct resource **customs; /* of its CustomResourceDefinitions */
    size_t custom_count;
    uint32_t token_generation, certificate_generation;
    struct faults faults;
    struct counters counters;
    bool is_logged, has_logged_bodies;
    struct buffer log;              /* lines of JSON */
    struct connection *connections; /* that are open */
};

void cluster_init(struct cluster *cluster, struct cluster_shared *shared, uint32_t index,
                  size_t history_max);
void cluster_done(struct cluster *cluster);
/* Gives the cluster the objects and kinds of another one; see store_copy(). */
void cluster_copy(struct cluster *cluster, const struct cluster *from);

/* NULL: the cluster does not serve it. */
const struct resource *cluster_find_resource(const struct cluster *cluster, const char *group,
                                             const char *plural);
const struct resource *cluster_find_kind(const struct cluster *cluster, const char *group,
                                         const char *kind);
/* Adds the custom resource of a definition, or replaces it by a newer one. */
void cluster_add_custom(struct cluster *cluster, const struct resource *resource);
void cluster_remove_custom(struct cluster *cluster, const char *group, const char *plural);

int64_t cluster_now_s(const struct cluster *cluster);
/* A built-in resource that exists. */
const struct resource *cluster_builtin(const struct cluster *cluster, const char *group,
                                       const char *plural);
