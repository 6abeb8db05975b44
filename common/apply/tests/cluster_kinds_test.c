/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/cluster_internal.h"
#include "common/apply/tests/api_bench.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

#define RESOURCE(plural_, kind_, scope_)                                                           \
    "{\"resource\": \"" plural_ "\", \"responseKind\": {\"kind\": \"" kind_                        \
    "\"}, \"scope\": \"" scope_ "\", \"verbs\": [\"get\"]}"
#define GROUP(name_, versions_)                                                                    \
    "{\"metadata\": {\"name\": \"" name_ "\"}, \"versions\": [" versions_ "]}"
#define VERSION(name_, freshness_, resources_)                                                     \
    "{\"version\": \"" name_ "\", \"freshness\": \"" freshness_ "\", \"resources\": [" resources_  \
    "]}"
#define ALL(groups_) "{\"kind\": \"APIGroupDiscoveryList\", \"items\": [" groups_ "]}"
#define ROWS(version_, rows_)                                                                      \
    "{\"kind\": \"APIResourceList\", \"groupVersion\": \"" version_ "\", \"resources\": [" rows_   \
    "]}"
#define ROW(plural_, kind_)                                                                        \
    "{\"name\": \"" plural_ "\", \"kind\": \"" kind_                                               \
    "\", \"namespaced\": true, \"verbs\": [\"get\"]}"

static const char BOATS[] = ALL(GROUP(
    "boats.org",
    VERSION("v1", "Current",
            RESOURCE("ferries", "Ferry", "Namespaced") "," RESOURCE(
                "docks", "Dock", "Cluster")) "," VERSION("v2", "Stale",
                                                         RESOURCE("ferries", "Ferry", "Cluster"))));

struct got {
    bool is_done;
    int count;
    char plural[64];
    bool is_namespaced;
    struct error err;
    struct cluster_lookup *lookup, *cancelled;
    struct got *next; /* looked up from inside on_done */
    struct cluster *cluster;
};

static void find(struct cluster *cluster, const char *version, const char *kind, struct got *got);

static void note(void *data, const struct kind *kind, const struct error *err)
{
    struct got *got = data;

    got->is_done = true;
    got->count++;
    got->lookup = NULL;
    got->err = *err;
    assert_int_equal(kind != NULL, err->kind == ERROR_NONE);
    if (kind) {
        (void)snprintf(got->plural, sizeof(got->plural), "%s/%s/%s", kind->group, kind->version,
                       kind->plural);
        got->is_namespaced = kind->is_namespaced;
    }
    cluster_lookup_cancel(got->cancelled);
    if (got->next)
        find(got->cluster, "boats.org/v1", "Dock", got->next);
}

