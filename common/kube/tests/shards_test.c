/* SPDX-License-Identifier: Apache-2.0 */
/* Two replicas that share buckets, with Leases stored by the test and a clock moved by the test.
 * What can go wrong between them: shard_simulation_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/shards.h"
#include "common/kube/tests/kube_bench.h"

enum { BUCKETS = 4 };

#define PATH "/apis/coordination.k8s.io/v1/namespaces/ns/leases"

struct api {
    struct kube_bench *bench;
    json_t *leases; /* by name */
    unsigned version;
    bool is_down, are_owners_denied;
    int problem_count;
    char changes[64]; /* of the first replica: "+0-0" */
    bool is_busy;
};

static void answer(struct loopback_connection *connection, const char *status, const json_t *body)
{
    cleanup_free char *text = doc_dump(body);

    loopback_answer(connection, status, "", text);
}

static void answer_list(const struct api *api, struct loopback_connection *connection)
{
    cleanup_json json_t *list = json_object();
    json_t *items = json_array();
    const char *name = NULL;
    json_t *lease = NULL;

    json_object_foreach(api->leases, name, lease)(void) json_array_append(items, lease);
    doc_set_text(list, "metadata.resourceVersion", "1");
    doc_set_new(list, "items", items);
    answer(connection, "200 OK", list);
}

static void store(struct api *api, const char *name, json_t *lease)
{
    char version[32];

    (void)snprintf(version, sizeof(version), "%u", ++api->version);
    doc_set_text(lease, "metadata.resourceVersion", version);
    if (!doc_text(lease, "metadata.uid"))
        doc_set_text(lease, "metadata.uid", version);
    (void)json_object_set_new(api->leases, name, lease);
}

static json_t *parse_body(const char *request)
{
    const char *body = strstr(request, "\r\n\r\n") + 4;
    json_t *doc = NULL;
    struct error err = {0};

    assert_int_equal(doc_parse_json(body, strlen(body), 65536, &doc, &err), 0);
    return doc;
}

static void serve_write(struct api *api, struct loopback_connection *connection,
                        const char *request)
{
    cleanup_json json_t *none = json_object();
    cleanup_json json_t *sent = parse_body(request);
    bool is_create = strncmp(request, "POST", 4) == 0;
    bool is_deletion = strncmp(request, "DELETE", 6) == 0;
    const char *path = strstr(request, PATH) + strlen(PATH) + 1;
    cleanup_free char *name =
        is_create ? xstrdup(doc_text(sent, "metadata.name")) : xstrndup(path, strcspn(path, " ?"));
    const json_t *stored = json_object_get(api->leases, name);
    const char *version = doc_text_or(
        sent, is_deletion ? "preconditions.resourceVersion" : "metadata.resourceVersion", "");

    if (is_create && stored) {
        answer(connection, "409 Conflict", none);
    } else if (!is_create && !stored) {
        answer(connection, "404 Not Found", none);
    } else if (!is_create && strcmp(version, doc_text(stored, "metadata.resourceVersion")) != 0) {
        answer(connection, "409 Conflict", none);
    } else if (api->are_owners_denied && doc_get(sent, "metadata.ownerReferences")) {
        answer(connection, "403 Forbidden", none);
    } else if (is_deletion) {
        assert_string_equal(doc_text_or(sent, "preconditions.uid", ""),
                            doc_text(stored, "metadata.uid"));
        (void)json_object_del(api->leases, name);
        answer(connection, "200 OK", none);
    } else {
        assert_string_equal(json_string_value(json_object_get(
                                doc_member(doc_member(sent, "metadata"), "labels"), LABEL_SHARDS)),
                            "fleet");
        store(api, name, json_deep_copy(sent));
        answer(connection, "200 OK", json_object_get(api->leases, name));
    }
}

static void serve(void *data, struct loopback_connection *connection, const char *request)
{
    struct api *api = data;
    cleanup_json json_t *none = json_object();

    assert_non_null(strstr(request, PATH));
    if (api->is_down)
        answer(connection, "503 Service Unavailable", none);
    else if (strncmp(request, "GET", 3) == 0)
        answer_list(api, connection);
    else
        serve_write(api, connection, request);
}

static void on_change(void *data, size_t bucket, bool is_held)
{
    struct api *api = data;
    size_t used = strlen(api->changes);

    (void)snprintf(api->changes + used, sizeof(api->changes) - used, "%c%zu", is_held ? '+' : '-',
                   bucket);
}

static void on_problem(void *data, const struct error *err)
{
    struct api *api = data;

    assert_true(err->text[0]);
    api->problem_count++;
}

static bool is_busy(void *data, size_t bucket)
{
    const struct api *api = data;

    (void)bucket;
    return api->is_busy;
}

