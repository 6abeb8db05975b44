/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/fleet.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "e2e/fleet/api.h"

/* Namespaces that every cluster has. */
static const char *const first_namespaces[] = {"default", "kube-system", "kube-public",
                                               "kube-node-lease"};

static void create_namespace(struct cluster *cluster, const char *name)
{
    cleanup_query struct query query = {0};
    cleanup_reply struct reply reply = {0};
    cleanup_free char *body = xasprintf(
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name);
    struct api_call call = {.cluster = cluster,
                            .query = &query,
                            .method = "POST",
                            .content_type = "application/json",
                            .accept = "",
                            .user_agent = "kube-apiserver",
                            .body = body,
                            .body_size = strlen(body)};

    reply_init(&reply);
    query_parse("/api/v1/namespaces", &query);
    api_resolve(&call);
    api_handle(&call, &reply);
}

int fleet_new(const struct fleet_settings *settings, struct loop *loop, struct fleet **ret_fleet,
              struct error *err)
{
    cleanup_fleet struct fleet *fleet = xcalloc(1, sizeof(*fleet));

    fleet->settings = *settings;
    fleet->loop = loop;
    fleet->fd = fleet->control_fd = -1;
    fleet->shared = (struct cluster_shared){.pool = text_pool_new(),
                                            .resources = resources_new(),
                                            .clock = loop_clock(loop),
                                            .has_controllers = settings->has_controllers};
    fleet->watch_settings =
        (struct watch_settings){.loop = loop, .bookmark_ms = settings->bookmark_ms};
    fleet->clusters = xcalloc(settings->cluster_count, sizeof(*fleet->clusters));
    fleet->authorities =
        (struct authority **)xcalloc(settings->cluster_count, sizeof(struct authority *));
    for (uint32_t i = 0; i < settings->cluster_count; i++) {
        cluster_init(&fleet->clusters[i], &fleet->shared, i,
                     i == 0 ? settings->first_history_max : settings->history_max);
        for (size_t k = 0; k < array_length(first_namespaces); k++)
            create_namespace(&fleet->clusters[i], first_namespaces[k]);
    }
    connection_host_init(&fleet->host, loop, fleet_on_request, fleet);
    connection_host_init(&fleet->control_host, loop, fleet_on_control, fleet);
    if (authority_new("fleet-ca", &fleet->authority, err) < 0 || fleet_listen(fleet, err) < 0)
        return -1;
    *ret_fleet = steal(&fleet);
    return 0;
}

void fleet_drop_connections(struct cluster *cluster)
{
    for (struct connection *connection = cluster->connections; connection;
         connection = connection->next)
        connection_break(connection);
}

static void close_all(struct connection **list)
{
    while (*list)
        connection_close(*list);
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet)
        return;
    for (uint32_t i = 0; fleet->clusters && i < fleet->settings.cluster_count; i++) {
        close_all(&fleet->clusters[i].connections);
        cluster_done(&fleet->clusters[i]);
        authority_free(fleet->authorities[i]);
    }
    close_all(&fleet->control_connections);
    loop_timer_stop(&fleet->host.reaper);
    loop_timer_stop(&fleet->control_host.reaper);
    if (fleet->fd >= 0) {
        loop_remove_fd(fleet->loop, fleet->fd);
        (void)close(fleet->fd);
    }
    if (fleet->control_fd >= 0) {
        loop_remove_fd(fleet->loop, fleet->control_fd);
        (void)close(fleet->control_fd);
    }
    SSL_CTX_free(fleet->tls);
    authority_free(fleet->authority);
    free((void *)fleet->authorities);
    free(fleet->clusters);
    resources_free(fleet->shared.resources);
    text_pool_free(fleet->shared.pool);
    free(fleet);
}

uint32_t fleet_address(const struct fleet *fleet, uint32_t index)
{
    return fleet->settings.first_address + index;
}

const struct authority *fleet_authority(const struct fleet *fleet, uint32_t index)
{
    return fleet->authorities[index] ? fleet->authorities[index] : fleet->authority;
}

char *fleet_token(const struct cluster *cluster)
{
    return xasprintf("fleet-%u-%u", cluster->index, cluster->token_generation);
}

char *fleet_kubeconfig(const struct fleet *fleet, uint32_t index)
{
    const char *pem = authority_pem(fleet_authority(fleet, index));
    uint32_t address = fleet_address(fleet, index);
    cleanup_free char *data = base64_encode(pem, strlen(pem));
    cleanup_free char *token = fleet_token(&fleet->clusters[index]);
    cleanup_free char *server =
        xasprintf("https://%u.%u.%u.%u:%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
                  address & 255, fleet->settings.port);
    cleanup_json json_t *config = json_pack(
        "{s:s, s:s, s:[{s:s, s:{s:s, s:s}}], s:[{s:s, s:{s:s}}], s:[{s:s, s:{s:s, s:s}}], s:s}",
        "apiVersion", "v1", "kind", "Config", "clusters", "name", "fleet", "cluster", "server",
        server, "certificate-authority-data", data, "users", "name", "fleet", "user", "token",
        token, "contexts", "name", "fleet", "context", "cluster", "fleet", "user", "fleet",
        "current-context", "fleet");

    return doc_dump_yaml(config);
}