static void find(struct cluster *cluster, const char *version, const char *kind, struct got *got)
{
    struct error err = {0};

    if (cluster_find_kind(cluster, NULL, version, kind, note, got, &got->lookup, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(got->is_done, got->lookup == NULL);
}

/* Finds it, or fails the test. */
static void expect(struct api_bench *bench, const char *version, const char *kind,
                   const char *plural)
{
    struct got got = {0};

    find(bench->cluster, version, kind, &got);
    api_bench_run(bench, &got.is_done);
    assert_string_equal(got.err.text, "");
    assert_string_equal(got.plural, plural);
}

static void expect_error(struct api_bench *bench, const char *version, const char *kind,
                         enum error_kind error, const char *text)
{
    struct got got = {0};

    find(bench->cluster, version, kind, &got);
    api_bench_run(bench, &got.is_done);
    assert_int_equal(got.err.kind, error);
    if (!strstr(got.err.text, text))
        fail_msg("%s", got.err.text);
}

static void serve(struct api_bench *bench, const char *path, const char *json)
{
    (void)json_object_set_new(bench->objects, path, parse(json));
}

static void built_in_and_given_kinds_cost_no_request(void **state)
{
    struct api_bench *bench = *state;
    cleanup_kind_set struct kind_set *extra = kind_set_new();
    cleanup_json json_t *crd = parse(
        "{'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'spec': "
        "{'group': 'x.org', 'scope': 'Cluster', 'names': {'kind': 'X', 'plural': 'xs'}, "
        "'versions': [{'name': 'v1', 'served': true}]}}");
    struct got got = {0};
    struct error err = {0};

    expect(bench, "v1", "ConfigMap", "/v1/configmaps");
    expect(bench, "apps/v1", "Deployment", "apps/v1/deployments");
    kind_set_add_crd(extra, crd);
    assert_int_equal(
        cluster_find_kind(bench->cluster, extra, "x.org/v1", "X", note, &got, &got.lookup, &err),
        0);
    assert_string_equal(got.plural, "x.org/v1/xs");
    assert_false(got.is_namespaced);
    assert_string_equal(api_bench_log(bench), "");
}

static void one_request_an_hour_finds_the_kinds_of_all_groups(void **state)
{
    struct api_bench *bench = *state;
    struct got many[50] = {{0}};

    serve(bench, "/apis", BOATS);
    for (size_t i = 0; i < array_length(many); i++)
        find(bench->cluster, "boats.org/v1", "Ferry", &many[i]);
    for (size_t i = 0; i < array_length(many); i++) {
        api_bench_run(bench, &many[i].is_done);
        assert_string_equal(many[i].plural, "boats.org/v1/ferries");
        assert_true(many[i].is_namespaced);
        assert_int_equal(many[i].count, 1);
    }
    expect(bench, "boats.org/v1", "Dock", "boats.org/v1/docks");
    clock_fake_advance(&bench->clock, CLUSTER_DISCOVERY_AGE_MS - 1);
    expect(bench, "boats.org/v1", "Dock", "boats.org/v1/docks");
    assert_string_equal(api_bench_log(bench), "GET /apis");
    clock_fake_advance(&bench->clock, 1);
    expect(bench, "boats.org/v1", "Dock", "boats.org/v1/docks");
    assert_string_equal(api_bench_log(bench), "GET /apis");
}

/* A cluster is closed after a minute, and credentials may be renewed every few minutes. */
static void kinds_are_kept_when_the_cluster_is_closed(void **state)
{
    struct api_bench *bench = *state;

    serve(bench, "/apis", BOATS);
    expect(bench, "boats.org/v1", "Dock", "boats.org/v1/docks");
    for (int i = 0; i < 3; i++) {
        struct error err = {0};

        cluster_put(bench->cluster);
        clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
        api_bench_run_idle(bench);
        assert_int_equal(bench->pool->count, 0);
        assert_int_equal(cluster_get(bench->pool, api_bench_config(bench), &bench->cluster, &err),
                         0);
        expect(bench, "boats.org/v1", "Dock", "boats.org/v1/docks");
    }
    assert_string_equal(api_bench_log(bench), "GET /apis");
}

static void open_and_close(struct api_bench *bench, size_t number)
{
    cleanup_free char *text =
        xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
                  "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%zu'}}]}",
                  number);
    struct kube_config *config = NULL;
    struct cluster *cluster = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_from_text(text, &config, &err), 0);
    assert_int_equal(cluster_get(bench->pool, config, &cluster, &err), 0);
    cluster_put(cluster);
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
    while (bench->pool->count > 1)
        api_bench_run_once(bench);
}

static void kinds_of_closed_clusters_are_forgotten(void **state)
{
    struct api_bench *bench = *state;

    for (size_t i = 0; i < 100; i++)
        open_and_close(bench, i + 1);
    assert_int_equal(bench->pool->kinds.count, 1 + CLUSTER_DISCOVERY_AGE_MS / CLUSTER_IDLE_MS);
    clock_fake_advance(&bench->clock, CLUSTER_DISCOVERY_AGE_MS);
    open_and_close(bench, 1);
    assert_int_equal(bench->pool->kinds.count, 2);
}

