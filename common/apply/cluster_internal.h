/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a cluster share. Private to cluster.c, cluster_kinds.c and cluster_watch.c. */
#pragma once

#include "common/apply/cluster.h"
#include "common/apply/cluster_traffic.h"
#include "common/base/hash_table.h"
#include "common/base/text_pool.h"
#include "common/data/digest.h"
#include "common/kube/watch.h"

enum {
    /* API servers allow 100 streams per HTTP/2 connection. Requests need some of them, so further
     * watches get further connections. */
    CLUSTER_CONNECTION_WATCHES = 64,
    CLUSTER_CONNECTIONS_MAX = CLUSTER_WATCHES_MAX / CLUSTER_CONNECTION_WATCHES,
    /* How often a group and version is asked for a kind that it did not have. */
    CLUSTER_MISS_MS = 5000,
    /* How often an object is read that may not be watched. */
    CLUSTER_POLL_MS = 5000,
};

struct cluster_connection {
    struct kube *kube; /* NULL: not needed yet */
    size_t watch_count;
};

struct cluster {
    struct hash_entry entry; /* by identity */
    struct cluster_pool *pool;
    struct cluster *next, *previous;           /* all of the pool */
    struct cluster *next_idle, *previous_idle; /* those without references */
    char identity[KUBE_IDENTITY_SIZE];         /* derived from credentials: never shown */
    char hash[NAME_HASH_SIZE];
    size_t references;
    bool is_retired; /* it is not kept when nobody refers to it */
    struct loop_timer idle_timer;
    /* The first one is for requests, too. */
    struct cluster_connection connections[CLUSTER_CONNECTIONS_MAX];
    struct cluster_kinds *kinds;
    struct cluster_lookup *lookups, **lookups_end; /* that wait for discovery, oldest first */
    struct kube_call *discovery;                   /* the request that is under way, or NULL */
    char *discovered_version;                      /* its apiVersion; NULL: all groups */
    struct cluster_stream *streams;
    struct cluster_stream *bookmarked; /* the one with bookmarks if only one has them, or NULL */
    struct cluster_traffic *traffic;   /* of its server; NULL: it was never opened */
};

struct cluster_pool {
    struct loop *loop;
    char *user_agent;
    struct http_client *http; /* NULL: not needed yet */
    size_t clusters_max;
    uint32_t stream_s; /* 0: the default */
    bool has_few_bookmarks;
    struct cluster *clusters;
    struct cluster *longest_idle, *latest_idle;
    size_t count, used_count;
    struct hash_table by_identity;
    struct hash_table kinds; /* by the identity of the server */
    struct cluster_kinds *longest_unused, *latest_unused;
    struct text_pool texts; /* of streams */
    struct kube_watch_pool watches;
    cluster_unauthorized_fn *on_unauthorized; /* or NULL */
    void *unauthorized_data;
    struct cluster_traffic *traffic[CLUSTER_TRAFFIC_MAX]; /* NULL: free */
};

/* A connection for one more watch. */
int cluster_connection_for_watch(struct cluster *cluster,
                                 struct cluster_connection **ret_connection, struct error *err)
    must_check;

/* An answer for one group and version. */
struct cluster_answer {
    char *api_version;
    uint64_t read_ms;
};

/* The kinds of a server, shared by all credentials for it and kept when no cluster uses them. */
struct cluster_kinds {
    struct hash_entry entry;                             /* by identity */
    struct cluster_kinds *next_unused, *previous_unused; /* those without references */
    char identity[KUBE_IDENTITY_SIZE];                   /* of the server, without credentials */
    size_t references;
    uint64_t used_ms;
    struct kind_set *set;
    uint64_t read_ms;  /* all groups; 0: never */
    uint64_t plain_ms; /* the server answered that it does not have that request; 0: never */
    struct cluster_answer *answers;
    size_t answer_count;
};

struct cluster_kinds *cluster_kinds_get(struct cluster_pool *pool,
                                        const struct kube_config *config);
void cluster_kinds_put(struct cluster_pool *pool, struct cluster_kinds *kinds);
void cluster_kinds_free_all(struct cluster_pool *pool);
void cluster_kinds_forget_answers(struct cluster_kinds *kinds);

/* Counts what is sent to a cluster: from its opening, and until its connections are closed. */
void cluster_traffic_begin(struct cluster *cluster);
void cluster_traffic_end(struct cluster *cluster);
void cluster_traffic_free_all(struct cluster_pool *pool);
