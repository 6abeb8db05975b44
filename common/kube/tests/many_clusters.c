/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/tests/many_clusters.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/tests/descriptors.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

enum { TOKEN_SIZE = 900 }; /* as long as that of a service account */

void many_clusters_start(struct many_clusters *all)
{
    static const char *const proxies[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    struct error err = {0};

    *all = (struct many_clusters){0};
    for (size_t i = 0; i < array_length(proxies); i++)
        (void)unsetenv(proxies[i]);
    (void)signal(SIGPIPE, SIG_IGN);
    doc_setup();
    many_server_start(&all->server);
    must(loop_new(clock_system(), &all->loop, &err) == 0);
    must(http_client_new(all->loop, "test/1", &all->http, &err) == 0);
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct many_cluster *cluster = data;
    struct many_clusters *all = cluster->all;

    (void)object;
    all->synced_count += event == KUBE_EVENT_SYNCED;
    cluster->synced_count += event == KUBE_EVENT_SYNCED;
    all->event_count += event == KUBE_EVENT_ADDED;
    if (event == KUBE_EVENT_BROKEN) {
        all->broken_count++;
        all->broken = *err;
    }
}

static struct kube_config *make_config(const struct many_server *server, size_t number)
{
    cleanup_free char *ca = base64_encode(server->ca_pem, strlen(server->ca_pem));
    cleanup_free char *token = xasprintf("%0*zu", TOKEN_SIZE, number);
    cleanup_free char *text =
        xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
                  "users: [{name: u, user: {token: '%s'}}], clusters: [{name: c, cluster: {server: "
                  "'https://127.0.0.1:%d', certificate-authority-data: %s}}]}",
                  token, server->port, ca);
    struct kube_config *config = NULL;
    struct error err = {0};

    must(kube_config_from_text(text, &config, &err) == 0);
    return config;
}

static void open_cluster(struct many_clusters *all, struct many_cluster *cluster, size_t number)
{
    static const struct kube_resource *const resources[MANY_WATCHES] = {
        &KUBE_SECRETS, &KUBE_CONFIG_MAPS, &KUBE_PODS};
    struct error err = {0};

    cluster->all = all;
    must(kube_new(all->loop, all->http, make_config(&all->server, number), &cluster->kube, &err) ==
         0);
    kube_share_back_off(cluster->kube);
    for (size_t i = 0; i < MANY_WATCHES; i++) {
        const struct kube_watch_options options = {
            .resource = *resources[i],
            .label_selector = "managed-by=test",
            .on_event = on_event,
            .data = cluster,
        };

        must(kube_watch_start(cluster->kube, &options, &cluster->watches[i], &err) == 0);
    }
}

void many_clusters_add(struct many_clusters *all, size_t count)
{
    must(all->count == 0); /* watches hold pointers into the array */
    all->clusters = xcalloc(count, sizeof(all->clusters[0]));
    all->count = count;
    for (size_t i = 0; i < count; i++)
        open_cluster(all, &all->clusters[i], i);
}

void many_clusters_run_once(struct many_clusters *all)
{
    struct error err = {0};

    must(loop_run_once(all->loop, 20, &err) == 0);
}

static uint64_t requests_of(const struct many_clusters *all)
{
    uint64_t connections = 0;
    uint64_t requests = 0;

    http_client_counts(all->http, &connections, &requests);
    return requests;
}

void many_clusters_run_until_synced(struct many_clusters *all)
{
    while (all->synced_count < all->count * MANY_WATCHES ||
           requests_of(all) < 2 * all->count * MANY_WATCHES)
        many_clusters_run_once(all);
    for (int i = 0; i < 10; i++) /* the responses to the last watches */
        many_clusters_run_once(all);
}

static size_t resident_bytes(void)
{
    cleanup_file FILE *file = fopen("/proc/self/statm", "re");
    size_t pages = 0;
    size_t resident = 0;

    must(file && fscanf(file, "%zu %zu", &pages, &resident) == 2);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

struct many_cost many_clusters_cost(void)
{
    struct many_cost cost = {.resident_bytes = resident_bytes(), .descriptors = open_descriptors()};

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    struct mallinfo2 info = mallinfo2();

    cost.allocated_bytes = info.uordblks + info.hblkhd;
#endif
    return cost;
}

void many_clusters_stop(struct many_clusters *all)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t j = 0; j < MANY_WATCHES; j++)
            kube_watch_stop(all->clusters[i].watches[j]);
        kube_free(all->clusters[i].kube);
    }
    free(all->clusters);
    http_client_free(all->http);
    loop_free(all->loop);
    many_server_stop(&all->server);
}
