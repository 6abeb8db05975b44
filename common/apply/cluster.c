/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/cluster.h"

#include <string.h>

#include "common/apply/cluster_internal.h"
#include "common/base/memory.h"

static void cluster_free(struct cluster *cluster)
{
    if (!cluster)
        return;
    cluster_traffic_end(cluster);
    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++)
        kube_free(cluster->connections[i].kube);
    loop_timer_stop(&cluster->idle_timer);
    http_client_free(cluster->http);
    kube_config_free(cluster->config);
    cluster_kinds_put(cluster->pool, cluster->kinds);
    free(cluster->discovered_version);
    free(cluster);
}
define_cleanup(struct cluster *, cluster_free)
#define cleanup_cluster __attribute__((cleanup(cluster_freep)))

static void close_cluster(struct cluster *cluster)
{
    struct cluster **link = &cluster->pool->clusters;

    while (*link != cluster)
        link = &(*link)->next;
    *link = cluster->next;
    cluster->pool->count--;
    cluster_free(cluster);
}

static void on_idle(void *data)
{
    close_cluster(data);
}

struct cluster_pool *cluster_pool_new(struct loop *loop, const char *user_agent)
{
    struct cluster_pool *pool = xcalloc(1, sizeof(*pool));

    pool->loop = loop;
    pool->user_agent = xstrdup(user_agent);
    return pool;
}

void cluster_pool_on_unauthorized(struct cluster_pool *pool,
                                  cluster_unauthorized_fn *on_unauthorized, void *data)
{
    pool->on_unauthorized = on_unauthorized;
    pool->unauthorized_data = data;
}

void cluster_note_error(struct cluster *cluster, const struct error *err)
{
    const struct cluster_pool *pool = cluster->pool;

    if (err->http_status == 401 && pool->on_unauthorized)
        pool->on_unauthorized(pool->unauthorized_data, cluster, err);
}

void cluster_pool_free(struct cluster_pool *pool)
{
    if (!pool)
        return;
    while (pool->clusters)
        close_cluster(pool->clusters);
    cluster_kinds_free_all(pool);
    cluster_traffic_free_all(pool);
    free(pool->user_agent);
    free(pool);
}

static int open_connection(struct cluster *cluster, struct cluster_connection *connection,
                           struct error *err)
{
    cleanup_kube_config struct kube_config *config = kube_config_copy(cluster->config);

    if (kube_new(cluster->pool->loop, cluster->http, config, &connection->kube, err) < 0)
        return -1;
    (void)steal(&config);
    kube_share_back_off(connection->kube);
    return 0;
}

int cluster_connection_for_watch(struct cluster *cluster,
                                 struct cluster_connection **ret_connection, struct error *err)
{
    struct cluster_connection *connection = cluster->connections;
    const struct cluster_connection *end = connection + CLUSTER_CONNECTIONS_MAX;

    while (connection < end && connection->watch_count == CLUSTER_CONNECTION_WATCHES)
        connection++;
    if (connection == end)
        return error_set(err, ERROR_TEMPORARY,
                         "too many watches at server '%s' (the limit is %d); retry later",
                         cluster_server(cluster), CLUSTER_WATCHES_MAX);
    *ret_connection = connection;
    return connection->kube ? 0 : open_connection(cluster, connection, err);
}

static struct cluster *find_cluster(const struct cluster_pool *pool, const char *identity)
{
    for (struct cluster *cluster = pool->clusters; cluster; cluster = cluster->next) {
        if (strcmp(cluster->identity, identity) == 0)
            return cluster;
    }
    return NULL;
}

size_t cluster_pool_used(const struct cluster_pool *pool)
{
    size_t used = 0;

    for (const struct cluster *cluster = pool->clusters; cluster; cluster = cluster->next)
        used += cluster->references ? 1 : 0;
    return used;
}

/* Makes room for one more by closing the cluster that was idle for longest. It is closed from the
 * loop: this function may have been called from a callback of its client. */
static int make_room(struct cluster_pool *pool, struct error *err)
{
    struct cluster *oldest = NULL;

    for (struct cluster *cluster = pool->clusters; cluster; cluster = cluster->next) {
        if (!cluster->references && (!oldest || cluster->idle_since_ms < oldest->idle_since_ms))
            oldest = cluster;
    }
    if (cluster_pool_used(pool) >= CLUSTERS_MAX)
        return error_set(err, ERROR_TEMPORARY,
                         "too many target clusters in use (the limit is %d); retry later",
                         CLUSTERS_MAX);
    if (pool->count >= CLUSTERS_MAX)
        loop_timer_start(&oldest->idle_timer, 0);
    return 0;
}

int cluster_get(struct cluster_pool *pool, struct kube_config *config, struct cluster **ret_cluster,
                struct error *err)
{
    cleanup_kube_config struct kube_config *owned = config;
    cleanup_cluster struct cluster *cluster = NULL;
    char identity[DIGEST_HEX_MAX] = "";

    kube_config_identity(config, /* has_credentials= */ true, identity);
    *ret_cluster = find_cluster(pool, identity);
    if (*ret_cluster) {
        (void)cluster_ref(*ret_cluster);
        return 0;
    }
    if (make_room(pool, err) < 0)
        return -1;
    cluster = xcalloc(1, sizeof(*cluster));
    cluster->pool = pool;
    memcpy(cluster->identity, identity, sizeof(identity));
    kube_config_hash(config, cluster->hash);
    loop_timer_init(&cluster->idle_timer, pool->loop, on_idle, cluster);
    cluster->lookups_end = &cluster->lookups;
    cluster->config = steal(&owned);
    cluster->kinds = cluster_kinds_get(pool, config);
    if (http_client_new(pool->loop, pool->user_agent, &cluster->http, err) < 0 ||
        open_connection(cluster, &cluster->connections[0], err) < 0)
        return -1;
    cluster_traffic_begin(cluster);
    cluster->next = pool->clusters;
    pool->clusters = cluster;
    pool->count++;
    *ret_cluster = cluster_ref(steal(&cluster));
    return 0;
}

struct cluster *cluster_ref(struct cluster *cluster)
{
    cluster->references++;
    loop_timer_stop(&cluster->idle_timer);
    return cluster;
}

void cluster_put(struct cluster *cluster)
{
    if (!cluster || --cluster->references)
        return;
    cluster->idle_since_ms = loop_now_ms(cluster->pool->loop);
    loop_timer_start(&cluster->idle_timer, CLUSTER_IDLE_MS);
}

size_t cluster_watch_count(const struct cluster *cluster)
{
    size_t count = 0;

    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++)
        count += cluster->connections[i].watch_count;
    return count;
}

struct kube *cluster_kube(struct cluster *cluster)
{
    return cluster->connections[0].kube;
}

const char *cluster_hash(const struct cluster *cluster)
{
    return cluster->hash;
}

const char *cluster_server(const struct cluster *cluster)
{
    return kube_server(cluster->connections[0].kube);
}
