/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of many clusters in one process, with three watches each, and what they cost. */
#pragma once

#include "common/kube/tests/many_server.h"
#include "common/kube/watch.h"

enum { MANY_WATCHES = 3 };

struct many_cluster {
    struct many_clusters *all;
    struct kube *kube;
    struct kube_watch *watches[MANY_WATCHES];
    size_t synced_count;
};

struct many_clusters {
    struct many_server server;
    struct loop *loop;
    struct http_client *http;
    size_t count;
    struct many_cluster *clusters;
    size_t synced_count, event_count, broken_count; /* of all watches */
    struct error broken;                            /* the last one */
};

struct many_cost {
    size_t allocated_bytes; /* by malloc(); 0 if unknown */
    size_t resident_bytes;
    unsigned descriptors;
};

void many_clusters_start(struct many_clusters *all); /* no cluster yet */
/* Adds clusters and starts their watches. */
void many_clusters_add(struct many_clusters *all, size_t count);
/* Runs the loop until each watch was synced and has an open stream. */
void many_clusters_run_until_synced(struct many_clusters *all);
void many_clusters_run_once(struct many_clusters *all);
struct many_cost many_clusters_cost(void);
void many_clusters_stop(struct many_clusters *all);