/* Without waiting for an hour. */
static void kinds_of_many_clusters_are_forgotten_earlier(void **state)
{
    struct api_bench *bench = *state;
    struct cluster *clusters[CLUSTERS_MAX] = {NULL};

    for (size_t i = 0; i < 40; i++)
        open_and_close(bench, i + 1);
    for (size_t i = 1; i < CLUSTERS_MAX; i++) {
        cleanup_free char *text =
            xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
                      "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%zu'}}]}",
                      1000 + i);
        struct kube_config *config = NULL;
        struct error err = {0};

        assert_int_equal(kube_config_from_text(text, &config, &err), 0);
        assert_int_equal(cluster_get(bench->pool, config, &clusters[i], &err), 0);
    }
    assert_int_equal(bench->pool->kinds.count, CLUSTERS_MAX + 40);
    for (size_t i = 1; i < CLUSTERS_MAX; i++)
        cluster_put(clusters[i]);
    clock_fake_advance(&bench->clock, CLUSTER_IDLE_MS);
    while (bench->pool->count > 1)
        api_bench_run_once(bench);
    assert_int_equal(bench->pool->kinds.count, CLUSTERS_MAX);
}

static void an_unknown_kind_is_looked_for_every_few_seconds(void **state)
{
    struct api_bench *bench = *state;

    serve(bench, "/apis", BOATS);
    expect_error(bench, "boats.org/v1", "Canoe", ERROR_NOT_FOUND,
                 "the cluster has no kind Canoe in boats.org/v1 (server \"http://127.0.0.1:");
    assert_string_equal(api_bench_log(bench), "GET /apis");
    expect_error(bench, "boats.org/v1", "Canoe", ERROR_NOT_FOUND, "no kind Canoe");
    assert_string_equal(api_bench_log(bench), "");
    clock_fake_advance(&bench->clock, CLUSTER_MISS_MS);
    serve(bench, "/apis", ALL(""));
    expect_error(bench, "boats.org/v1", "Canoe", ERROR_NOT_FOUND, "no kind Canoe");
    assert_string_equal(api_bench_log(bench),
                        "GET /apis/boats.org/v1; GET /apis; GET /apis/boats.org/v1");
    /* A 404: the group is gone. The kinds that were known are not believed any more. */
    expect_error(bench, "boats.org/v1", "Ferry", ERROR_NOT_FOUND, "no kind Ferry");
    clock_fake_advance(&bench->clock, CLUSTER_MISS_MS);
    serve(bench, "/apis/boats.org/v1", ROWS("boats.org/v1", ROW("canoes", "Canoe")));
    expect(bench, "boats.org/v1", "Canoe", "boats.org/v1/canoes");
    assert_string_equal(api_bench_log(bench), "GET /apis/boats.org/v1");
}

static void what_the_answer_for_all_groups_lacks_is_asked_for_alone(void **state)
{
    static const struct {
        const char *version, *kind, *rows, *plural, *log;
    } cases[] = {
        /* The API server behind it did not respond. */
        {"boats.org/v2", "Ferry", ROWS("boats.org/v2", ROW("ships", "Ferry")), "boats.org/v2/ships",
         "GET /apis/boats.org/v2"},
        {"new.org/v1", "New", ROWS("new.org/v1", ROW("news", "New")), "new.org/v1/news",
         "GET /apis/new.org/v1"},
        /* The core group is never in it. */
        {"v1", "Odd", ROWS("v1", ROW("odds", "Odd")), "/v1/odds", "GET /api/v1"},
    };
    struct api_bench *bench = *state;

    serve(bench, "/apis", BOATS);
    expect(bench, "boats.org/v1", "Dock", "boats.org/v1/docks");
    (void)api_bench_log(bench);
    for (size_t i = 0; i < array_length(cases); i++) {
        serve(bench, strchr(cases[i].log, '/'), cases[i].rows);
        expect(bench, cases[i].version, cases[i].kind, cases[i].plural);
        expect(bench, cases[i].version, cases[i].kind, cases[i].plural);
        assert_string_equal(api_bench_log(bench), cases[i].log);
    }
}

static void servers_without_the_request_for_all_groups_are_asked_one_by_one(void **state)
{
    static const struct {
        const char *body, *status;
    } cases[] = {
        {"{\"kind\": \"APIGroupList\", \"groups\": []}", NULL},
        {NULL, "406 Not Acceptable"},
    };
    struct api_bench *bench = *state;

    serve(bench, "/apis/boats.org/v1", ROWS("boats.org/v1", ROW("ferries", "Ferry")));
    for (size_t i = 0; i < array_length(cases); i++) {
        if (cases[i].body)
            serve(bench, "/apis", cases[i].body);
        else
            (void)api_bench_rule(bench, "GET /apis ", 1, cases[i].status, "no");
        for (int j = 0; j < 3; j++) {
            expect(bench, "boats.org/v1", "Ferry", "boats.org/v1/ferries");
            clock_fake_advance(&bench->clock, CLUSTER_DISCOVERY_AGE_MS / 3);
        }
        assert_string_equal(api_bench_log(bench), "GET /apis; GET /apis/boats.org/v1");
        clock_fake_advance(&bench->clock, CLUSTER_DISCOVERY_AGE_MS);
    }
}

