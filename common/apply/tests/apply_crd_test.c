/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/apply_internal.h"
#include "common/apply/cluster_internal.h"
#include "common/apply/tests/apply_run.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define NAME "boats.x.example.com"
#define BOATS "/apis/x.example.com/v1/namespaces/a/boats"
#define WATCHED "POST " CRDS "; WATCH " CRDS "[" NAME "]"

/* A CRD and an object of its kind. */
static void start(struct apply_run *run, struct api_bench *bench)
{
    apply_run_init(run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(run, BOAT, POLICY_MANAGE);
    (void)apply_run_add(run, BOAT_CRD, POLICY_MANAGE);
    apply_run_start(run);
}

static void run_until_watched(struct api_bench *bench, size_t count)
{
    while (bench->watcher_count < count)
        api_bench_run_once(bench);
    api_bench_run_idle(bench);
}

/* Sets a condition of the CRD. */
static void set_condition(struct api_bench *bench, const char *condition)
{
    cleanup_json json_t *value = parse(condition);
    cleanup_json json_t *conditions = json_array();

    (void)json_array_append(conditions, value);
    doc_set_new(api_bench_get(bench, CRDS "/" NAME), "status.conditions", json_incref(conditions));
    api_bench_touch(bench, CRDS "/" NAME);
}

static void its_objects_are_created_when_it_is_established(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    cleanup_free char *text = NULL;

    start(&run, bench);
    run_until_watched(bench, 1);
    assert_string_equal(api_bench_log(bench), WATCHED);
    text = apply_describe(run.apply);
    assert_string_equal(text, "CustomResourceDefinition " NAME " is not established yet");
    set_condition(bench, "{'type': 'Established', 'status': 'False', 'reason': 'Installing'}");
    api_bench_run_idle(bench);
    assert_false(run.is_done);
    api_bench_establish(bench, NAME);
    api_bench_run(bench, &run.is_done);
    assert_string_equal(apply_run_outcomes(&run), "created created");
    assert_string_equal(api_bench_log(bench), "POST " BOATS);
    /* The result is the state that it had then. */
    assert_non_null(doc_get(run.result->objects[0].object, "status.conditions"));
    apply_run_done(&run);
}

static void one_that_is_established_is_not_waited_for(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    bench->is_establishing = true;
    start(&run, bench);
    api_bench_run(bench, &run.is_done);
    inventory_done(&run.inventory);
    run.inventory = inventory_copy(&run.result->inventory);
    (void)api_bench_log(bench);
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "unchanged unchanged");
    assert_string_equal(api_bench_log(bench), "GET " CRDS "/" NAME "; GET " BOATS "/b");
    apply_run_done(&run);
}

static void one_that_cannot_be_established_fails_and_the_others_go_on(void **state)
{
    static const struct {
        const char *condition; /* NULL: it is deleted */
        const char *message;
    } cases[] = {
        {"{'type': 'NamesAccepted', 'status': 'False', 'message': 'boats are taken'}",
         "cannot be established: its names were not accepted: boats are taken"},
        {"{'type': 'NamesAccepted', 'status': 'False'}",
         "cannot be established: its names were not accepted: no reason given"},
        {NULL, "cannot be established: it was deleted meanwhile"},
        {"", "cannot be established: it is being deleted"},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        enum error_kind kind = ERROR_NONE;

        start(&run, bench);
        run_until_watched(bench, i + 1);
        if (!cases[i].condition) {
            api_bench_remove(bench, CRDS "/" NAME);
        } else if (!cases[i].condition[0]) {
            doc_set_text(api_bench_get(bench, CRDS "/" NAME), "metadata.deletionTimestamp", "x");
            api_bench_touch(bench, CRDS "/" NAME);
        } else {
            set_condition(bench, cases[i].condition);
        }
        (void)api_bench_log(bench);
        /* Its objects are tried, once: the CRD may have been there before. */
        (void)api_bench_rule(bench, "POST " BOATS, 1, "404 Not Found", "page not found");
        api_bench_run(bench, &run.is_done);
        assert_string_equal(apply_run_outcomes(&run), "failed failed");
        assert_non_null(strstr(apply_run_error(&run, &kind), cases[i].message));
        assert_int_equal(kind, ERROR_TEMPORARY);
        assert_string_equal(api_bench_log(bench), "POST " BOATS);
        apply_run_done(&run);
        if (api_bench_get(bench, CRDS "/" NAME))
            api_bench_remove(bench, CRDS "/" NAME);
        api_bench_run_idle(bench);
    }
}

