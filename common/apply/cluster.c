/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/cluster.h"

#include <string.h>

#include "common/apply/cluster_internal.h"
#include "common/base/memory.h"

static void cluster_free(struct cluster *cluster)
{
    if (!cluster)
        return;
    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++)
        kube_free(cluster->connections[i].kube);
    cluster_traffic_end(cluster);
    loop_timer_stop(&cluster->idle_timer);
    cluster_kinds_put(cluster->pool, cluster->kinds);
    free(cluster->discovered_version);
    free(cluster);
}
define_cleanup(struct cluster *, cluster_free)
#define cleanup_cluster __attribute__((cleanup(cluster_freep)))

static void add_idle(struct cluster *cluster)
{
    struct cluster_pool *pool = cluster->pool;

    cluster->next_idle = NULL;
    cluster->previous_idle = pool->latest_idle;
    *(pool->latest_idle ? &pool->latest_idle->next_idle : &pool->longest_idle) = cluster;
    pool->latest_idle = cluster;
    pool->used_count--;
}

static void remove_idle(struct cluster *cluster)
{
    struct cluster_pool *pool = cluster->pool;

    *(cluster->previous_idle ? &cluster->previous_idle->next_idle : &pool->longest_idle) =
        cluster->next_idle;
    *(cluster->next_idle ? &cluster->next_idle->previous_idle : &pool->latest_idle) =
        cluster->previous_idle;
    pool->used_count++;
}

static void open_cluster(struct cluster *cluster)
{
    struct cluster_pool *pool = cluster->pool;

    cluster->next = pool->clusters;
    if (cluster->next)
        cluster->next->previous = cluster;
    pool->clusters = cluster;
    hash_table_add(&pool->by_identity, &cluster->entry, hash_text(cluster->identity));
    pool->count++;
    pool->used_count++;
}

static void close_cluster(struct cluster *cluster)
{
    struct cluster_pool *pool = cluster->pool;

    if (!cluster->references)
        remove_idle(cluster);
    *(cluster->previous ? &cluster->previous->next : &pool->clusters) = cluster->next;
    if (cluster->next)
        cluster->next->previous = cluster->previous;
    hash_table_remove(&pool->by_identity, &cluster->entry);
    pool->count--;
    pool->used_count--;
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
    pool->clusters_max = CLUSTERS_MAX;
    return pool;
}

void cluster_pool_set_max(struct cluster_pool *pool, size_t clusters_max)
{
    pool->clusters_max = clusters_max;
}

void cluster_pool_set_stream_s(struct cluster_pool *pool, uint32_t stream_s)
{
    pool->stream_s = stream_s;
}

void cluster_pool_limit_bookmarks(struct cluster_pool *pool)
{
    pool->has_few_bookmarks = true;
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
    hash_table_done(&pool->by_identity);
    text_pool_done(&pool->texts);
    kube_watch_pool_done(&pool->watches);
    http_client_free(pool->http);
    free(pool->user_agent);
    free(pool);
}

/* Takes config over, also on failure. */
static int open_connection(struct cluster *cluster, struct cluster_connection *connection,
                           struct kube_config *config, struct error *err)
{
    cleanup_kube_config struct kube_config *owned = config;
    struct cluster_pool *pool = cluster->pool;

    if (!pool->http && http_client_new(pool->loop, pool->user_agent, &pool->http, err) < 0)
        return -1;
    if (kube_new(pool->loop, pool->http, config, &connection->kube, err) < 0)
        return -1;
    (void)steal(&owned);
    kube_share_back_off(connection->kube);
    if (cluster->traffic)
        kube_count_in(connection->kube, &cluster->traffic->requests);
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
                         "too many watches at server \"%s\" (the limit is %d); retry later",
                         cluster_server(cluster), CLUSTER_WATCHES_MAX);
    *ret_connection = connection;
    if (connection->kube)
        return 0;
    return open_connection(cluster, connection,
                           kube_config_copy(kube_get_config(cluster_kube(cluster))), err);
}

static struct cluster *find_cluster(const struct cluster_pool *pool, const char *identity)
{
    for (struct hash_entry *entry = hash_table_find(&pool->by_identity, hash_text(identity)); entry;
         entry = hash_entry_next(entry)) {
        struct cluster *cluster = (struct cluster *)entry;

        if (strcmp(cluster->identity, identity) == 0)
            return cluster;
    }
    return NULL;
}

size_t cluster_pool_used(const struct cluster_pool *pool)
{
    return pool->used_count;
}

/* Makes room for one more by closing the cluster that was idle for longest. It is closed from the
 * loop: this function may have been called from a callback of its client. */
static int make_room(struct cluster_pool *pool, struct error *err)
{
    if (pool->used_count >= pool->clusters_max)
        return error_set(err, ERROR_TEMPORARY,
                         "too many target clusters in use (the limit is %zu); retry later",
                         pool->clusters_max);
    if (pool->count >= pool->clusters_max)
        loop_timer_start(&pool->longest_idle->idle_timer, 0);
    return 0;
}

int cluster_get(struct cluster_pool *pool, struct kube_config *config, struct cluster **ret_cluster,
                struct error *err)
{
    cleanup_kube_config struct kube_config *owned = config;
    cleanup_cluster struct cluster *cluster = NULL;
    char identity[KUBE_IDENTITY_SIZE] = "";

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
    cluster->kinds = cluster_kinds_get(pool, config);
    if (open_connection(cluster, &cluster->connections[0], steal(&owned), err) < 0)
        return -1;
    cluster_traffic_begin(cluster);
    open_cluster(cluster);
    cluster->references = 1;
    *ret_cluster = steal(&cluster);
    return 0;
}

struct cluster *cluster_ref(struct cluster *cluster)
{
    if (cluster->references++ == 0)
        remove_idle(cluster);
    loop_timer_stop(&cluster->idle_timer);
    return cluster;
}

void cluster_put(struct cluster *cluster)
{
    if (!cluster || --cluster->references)
        return;
    add_idle(cluster);
    loop_timer_start(&cluster->idle_timer, cluster->is_retired ? 0 : CLUSTER_IDLE_MS);
}

void cluster_retire(struct cluster *cluster)
{
    cluster->is_retired = true;
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