static void a_404_of_a_proxy_does_not_make_a_kind_unknown(void **state)
{
    struct api_bench *bench = *state;

    serve(bench, "/apis", BOATS);
    (void)api_bench_rule(bench, "GET /api", 2, "404 Not Found", "no such backend");
    expect_error(bench, "boats.org/v1", "Ferry", ERROR_TEMPORARY, "no such backend");
    expect_error(bench, "v1", "Odd", ERROR_TEMPORARY, "no such backend");
    expect(bench, "boats.org/v1", "Ferry", "boats.org/v1/ferries");
    /* A server that answered all groups some time ago may have been replaced by the proxy. */
    clock_fake_advance(&bench->clock, CLUSTER_MISS_MS);
    (void)api_bench_rule(bench, "GET /apis", 2, "404 Not Found", "no such backend");
    expect_error(bench, "new.org/v1", "New", ERROR_TEMPORARY, "no such backend");
    expect_error(bench, "new.org/v1", "New", ERROR_NOT_FOUND, "no kind New");
}

static void a_kind_that_was_not_served_is_discovered_again(void **state)
{
    struct api_bench *bench = *state;

    serve(bench, "/apis", BOATS);
    serve(bench, "/apis/boats.org/v1", ROWS("boats.org/v1", ROW("boats", "Ferry")));
    expect(bench, "boats.org/v1", "Ferry", "boats.org/v1/ferries");
    for (int i = 0; i < 2; i++) {
        (void)api_bench_log(bench);
        cluster_forget_kinds(bench->cluster, "boats.org/v1");
        expect(bench, "boats.org/v1", "Ferry", "boats.org/v1/boats");
        assert_string_equal(api_bench_log(bench), "GET /apis/boats.org/v1");
    }
}

static void errors_are_not_remembered(void **state)
{
    struct api_bench *bench = *state;

    serve(bench, "/apis", BOATS);
    (void)api_bench_rule(bench, "GET /apis ", 1, "401 Unauthorized", "who?");
    expect_error(bench, "boats.org/v1", "Ferry", ERROR_DENIED, "discover API groups: who?");
    expect(bench, "boats.org/v1", "Ferry", "boats.org/v1/ferries");
    (void)api_bench_rule(bench, "GET /apis/new.org/v1 ", 1, "403 Forbidden", "no");
    expect_error(bench, "new.org/v1", "New", ERROR_DENIED, "no");
    serve(bench, "/apis/new.org/v1", ROWS("other.org/v1", ROW("news", "New")));
    expect_error(bench, "new.org/v1", "New", ERROR_TEMPORARY, "not the list of its resources");
    serve(bench, "/apis/new.org/v1", ROWS("new.org/v1", ROW("news", "New")));
    expect(bench, "new.org/v1", "New", "new.org/v1/news");
}