static void errors_of_the_watch_are_described(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    cleanup_free char *text = NULL;

    /* The watch begins where the definition was created, and would go on with a list. */
    (void)api_bench_rule(bench, "GET " CRDS, 2, "410 Gone", "too old");
    start(&run, bench);
    while (api_bench_count(bench, "GET " CRDS) < 2)
        api_bench_run_once(bench);
    api_bench_run_idle(bench);
    text = apply_describe(run.apply);
    assert_string_equal(text, "CustomResourceDefinition " NAME " is not established yet (list "
                              "customresourcedefinitions: too old)");
    run_until_watched(bench, 1);
    api_bench_establish(bench, NAME);
    api_bench_run(bench, &run.is_done);
    assert_int_equal(run.result->failed, 0);
    apply_run_done(&run);
}

/* A user who may create CRDs, but not look at them. */
static void without_permission_to_look_its_objects_are_tried(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    (void)api_bench_rule(bench, "GET " CRDS, -1, "403 Forbidden", "no");
    start(&run, bench);
    while (api_bench_count(bench, "POST " BOATS) < 3)
        api_bench_run_once(bench);
    api_bench_establish(bench, NAME);
    api_bench_run(bench, &run.is_done);
    assert_string_equal(apply_run_outcomes(&run), "created created");
    apply_run_done(&run);
}

/* The server that answers does not know it yet. */
static void a_kind_that_is_not_served_yet_is_tried_again(void **state)
{
    static const enum update_strategy strategies[] = {STRATEGY_UPDATE, STRATEGY_APPLY};
    struct api_bench *bench = *state;

    bench->is_establishing = true;
    for (size_t i = 0; i < array_length(strategies); i++) {
        struct apply_run run = {0};
        cleanup_free char *text = NULL;

        apply_run_init(&run, bench, strategies[i]);
        (void)apply_run_add(&run, BOAT, POLICY_MANAGE);
        (void)apply_run_add(&run, BOAT_CRD, POLICY_MANAGE);
        (void)api_bench_rule(bench, BOATS, 2, "404 Not Found", "not found");
        apply_run_start(&run);
        while (bench->rules[i].count > 1)
            api_bench_run_once(bench);
        api_bench_run_idle(bench);
        text = apply_describe(run.apply);
        assert_non_null(strstr(text, "Boat a/b waits until its kind is known to server \"http://"));
        api_bench_run(bench, &run.is_done);
        assert_int_equal(run.result->failed, 0);
        apply_run_done(&run);
        api_bench_remove(bench, BOATS "/b");
        api_bench_remove(bench, CRDS "/" NAME);
    }
}

/* The CRD was removed with its objects, which are recorded. */
static void so_is_a_kind_whose_objects_are_recorded(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    bench->is_establishing = true;
    start(&run, bench);
    api_bench_run(bench, &run.is_done);
    inventory_done(&run.inventory);
    run.inventory = inventory_copy(&run.result->inventory);
    api_bench_remove(bench, BOATS "/b");
    api_bench_remove(bench, CRDS "/" NAME);
    (void)api_bench_rule(bench, BOATS, 2 * APPLY_TRIES_MAX + 2, "404 Not Found", "not found");
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "created created");
    apply_run_done(&run);
}

