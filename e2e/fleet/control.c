/* SPDX-License-Identifier: Apache-2.0 */
/* The control address: commands for one cluster or a range of clusters ("clusters=3" or
 * "clusters=0-9"), and what can be measured. See e2e/fleet/README.md. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"
#include "e2e/fleet/effects.h"
#include "e2e/fleet/fleet.h"
#include "e2e/fleet/replicate.h"

struct range {
    uint32_t first, last;
};

static int parse_range(const struct fleet *fleet, const struct query *query,
                       struct range *ret_range, struct error *err)
{
    uint64_t max = fleet->settings.cluster_count - 1, first = 0, last = max;
    const char *text = query_get(query, "clusters");
    size_t size = 0;

    if (text) {
        size = number_scan(text, max, &first);
        last = first;
        if (size > 0 && text[size] == '-' && !number_parse(text + size + 1, max, &last))
            size = 0;
        if (size == 0 || last < first || (text[size] && text[size] != '-'))
            return error_set(err, ERROR_INVALID,
                             "parameter \"clusters\" is \"%s\", expected N or N-M up to %llu", text,
                             (unsigned long long)max);
    }
    *ret_range = (struct range){(uint32_t)first, (uint32_t)last};
    return 0;
}

/* One command for one cluster. */
typedef int command_fn(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                       struct error *err);

static int command_fault(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                         struct error *err)
{
    (void)fleet;
    if (faults_add(&cluster->faults, query, err) < 0)
        return -1;
    /* A server that goes down drops all its connections. */
    if (faults_has(&cluster->faults, FAULT_DOWN))
        fleet_drop_connections(cluster);
    return 0;
}

static int command_heal(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                        struct error *err)
{
    bool had_silent = faults_has(&cluster->faults, FAULT_SILENT);

    (void)fleet;
    (void)query;
    (void)err;
    faults_done(&cluster->faults);
    if (had_silent)
        fleet_drop_connections(cluster);
    return 0;
}

static int command_restart(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                           struct error *err)
{
    (void)fleet;
    (void)query;
    (void)err;
    fleet_drop_connections(cluster);
    return 0;
}

static int command_expire(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                          struct error *err)
{
    struct store *store = &cluster->store;

    (void)fleet;
    (void)query;
    (void)err;
    /* One version is skipped, so that even a client that has seen everything must list again. */
    history_forget(&store->history, store->pool, ++store->version);
    fleet_drop_connections(cluster);
    return 0;
}

static int command_certificate(struct fleet *fleet, struct cluster *cluster,
                               const struct query *query, struct error *err)
{
    struct authority *authority = NULL;

    (void)query;
    if (authority_new("fleet-ca", &authority, err) < 0)
        return -1;
    authority_free(fleet->authorities[cluster->index]);
    fleet->authorities[cluster->index] = authority;
    cluster->certificate_generation++;
    fleet_drop_connections(cluster);
    return 0;
}

static int command_token(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                         struct error *err)
{
    (void)fleet;
    (void)query;
    (void)err;
    cluster->token_generation++;
    return 0;
}

static int command_log(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                       struct error *err)
{
    const char *value = query_get(query, "enabled");

    (void)fleet;
    (void)err;
    cluster->is_logged = !value || query_flag(query, "enabled");
    cluster->has_logged_bodies = query_flag(query, "bodies");
    buffer_clear(&cluster->log);
    return 0;
}

static int command_reset(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                         struct error *err)
{
    (void)fleet;
    (void)query;
    (void)err;
    counters_reset(&cluster->counters, cluster->shared->pool);
    return 0;
}

/* A namespace that stays in Terminating: a ConfigMap with a finalizer holds it. */
static int command_terminate(struct fleet *fleet, struct cluster *cluster,
                             const struct query *query, struct error *err)
{
    const char *name = query_get(query, "namespace");
    const struct resource *namespaces = cluster_builtin(cluster, "", "namespaces");
    cleanup_json json_t *object = NULL;

    (void)fleet;
    if (!name || !store_get(&cluster->store, namespaces, "", name))
        return error_set(err, ERROR_INVALID, "namespace \"%s\" not found in cluster %u",
                         name ? name : "", cluster->index);
    object =
        json_pack("{s:{s:s, s:s, s:s, s:s, s:[s]}}", "metadata", "name", "fleet-holds-namespace",
                  "namespace", name, "uid", "00000000-0000-4000-8000-000000000000",
                  "creationTimestamp", "2026-01-01T00:00:00Z", "finalizers", "fleet.test/hold");
    (void)store_put(&cluster->store, cluster_builtin(cluster, "", "configmaps"), object);
    (void)removal_start(cluster, namespaces, "", name, REMOVE_BACKGROUND);
    return 0;
}

static int command_copy(struct fleet *fleet, struct cluster *cluster, const struct query *query,
                        struct error *err)
{
    uint64_t from = 0;

    if (query_number(query, "from", fleet->settings.cluster_count - 1, &from, err) < 0)
        return -1;
    if (from == cluster->index)
        return error_set(err, ERROR_INVALID, "cluster %u cannot be copied to itself",
                         cluster->index);
    cluster_copy(cluster, &fleet->clusters[from]);
    fleet_drop_connections(cluster);
    return 0;
}