static void an_error_for_one_group_is_not_one_for_others(void **state)
{
    struct api_bench *bench = *state;
    struct got a = {0};
    struct got b = {0};
    struct got invalid = {0};
    struct error err = {0};

    serve(bench, "/apis", ALL(""));
    serve(bench, "/apis/b.org/v1", ROWS("b.org/v1", ROW("bs", "B")));
    (void)api_bench_rule(bench, "GET /apis/a.org/v1 ", 1, "403 Forbidden", "no");
    find(bench->cluster, "a.org/v1", "A", &a);
    find(bench->cluster, "c/d/e", "C", &invalid);
    find(bench->cluster, "b.org/v1", "B", &b);
    api_bench_run(bench, &b.is_done);
    assert_int_equal(a.err.kind, ERROR_DENIED);
    assert_string_equal(b.plural, "b.org/v1/bs");
    assert_int_equal(invalid.err.kind, ERROR_INVALID);
    assert_non_null(strstr(invalid.err.text, "apiVersion \"c/d/e\": invalid API version \"d/e\""));
    assert_int_equal(
        cluster_find_kind(bench->cluster, NULL, "c/d/e", "C", note, &a, &a.lookup, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void lookups_can_be_cancelled_and_started_from_callbacks(void **state)
{
    struct api_bench *bench = *state;
    struct got first = {0};
    struct got cancelled = {0};
    struct got early[2] = {{0}};
    struct got inner = {0};
    struct got last = {0};

    serve(bench, "/apis", BOATS);
    serve(bench, "/apis/new.org/v1", ROWS("new.org/v1", ROW("news", "New")));
    find(bench->cluster, "boats.org/v1", "Ferry", &early[0]);
    find(bench->cluster, "boats.org/v1", "Ferry", &first);
    find(bench->cluster, "boats.org/v1", "Ferry", &early[1]);
    find(bench->cluster, "boats.org/v1", "Dock", &cancelled);
    find(bench->cluster, "new.org/v1", "New", &last);
    first.cancelled = cancelled.lookup;
    first.next = &inner;
    first.cluster = bench->cluster;
    cluster_lookup_cancel(early[1].lookup);
    cluster_lookup_cancel(early[0].lookup);
    cluster_lookup_cancel(NULL);
    api_bench_run(bench, &last.is_done);
    assert_string_equal(first.plural, "boats.org/v1/ferries");
    assert_string_equal(inner.plural, "boats.org/v1/docks");
    assert_string_equal(last.plural, "new.org/v1/news");
    assert_int_equal(early[0].count + early[1].count + cancelled.count, 0);
    assert_string_equal(api_bench_log(bench), "GET /apis; GET /apis/new.org/v1");
}

static void a_hostile_server_cannot_take_the_memory(void **state)
{
    struct api_bench *bench = *state;
    cleanup_json json_t *list = parse(ROWS("big.org/v1", ""));
    cleanup_json json_t *all = parse(ALL(GROUP("big.org", VERSION("v1", "Current", ""))));
    json_t *version = json_array_get(
        json_object_get(json_array_get(json_object_get(all, "items"), 0), "versions"), 0);

    for (int i = 0; i < 10001; i++) {
        cleanup_free char *name = xasprintf("x%d", i);

        (void)json_array_append_new(json_object_get(list, "resources"),
                                    json_pack("{s:s,s:s}", "name", name, "kind", "X"));
        (void)json_array_append_new(json_object_get(version, "resources"),
                                    json_pack("{s:s}", "resource", name));
    }
    (void)json_object_set(bench->objects, "/apis", all);
    (void)json_object_set(bench->objects, "/apis/big.org/v1", list);
    expect_error(bench, "big.org/v1", "X", ERROR_TOO_LARGE, "more than 10000 kinds");
}

static void the_number_of_remembered_answers_is_limited(void **state)
{
    struct api_bench *bench = *state;

    serve(bench, "/apis", ALL(""));
    for (int i = 0; i < 251; i++) {
        cleanup_free char *name = xasprintf("g%d.org/v1", i);

        expect_error(bench, name, "X", ERROR_NOT_FOUND, "no kind X");
    }
    assert_int_equal(bench->server.request_count, 252);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup_fake, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(built_in_and_given_kinds_cost_no_request),
        test(one_request_an_hour_finds_the_kinds_of_all_groups),
        test(kinds_are_kept_when_the_cluster_is_closed),
        test(kinds_of_closed_clusters_are_forgotten),
        test(kinds_of_many_clusters_are_forgotten_earlier),
        test(an_unknown_kind_is_looked_for_every_few_seconds),
        test(what_the_answer_for_all_groups_lacks_is_asked_for_alone),
        test(servers_without_the_request_for_all_groups_are_asked_one_by_one),
        test(a_404_of_a_proxy_does_not_make_a_kind_unknown),
        test(a_kind_that_was_not_served_is_discovered_again),
        test(errors_are_not_remembered),
        test(an_error_for_one_group_is_not_one_for_others),
        test(lookups_can_be_cancelled_and_started_from_callbacks),
        test(a_hostile_server_cannot_take_the_memory),
        test(the_number_of_remembered_answers_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