static void a_kind_that_is_never_served_fails(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    enum error_kind kind = ERROR_NONE;

    bench->is_establishing = true;
    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run, BOAT, POLICY_MANAGE);
    (void)apply_run_add(&run, BOAT_CRD, POLICY_MANAGE);
    (void)api_bench_rule(bench, BOATS, -1, "404 Not Found", "not found");
    apply_run_start(&run);
    for (int i = 0; i < APPLY_SERVED_TRIES_MAX; i++) {
        while (api_bench_count(bench, "POST " BOATS) <= (size_t)i)
            api_bench_run_once(bench);
        api_bench_run_idle(bench);
        clock_fake_advance(&bench->clock, APPLY_SERVED_RETRY_MS);
    }
    api_bench_run(bench, &run.is_done);
    assert_string_equal(apply_run_outcomes(&run), "created failed");
    assert_string_equal(apply_run_error(&run, &kind), "Boat a/b: cannot be created: not found");
    assert_int_equal(kind, ERROR_TEMPORARY);
    assert_int_equal(api_bench_count(bench, "POST " BOATS), APPLY_SERVED_TRIES_MAX);
    apply_run_done(&run);
}

/* What was discovered is out of date: the next job asks again. */
static void a_missing_kind_is_forgotten_and_a_missing_namespace_is_not(void **state)
{
    static const struct {
        const char *message;
        bool is_forgotten;
    } cases[] = {
        {"the server could not find the requested resource", true},
        {"namespaces \"a\" not found", false},
    };
    struct api_bench *bench = *state;

    (void)json_object_set_new(
        bench->objects, "/apis",
        parse("{'kind': 'APIGroupDiscoveryList', 'items': [{'metadata': {'name': 'y.org'}, "
              "'versions': [{'version': 'v1', 'resources': [{'resource': 'cars', 'responseKind': "
              "{'kind': 'Car'}, 'scope': 'Namespaced', 'verbs': ['get']}]}]}]}"));
    (void)json_object_set_new(
        bench->objects, "/apis/y.org/v1",
        parse("{'kind': 'APIResourceList', 'groupVersion': 'y.org/v1', 'resources': [{'name': "
              "'cars', 'kind': 'Car', 'namespaced': true, 'verbs': ['get']}]}"));
    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};

        apply_run_init(&run, bench, STRATEGY_UPDATE);
        (void)apply_run_add(&run,
                            "{'apiVersion': 'y.org/v1', 'kind': 'Car', 'metadata': {'name': 'c', "
                            "'namespace': 'a'}}",
                            POLICY_MANAGE);
        (void)api_bench_rule(bench, "POST", 1, "404 Not Found", cases[i].message);
        apply_run_all(&run);
        assert_string_equal(apply_run_outcomes(&run), "failed");
        (void)api_bench_log(bench);
        apply_run_all(&run);
        assert_string_equal(apply_run_outcomes(&run), "created");
        assert_int_equal(strstr(api_bench_log(bench), "GET /apis/y.org/v1; ") != NULL,
                         cases[i].is_forgotten);
        apply_run_done(&run);
        api_bench_remove(bench, "/apis/y.org/v1/namespaces/a/cars/c");
    }
}

static void too_many_watches_fail_the_crd(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++)
        bench->cluster->connections[i].watch_count += CLUSTER_CONNECTION_WATCHES;
    start(&run, bench);
    api_bench_run(bench, &run.is_done);
    assert_non_null(strstr(apply_run_error(&run, NULL), "too many watches"));
    apply_run_done(&run);
    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++)
        bench->cluster->connections[i].watch_count -= CLUSTER_CONNECTION_WATCHES;
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(its_objects_are_created_when_it_is_established),
        test(one_that_is_established_is_not_waited_for),
        test(one_that_cannot_be_established_fails_and_the_others_go_on),
        test(errors_of_the_watch_are_described),
        test(without_permission_to_look_its_objects_are_tried),
        test(a_kind_that_is_not_served_yet_is_tried_again),
        test(so_is_a_kind_whose_objects_are_recorded),
        cmocka_unit_test_setup_teardown(a_kind_that_is_never_served_fails, api_bench_setup_fake,
                                        api_bench_teardown),
        test(a_missing_kind_is_forgotten_and_a_missing_namespace_is_not),
        test(too_many_watches_fail_the_crd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
