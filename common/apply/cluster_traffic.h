/* SPDX-License-Identifier: Apache-2.0 */
/* What was sent to which server, for metrics. The number of servers with counts of their own is
 * limited, so that users who create Targets cannot make the metrics grow: all others are one. */
#pragma once

#include "common/apply/cluster.h"
#include "common/data/names.h"
#include "common/kube/count.h"

enum {
    CLUSTER_TRAFFIC_SERVERS_MAX = 64,
    CLUSTER_TRAFFIC_MAX = CLUSTER_TRAFFIC_SERVERS_MAX + 1, /* and all others */
    /* A server that was not used for so long makes room for another one. */
    CLUSTER_TRAFFIC_AGE_MS = 60 * 60 * 1000,
};

struct cluster_traffic {
    char hash[NAME_HASH_SIZE];   /* cluster_hash(); empty: all other servers */
    char *server;                /* "": all others */
    struct kube_counts requests; /* finished requests, for all credentials */
    size_t connections, watches; /* that are open */
    bool is_backing_off;         /* it did not respond to the last attempt */
    /* Private to cluster_traffic.c. */
    size_t cluster_count; /* that are open */
    uint64_t used_ms;
};

/* Fills a copy for each server that is known; their texts are borrowed. Returns their
 * number. */
size_t cluster_pool_traffic(const struct cluster_pool *pool,
                            struct cluster_traffic ret_traffic[CLUSTER_TRAFFIC_MAX]);
