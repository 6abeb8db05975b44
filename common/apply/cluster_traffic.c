/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/cluster_traffic.h"

#include <string.h>

#include "common/apply/cluster_internal.h"
#include "common/base/memory.h"
#include "common/kube/back_off.h"

/* The last place is that of all servers that have none of their own. */
enum { OTHERS = CLUSTER_TRAFFIC_SERVERS_MAX };

static bool is_of(const struct cluster_traffic *traffic, const char *hash)
{
    return strcmp(traffic->hash, hash) == 0;
}

static bool is_outdated(const struct cluster_traffic *traffic, uint64_t now_ms)
{
    return traffic->cluster_count == 0 && now_ms - traffic->used_ms >= CLUSTER_TRAFFIC_AGE_MS;
}

static void traffic_free(struct cluster_traffic *traffic)
{
    if (!traffic)
        return;
    free(traffic->server);
    free(traffic);
}

/* Where the server is, or may be. */
static size_t place_of(const struct cluster_pool *pool, const char *hash)
{
    uint64_t now_ms = loop_now_ms(pool->loop);
    size_t free_place = OTHERS;

    for (size_t i = 0; i < OTHERS; i++) {
        const struct cluster_traffic *traffic = pool->traffic[i];

        if (traffic && is_of(traffic, hash))
            return i;
        if (free_place == OTHERS && (!traffic || is_outdated(traffic, now_ms)))
            free_place = i;
    }
    return free_place;
}

void cluster_traffic_begin(struct cluster *cluster)
{
    struct cluster_pool *pool = cluster->pool;
    size_t place = place_of(pool, cluster->hash);
    const char *hash = place == OTHERS ? "" : cluster->hash;
    struct cluster_traffic **traffic = &pool->traffic[place];

    if (!*traffic || !is_of(*traffic, hash)) {
        traffic_free(*traffic);
        *traffic = xcalloc(1, sizeof(**traffic));
        (*traffic)->server = place == OTHERS ? xstrdup("") : xstrdup(cluster_server(cluster));
        memcpy((*traffic)->hash, hash, strlen(hash) + 1);
    }
    (*traffic)->cluster_count++;
    cluster->traffic = *traffic;
    kube_count_in(cluster_kube(cluster), &cluster->traffic->requests);
}

void cluster_traffic_end(struct cluster *cluster)
{
    struct cluster_traffic *traffic = cluster->traffic;

    if (!traffic)
        return;
    traffic->cluster_count--;
    traffic->used_ms = loop_now_ms(cluster->pool->loop);
    cluster->traffic = NULL;
}

void cluster_traffic_free_all(struct cluster_pool *pool)
{
    for (size_t i = 0; i < CLUSTER_TRAFFIC_MAX; i++)
        traffic_free(pool->traffic[i]);
}

static void add_state(struct cluster_traffic *traffic, const struct cluster *cluster)
{
    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++) {
        const struct cluster_connection *connection = &cluster->connections[i];

        if (!connection->kube)
            continue;
        traffic->connections++;
        traffic->watches += connection->watch_count;
        traffic->is_backing_off = traffic->is_backing_off || kube_is_backing_off(connection->kube);
    }
}

size_t cluster_pool_traffic(const struct cluster_pool *pool,
                            struct cluster_traffic ret_traffic[CLUSTER_TRAFFIC_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < CLUSTER_TRAFFIC_MAX; i++) {
        if (!pool->traffic[i])
            continue;
        ret_traffic[count] = *pool->traffic[i];
        for (const struct cluster *cluster = pool->clusters; cluster; cluster = cluster->next) {
            if (cluster->traffic == pool->traffic[i])
                add_state(&ret_traffic[count], cluster);
        }
        count++;
    }
    return count;
}
