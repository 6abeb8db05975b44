/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/cluster_internal.h"
#include "common/apply/tests/api_bench.h"
#include "common/base/memory.h"
#include "common/kube/config_internal.h"

static struct cluster *open_cluster(struct api_bench *bench, const char *server, const char *token)
{
    struct kube_config *config = xcalloc(1, sizeof(*config));
    struct cluster *cluster = NULL;
    struct error err = {0};

    config->server = xstrdup(server);
    config->token = xstrdup_or_null(token);
    if (cluster_get(bench->pool, config, &cluster, &err) < 0)
        fail_msg("%s", err.text);
    return cluster;
}

static void on_done(void *data, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    *(bool *)data = true;
}

static void send(struct api_bench *bench, struct cluster *cluster, const char *name)
{
    bool is_done = false;
    const struct kube_request request = {
        .verb = KUBE_GET,
        .resource = {"", "v1", "configmaps"},
        .namespace_name = "ns",
        .name = name,
        .is_not_retried = true,
        .on_done = on_done,
        .data = &is_done,
    };
    struct error err = {0};

    assert_int_equal(kube_start(cluster_kube(cluster), &request, NULL, &err), 0);
    api_bench_run(bench, &is_done);
}

/* The traffic of a server; NULL: of all others. Fails if the server is unknown. */
static struct cluster_traffic traffic_of(const struct api_bench *bench, const char *server)
{
    static struct cluster_traffic traffic[CLUSTER_TRAFFIC_MAX];
    size_t count = cluster_pool_traffic(bench->pool, traffic);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(traffic[i].server, server ? server : "") == 0)
            return traffic[i];
    }
    fail_msg("no traffic of %s", server ? server : "other servers");
    return traffic[0];
}

static uint64_t requests_of(const struct cluster_traffic *traffic, const char *code)
{
    uint64_t count = 0;

    for (size_t i = 0; i < KUBE_COUNT_METHODS; i++) {
        for (size_t j = 0; j < KUBE_COUNT_CODES; j++)
            count += strcmp(kube_count_code(j), code) == 0 ? traffic->requests.numbers[i][j] : 0;
    }
    return count;
}

static void close_idle(struct api_bench *bench)
{
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
    api_bench_run_idle(bench);
}

static void requests_are_counted_until_after_the_cluster_is_closed(void **state)
{
    struct api_bench *bench = *state;
    cleanup_free char *server = xstrdup(cluster_server(bench->cluster));
    struct cluster_traffic traffic = {0};
    struct error err = {0};

    (void)api_bench_put(bench, "/api/v1/namespaces/ns/configmaps/a", "{}");
    send(bench, bench->cluster, "a");
    send(bench, bench->cluster, "missing");
    traffic = traffic_of(bench, server);
    assert_string_equal(traffic.hash, cluster_hash(bench->cluster));
    assert_int_equal(requests_of(&traffic, "200"), 1);
    assert_int_equal(requests_of(&traffic, "404"), 1);
    assert_int_equal(traffic.connections, 1);
    assert_false(traffic.is_backing_off);
    cluster_put(bench->cluster);
    close_idle(bench);
    assert_int_equal(bench->pool->count, 0);
    assert_int_equal(traffic_of(bench, server).connections, 0);
    assert_int_equal(cluster_get(bench->pool, api_bench_config(bench), &bench->cluster, &err), 0);
    send(bench, bench->cluster, "a");
    traffic = traffic_of(bench, server);
    assert_int_equal(requests_of(&traffic, "200"), 2);
    assert_int_equal(requests_of(&traffic, "404"), 1);
    assert_int_equal(traffic.connections, 1);
}

static void all_users_of_a_server_are_counted_together(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *one = open_cluster(bench, "https://a", "t");
    struct cluster *other = open_cluster(bench, "https://a", "u");

    assert_ptr_not_equal(one, other);
    assert_int_equal(traffic_of(bench, "https://a").connections, 2);
    cluster_put(one);
    cluster_put(other);
}

static void a_server_that_does_not_respond_is_marked(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *cluster = open_cluster(bench, "http://127.0.0.1:1", NULL);
    struct cluster_traffic traffic = {0};

    send(bench, cluster, "a");
    traffic = traffic_of(bench, "http://127.0.0.1:1");
    assert_true(traffic.is_backing_off);
    assert_int_equal(requests_of(&traffic, "<error>"), 1);
    traffic = traffic_of(bench, cluster_server(bench->cluster));
    assert_false(traffic.is_backing_off);
    cluster_put(cluster);
}

static void the_number_of_servers_is_limited(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *clusters[CLUSTER_TRAFFIC_SERVERS_MAX + 5] = {NULL};
    static struct cluster_traffic traffic[CLUSTER_TRAFFIC_MAX];

    for (size_t i = 0; i < array_length(clusters); i++) {
        cleanup_free char *server = xasprintf("https://server-%zu", i);

        clusters[i] = open_cluster(bench, server, "t");
    }
    assert_int_equal(cluster_pool_traffic(bench->pool, traffic), CLUSTER_TRAFFIC_MAX);
    /* One is that of the fixture. */
    assert_int_equal(traffic_of(bench, NULL).connections,
                     array_length(clusters) + 1 - CLUSTER_TRAFFIC_SERVERS_MAX);
    assert_int_equal(traffic_of(bench, "https://server-0").connections, 1);
    for (size_t i = 0; i < array_length(clusters); i++)
        cluster_put(clusters[i]);
    close_idle(bench);
    /* They are remembered for an hour. */
    cluster_put(open_cluster(bench, "https://new", NULL));
    assert_int_equal(traffic_of(bench, NULL).connections, 1);
    close_idle(bench);
    clock_fake_advance(&bench->clock, CLUSTER_TRAFFIC_AGE_MS);
    cluster_put(open_cluster(bench, "https://new", NULL));
    assert_int_equal(traffic_of(bench, "https://new").connections, 1);
    assert_int_equal(traffic_of(bench, NULL).connections, 0);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup_fake, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(requests_are_counted_until_after_the_cluster_is_closed),
        test(all_users_of_a_server_are_counted_together),
        test(a_server_that_does_not_respond_is_marked),
        test(the_number_of_servers_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