static struct shards *start(struct api *api, const char *identity)
{
    bool is_first = strcmp(identity, "a") == 0;
    const struct shards_options options = {
        .namespace_name = "ns",
        .name = "fleet",
        .identity = identity,
        .bucket_count = BUCKETS,
        .on_change = is_first ? on_change : NULL,
        .is_busy = is_first ? is_busy : NULL,
        .on_problem = on_problem,
        .data = api,
    };
    struct shards *shards = NULL;
    struct error err = {0};

    assert_int_equal(shards_start(api->bench->kube, &options, &shards, &err), 0);
    return shards;
}

static void advance_s(struct api *api, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        clock_fake_advance(&api->bench->clock, 1000);
        kube_bench_run_idle(api->bench);
    }
}

static int setup(void **state)
{
    struct api *api = xcalloc(1, sizeof(*api));
    void *bench = NULL;

    assert_int_equal(kube_bench_setup_fake(&bench), 0);
    api->bench = bench;
    api->bench->server.on_request = serve;
    api->bench->server.data = api;
    api->leases = json_object();
    *state = api;
    return 0;
}

static int teardown(void **state)
{
    struct api *api = *state;
    void *bench = api->bench;

    json_decref(api->leases);
    free(api);
    return kube_bench_teardown(&bench);
}

static void buckets_are_shared_handed_over_and_released(void **state)
{
    struct api *api = *state;
    struct shards *a = start(api, "a");
    struct shards *b = NULL;

    advance_s(api, 3);
    assert_int_equal(shards_held_count(a), BUCKETS);
    assert_int_equal(strlen(api->changes), 2 * BUCKETS);
    b = start(api, "b");
    api->is_busy = true;
    advance_s(api, 8);
    /* The first replica does not use them any more, but has requests under way. */
    assert_int_equal(shards_held_count(a), BUCKETS / 2);
    assert_int_equal(shards_held_count(b), 0);
    api->is_busy = false;
    advance_s(api, 12);
    assert_int_equal(shards_held_count(a), BUCKETS / 2);
    assert_int_equal(shards_held_count(b), BUCKETS / 2);
    for (size_t i = 0; i < BUCKETS; i++)
        assert_int_not_equal(shards_is_held(a, i), shards_is_held(b, i));
    assert_int_equal(shards_bucket_of(a, "cluster-7"), shards_bucket_of(b, "cluster-7"));
    shards_stop(b, 0); /* as if it was killed */
    advance_s(api, 41);
    assert_int_equal(shards_held_count(a), BUCKETS);
    assert_int_equal(api->problem_count, 0);
    shards_stop(a, 5000);
    assert_int_equal(json_object_size(api->leases), BUCKETS + 1); /* and that of b */
    assert_string_equal(doc_text(json_object_get(api->leases, "fleet-0"), "spec.holderIdentity"),
                        "");
    shards_stop(NULL, 0);
}

static void a_replica_without_api_server_stops_using_its_buckets(void **state)
{
    struct api *api = *state;
    struct shards *a = start(api, "a");

    advance_s(api, 3);
    assert_int_equal(shards_held_count(a), BUCKETS);
    api->is_down = true;
    advance_s(api, 21);
    assert_int_equal(shards_held_count(a), 0);
    assert_int_equal(strlen(api->changes), 4 * BUCKETS);
    assert_true(api->problem_count > 0);
    api->is_down = false;
    advance_s(api, 12);
    assert_int_equal(shards_held_count(a), BUCKETS);
    shards_stop(a, 0);
}

static void the_account_of_the_pod_owns_the_leases_unless_owners_are_denied(void **state)
{
    struct api *api = *state;

    (void)kube_bench_move_to_pod(api->bench, "ns");
    for (int is_denied = 0; is_denied < 2; is_denied++) {
        struct shards *a = NULL;
        const char *name = NULL;
        json_t *lease = NULL;

        (void)json_object_clear(api->leases);
        api->are_owners_denied = is_denied;
        a = start(api, "a");
        advance_s(api, 10);
        assert_int_equal(shards_held_count(a), BUCKETS);
        json_object_foreach(api->leases, name, lease)
        {
            const json_t *owners = doc_get(lease, "metadata.ownerReferences");

            assert_int_equal(json_array_size(owners), is_denied ? 0 : 1);
        }
        shards_stop(a, 0);
    }
}

static void options_are_checked(void **state)
{
    static const struct {
        const char *identity;
        size_t bucket_count;
    } cases[] = {{"", 4}, {"a", 0}, {"a", 65}};
    struct api *api = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        const struct shards_options options = {
            .namespace_name = "ns",
            .name = "fleet",
            .identity = cases[i].identity,
            .bucket_count = cases[i].bucket_count,
        };
        struct shards *shards = NULL;
        struct error err = {0};

        assert_int_equal(shards_start(api->bench->kube, &options, &shards, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        test(buckets_are_shared_handed_over_and_released),
        test(a_replica_without_api_server_stops_using_its_buckets),
        test(the_account_of_the_pod_owns_the_leases_unless_owners_are_denied),
        test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