static int command_replicate(struct fleet *fleet, struct cluster *cluster,
                             const struct query *query, struct error *err)
{
    const char *prefix = query_get(query, "prefix");
    const char *namespace_name = query_get(query, "namespace");
    const char *resources = query_get(query, "resources");
    uint64_t from = 0;

    if (query_number(query, "from", fleet->settings.cluster_count - 1, &from, err) < 0)
        return -1;
    if (from == 0 || cluster->index == 0 || from == cluster->index || !prefix || !*prefix)
        return error_set(err, ERROR_INVALID,
                         "parameter \"prefix\" and two different clusters are required, neither of "
                         "them the control plane");
    fleet_drop_connections(cluster);
    return replicate(&(struct replica){.from = &fleet->clusters[from],
                                       .to = cluster,
                                       .control_plane = &fleet->clusters[0],
                                       .prefix = prefix,
                                       .namespace_name = namespace_name ? namespace_name : "",
                                       .resources = resources ? resources : ""},
                     err);
}

static const struct {
    const char *name;
    command_fn *run;
} commands[] = {
    {"fault", command_fault},
    {"heal", command_heal},
    {"restart", command_restart},
    {"expire", command_expire},
    {"certificate", command_certificate},
    {"token", command_token},
    {"log", command_log},
    {"reset", command_reset},
    {"terminate", command_terminate},
    {"copy", command_copy},
    {"replicate", command_replicate},
};

static int run_command(struct fleet *fleet, const struct query *query, struct range range,
                       struct error *err)
{
    for (size_t i = 0; i < array_length(commands); i++) {
        if (strcmp(commands[i].name, query->segments[0]) != 0)
            continue;
        for (uint32_t k = range.first; k <= range.last; k++) {
            if (commands[i].run(fleet, &fleet->clusters[k], query, err) < 0)
                return -1;
        }
        return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "unknown command \"%s\"", query->segments[0]);
}

static void reply_counters(const struct fleet *fleet, struct range range, struct reply *reply)
{
    struct counters sum = {0};
    cleanup_json json_t *answer = NULL;

    for (uint32_t i = range.first; i <= range.last; i++)
        counters_add(&sum, fleet->shared.pool, &fleet->clusters[i].counters);
    answer = counters_json(&sum);
    counters_done(&sum, fleet->shared.pool);
    reply_json(reply, 200, answer);
}

static void reply_memory(const struct fleet *fleet, struct range range, struct reply *reply)
{
    size_t objects = 0, bytes = 0, texts = 0, text_bytes = 0;
    struct mallinfo2 info = mallinfo2();
    cleanup_json json_t *answer = NULL;

    for (uint32_t i = range.first; i <= range.last; i++) {
        size_t more = 0, more_bytes = 0;

        store_size(&fleet->clusters[i].store, &more, &more_bytes);
        objects += more;
        bytes += more_bytes + sizeof(struct cluster);
    }
    text_pool_size(fleet->shared.pool, &texts, &text_bytes);
    answer = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "clusters",
                       (json_int_t)(range.last - range.first + 1), "objects", (json_int_t)objects,
                       "objectBytes", (json_int_t)bytes, "texts", (json_int_t)texts, "textBytes",
                       (json_int_t)text_bytes, "allocatedBytes",
                       (json_int_t)(info.uordblks + info.hblkhd));
    reply_json(reply, 200, answer);
}

static void reply_kubeconfigs(const struct fleet *fleet, struct range range, struct reply *reply)
{
    cleanup_json json_t *answer = json_object();

    for (uint32_t i = range.first; i <= range.last; i++) {
        cleanup_free char *text = fleet_kubeconfig(fleet, i);
        char key[16];

        (void)snprintf(key, sizeof(key), "%u", i);
        (void)json_object_set_new(answer, key, json_string(text));
    }
    reply_json(reply, 200, answer);
}

static int read_something(const struct fleet *fleet, const struct query *query, struct range range,
                          struct reply *reply, struct error *err)
{
    const char *name = query->segments[0];
    const struct cluster *cluster = &fleet->clusters[range.first];

    if (strcmp(name, "counters") == 0)
        reply_counters(fleet, range, reply);
    else if (strcmp(name, "memory") == 0)
        reply_memory(fleet, range, reply);
    else if (strcmp(name, "kubeconfigs") == 0)
        reply_kubeconfigs(fleet, range, reply);
    else if (strcmp(name, "log") == 0)
        reply_text(reply, 200, cluster->log.size > 0 ? cluster->log.data : "");
    else
        return error_set(err, ERROR_NOT_FOUND, "unknown path \"/%s\"", name);
    return 0;
}

void fleet_on_control(void *data, struct exchange *exchange)
{
    struct fleet *fleet = data;
    cleanup_query struct query query = {0};
    cleanup_reply struct reply reply = {0};
    struct range range = {0};
    struct error err = {0};
    bool is_read = strcmp(exchange->method, "GET") == 0;
    int result = -1;

    reply_init(&reply);
    reply_text(&reply, 200, "ok\n");
    query_parse(exchange->target, &query);
    if (query.segment_count != 1)
        error_write(&err, ERROR_NOT_FOUND, "expected a path with one segment");
    else if (parse_range(fleet, &query, &range, &err) == 0)
        result = is_read ? read_something(fleet, &query, range, &reply, &err)
                         : run_command(fleet, &query, range, &err);
    if (result < 0)
        reply_text(&reply, err.kind == ERROR_NOT_FOUND ? 404 : 400, err.text);
    exchange_reply(exchange, &reply);
}
