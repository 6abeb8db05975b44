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
#include "common/base/tests/fault.h"
#include "common/kube/config_internal.h"

static struct kube_config *config_of(const char *server, const char *token)
{
    struct kube_config *config = xcalloc(1, sizeof(*config));

    config->server = xstrdup(server);
    config->token = xstrdup_or_null(token);
    return config;
}

static struct cluster *get_cluster(struct api_bench *bench, const char *server, const char *token)
{
    struct cluster *cluster = NULL;
    struct error err = {0};

    if (cluster_get(bench->pool, config_of(server, token), &cluster, &err) < 0)
        fail_msg("%s", err.text);
    return cluster;
}

static void clusters_are_shared_by_server_and_credentials(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *a = get_cluster(bench, "https://a", "t");
    struct cluster *again = get_cluster(bench, "https://a", "t");
    struct cluster *other_user = get_cluster(bench, "https://a", "u");
    struct cluster *b = get_cluster(bench, "https://b", "t");

    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, other_user);
    assert_ptr_not_equal(cluster_kube(a), cluster_kube(other_user));
    assert_ptr_not_equal(a, b);
    assert_string_equal(cluster_hash(a), cluster_hash(other_user));
    assert_string_not_equal(cluster_hash(a), cluster_hash(b));
    assert_string_equal(cluster_server(b), "https://b");
    assert_ptr_equal(a->kinds, other_user->kinds);
    assert_ptr_not_equal(a->kinds, b->kinds);
    cluster_put(a);
    cluster_put(again);
    cluster_put(other_user);
    cluster_put(b);
    cluster_put(NULL);
}

static void an_idle_cluster_is_closed_after_a_minute(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *cluster = get_cluster(bench, "https://a", "t");

    assert_int_equal(bench->pool->count, 2);
    clock_fake_advance(&bench->clock, 10 * CLUSTER_IDLE_MS);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, 2);
    cluster_put(cluster);
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS - 1);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, 2);
    /* Used again, it lives on. */
    assert_ptr_equal(get_cluster(bench, "https://a", "t"), cluster);
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, 2);
    cluster_put(cluster);
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, 1);
}

static void a_retired_cluster_is_closed_as_soon_as_nobody_refers_to_it(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *cluster = get_cluster(bench, "https://a", "t");

    (void)cluster_ref(cluster);
    cluster_retire(cluster);
    cluster_put(cluster);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, 2);
    cluster_put(cluster);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, 1);
}

static void beyond_the_limit_the_longest_idle_cluster_is_closed(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *clusters[CLUSTERS_MAX] = {bench->cluster};
    struct cluster *refused = NULL;
    struct error err = {0};

    for (size_t i = 1; i < CLUSTERS_MAX; i++) {
        char server[32];

        (void)snprintf(server, sizeof(server), "https://host%zu", i);
        clusters[i] = get_cluster(bench, server, NULL);
    }
    assert_int_equal(cluster_get(bench->pool, config_of("https://more", "t"), &refused, &err), -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_non_null(strstr(err.text, "too many target clusters"));
    /* One that is there is still found. */
    assert_ptr_equal(get_cluster(bench, "https://host7", NULL), clusters[7]);
    cluster_put(clusters[7]);
    cluster_put(clusters[8]);
    clock_fake_advance(&bench->clock, 1);
    cluster_put(clusters[7]);
    clusters[8] = get_cluster(bench, "https://more", "t");
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, CLUSTERS_MAX);
    assert_ptr_equal(get_cluster(bench, "https://host7", NULL), clusters[7]);
    for (size_t i = 1; i < CLUSTERS_MAX; i++)
        cluster_put(clusters[i]);
}

static void the_limit_can_be_raised_for_a_fleet(void **state)
{
    enum { COUNT = 3 * CLUSTERS_MAX };
    struct api_bench *bench = *state;
    struct cluster *clusters[COUNT] = {NULL};

    cluster_pool_set_max(bench->pool, COUNT + 1);
    for (size_t i = 0; i < COUNT; i++) {
        char server[32];

        (void)snprintf(server, sizeof(server), "https://host%zu", i);
        clusters[i] = get_cluster(bench, server, "t");
    }
    assert_int_equal(cluster_pool_used(bench->pool), COUNT + 1);
    for (size_t i = 0; i < COUNT; i += 2)
        cluster_put(clusters[i]);
    assert_int_equal(cluster_pool_used(bench->pool), COUNT / 2 + 1);
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
    api_bench_run_idle(bench);
    assert_int_equal(bench->pool->count, COUNT / 2 + 1);
    for (size_t i = 1; i < COUNT; i += 2)
        cluster_put(clusters[i]);
}

static void configurations_that_cannot_be_used_are_refused(void **state)
{
    struct api_bench *bench = *state;
    struct cluster_pool *pool = NULL;
    struct cluster *cluster = NULL;
    struct error err = {0};

    assert_int_equal(cluster_get(bench->pool, config_of("http://plain", "t0ken"), &cluster, &err),
                     -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(strstr(err.text, "t0ken"));
    assert_int_equal(bench->pool->count, 1);
    pool = cluster_pool_new(bench->loop, "test/1");
    fault_arm("curl_multi_setopt", 1, 0);
    assert_int_equal(cluster_get(pool, config_of("https://a", "t"), &cluster, &err), -1);
    assert_int_equal(err.kind, ERROR_INTERNAL);
    cluster_pool_free(pool);
    cluster_pool_free(NULL);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup_fake, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(clusters_are_shared_by_server_and_credentials),
        test(an_idle_cluster_is_closed_after_a_minute),
        test(a_retired_cluster_is_closed_as_soon_as_nobody_refers_to_it),
        test(beyond_the_limit_the_longest_idle_cluster_is_closed),
        test(the_limit_can_be_raised_for_a_fleet),
        test(configurations_that_cannot_be_used_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
