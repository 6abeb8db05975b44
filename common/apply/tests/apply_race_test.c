/* SPDX-License-Identifier: Apache-2.0 */
/* Others change the objects meanwhile, answers get lost, and the program is stopped at any point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/apply_internal.h"
#include "common/apply/tests/apply_run.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define POST "POST " MAPS
#define GET "GET " MAPS "/x"
#define PUT "PUT " MAPS "/x"

/* An item with one ConfigMap that exists and has to be changed. */
static void init_change(struct apply_run *run, struct api_bench *bench,
                        enum update_strategy strategy)
{
    apply_run_init(run, bench, strategy);
    (void)apply_run_add(run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE);
    apply_run_all(run);
    apply_run_clear_inputs(run);
    (void)apply_run_add(run, MAP("x", ", 'data': {'a': '2'}"), POLICY_MANAGE);
    (void)api_bench_log(bench);
}

static void a_conflict_is_repeated_with_the_new_state(void **state)
{
    static const struct {
        int conflicts;
        const char *log, *outcome;
    } cases[] = {
        {1, GET "; " PUT "; " GET "; " PUT, "changed"},
        {4, GET "; " PUT "; " GET "; " PUT "; " GET "; " PUT "; " GET "; " PUT "; " GET "; " PUT,
         "changed"},
        {5, GET "; " PUT "; " GET "; " PUT "; " GET "; " PUT "; " GET "; " PUT "; " GET "; " PUT,
         "failed"},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        enum error_kind kind = ERROR_NONE;

        init_change(&run, bench, STRATEGY_UPDATE);
        (void)api_bench_rule(bench, PUT, cases[i].conflicts, "409 Conflict", "modified");
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), cases[i].log);
        assert_string_equal(apply_run_outcomes(&run), cases[i].outcome);
        if (run.result->failed) {
            assert_string_equal(apply_run_error(&run, &kind),
                                "ConfigMap a/x: cannot be changed: modified");
            assert_int_equal(kind, ERROR_TEMPORARY);
        }
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

static void an_object_that_cannot_be_read_fails(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    enum error_kind kind = ERROR_NONE;

    init_change(&run, bench, STRATEGY_UPDATE);
    (void)api_bench_rule(bench, GET, 1, "403 Forbidden", "no");
    apply_run_all(&run);
    assert_string_equal(api_bench_log(bench), GET);
    assert_string_equal(apply_run_error(&run, &kind), "ConfigMap a/x: cannot be read: no");
    assert_int_equal(kind, ERROR_DENIED);
    apply_run_done(&run);
}

/* Somebody changes the object between our GET and our PUT. */
static void interfere(void *data, const char *line)
{
    struct api_bench *bench = data;

    if (strncmp(line, GET, strlen(GET)) != 0)
        return;
    bench->on_request = NULL;
    doc_set_text(api_bench_get(bench, MAPS "/x"), "metadata.labels.foreign", "yes");
    api_bench_touch(bench, MAPS "/x");
}

static void vanish(void *data, const char *line)
{
    struct api_bench *bench = data;

    if (strncmp(line, GET, strlen(GET)) != 0)
        return;
    bench->on_request = NULL;
    api_bench_remove(bench, MAPS "/x");
}

static void appear(void *data, const char *line)
{
    struct api_bench *bench = data;

    if (strncmp(line, GET, strlen(GET)) != 0)
        return;
    bench->on_request = NULL;
    (void)api_bench_put(bench, MAPS "/x", "{\"kind\": \"ConfigMap\"}");
}

static void an_object_may_change_appear_and_vanish_meanwhile(void **state)
{
    static const struct {
        void (*on_request)(void *data, const char *line);
        bool is_absent; /* at first */
        const char *log, *outcome;
    } cases[] = {
        {interfere, false, GET "; " PUT "; " GET "; " PUT, "changed"},
        {vanish, false, GET "; " PUT "; " POST, "created"},
        {appear, true, GET "; " POST "; " GET "; " PUT, "changed"},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};

        init_change(&run, bench, STRATEGY_UPDATE);
        if (cases[i].is_absent)
            api_bench_remove(bench, MAPS "/x");
        bench->on_request = cases[i].on_request;
        bench->data = bench;
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), cases[i].log);
        assert_string_equal(apply_run_outcomes(&run), cases[i].outcome);
        assert_string_equal(doc_text_or(api_bench_get(bench, MAPS "/x"), "data.a", ""), "2");
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

/* An object that appears and vanishes again and again. */
static void it_gives_up_after_a_few_attempts(void **state)
{
    static const struct {
        bool is_known;
        const char *rule, *status;
    } cases[] = {
        {false, "POST " MAPS, "409 AlreadyExists"},
        {false, "POST " MAPS, "409 Conflict"},
        {true, "PUT " MAPS, "404 Not Found"},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        enum error_kind kind = ERROR_NONE;

        api_bench_forget_requests(bench);
        if (cases[i].is_known) {
            init_change(&run, bench, STRATEGY_UPDATE);
            (void)api_bench_rule(bench, POST, -1, "409 AlreadyExists", "exists");
        } else {
            apply_run_init(&run, bench, STRATEGY_UPDATE);
            (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
        }
        (void)api_bench_rule(bench, cases[i].rule, -1, cases[i].status, "odd");
        apply_run_all(&run);
        assert_string_equal(apply_run_outcomes(&run), "failed");
        (void)apply_run_error(&run, &kind);
        assert_int_equal(kind, ERROR_TEMPORARY);
        assert_true(api_bench_count(bench, "POST") <= 2 * APPLY_TRIES_MAX);
        apply_run_done(&run);
        for (size_t j = 0; j < bench->rule_count; j++)
            bench->rules[j].count = 0;
    }
}

/* The client retries, and finds what its first attempt has created. */
static void a_lost_answer_to_a_create_does_no_harm(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE)->annotate_before_create =
        parse("{'first': 'yes'}");
    api_bench_rule(bench, POST, 1, NULL, NULL)->is_late = true;
    apply_run_all(&run);
    assert_string_equal(api_bench_log(bench), POST "; " POST "; " GET);
    assert_string_equal(apply_run_outcomes(&run), "unchanged");
    assert_string_equal(
        doc_text_or(api_bench_get(bench, MAPS "/x"), "metadata.annotations.first", ""), "yes");
    assert_non_null(apply_run_uid(&run, 0));
    /* The next job takes the annotations of the creation away. */
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "changed");
    assert_null(doc_get(api_bench_get(bench, MAPS "/x"), "metadata.annotations.first"));
    apply_run_done(&run);
}

static void annotations_of_the_creation_are_only_for_it(void **state)
{
    static const enum update_strategy strategies[] = {STRATEGY_UPDATE, STRATEGY_APPLY};
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(strategies); i++) {
        struct apply_run run = {0};

        apply_run_init(&run, bench, strategies[i]);
        apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE)
            ->annotate_before_create = parse("{'first': 'yes'}");
        (void)api_bench_put(bench, MAPS "/x", "{\"kind\": \"ConfigMap\"}");
        apply_run_all(&run);
        assert_null(doc_get(api_bench_get(bench, MAPS "/x"), "metadata.annotations.first"));
        api_bench_remove(bench, MAPS "/x");
        apply_run_all(&run);
        assert_non_null(doc_get(api_bench_get(bench, MAPS "/x"), "metadata.annotations.first"));
        api_bench_remove(bench, MAPS "/x");
        apply_run_done(&run);
    }
}

static void an_object_that_is_being_deleted_is_an_error_that_passes(void **state)
{
    static const struct {
        enum update_strategy strategy;
        enum apply_policy policy;
    } cases[] = {
        {STRATEGY_UPDATE, POLICY_MANAGE},
        {STRATEGY_UPDATE, POLICY_IMMUTABLE},
        {STRATEGY_APPLY, POLICY_MANAGE},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        enum error_kind kind = ERROR_NONE;

        (void)api_bench_put(bench, MAPS "/x",
                            "{\"kind\": \"ConfigMap\", \"metadata\": {\"deletionTimestamp\": "
                            "\"2026-01-01T00:00:00Z\", \"finalizers\": [\"f\"]}}");
        apply_run_init(&run, bench, cases[i].strategy);
        (void)apply_run_add(&run, MAP("x", ""), cases[i].policy);
        apply_run_all(&run);
        assert_string_equal(apply_run_error(&run, &kind),
                            "ConfigMap a/x: cannot be changed: it is being deleted, and can be "
                            "created when it is gone; it waits for its finalizers [\"f\"]");
        assert_int_equal(kind, ERROR_TEMPORARY);
        assert_int_equal(api_bench_count(bench, "PUT"), 0);
        api_bench_remove(bench, MAPS "/x");
        apply_run_all(&run);
        assert_int_equal(run.result->failed, 0);
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

static void without_finalizers_it_is_said_as_well(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    (void)api_bench_put(bench, MAPS "/x",
                        "{\"kind\": \"ConfigMap\", \"metadata\": {\"deletionTimestamp\": \"x\"}}");
    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    apply_run_all(&run);
    assert_non_null(strstr(apply_run_error(&run, NULL), "can be created when it is gone"));
    apply_run_done(&run);
}

/* It shakes hands and then says nothing. */
static void a_silent_server_ends_in_an_error_that_names_it(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    enum error_kind kind = ERROR_NONE;
    cleanup_free char *text = NULL;

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    apply_run_add_many(&run, 40, NULL);
    (void)api_bench_rule(bench, "POST", -1, NULL, NULL);
    apply_run_start(&run);
    while (bench->server.request_count < APPLY_PARALLEL_MAX)
        api_bench_run_once(bench);
    text = apply_describe(run.apply);
    assert_non_null(strstr(text, "waits for a response of server \"http://127.0.0.1:"));
    /* Each request has a deadline, and those behind it are not sent any more. */
    for (int seconds = 0; !run.is_done; seconds++) {
        assert_true(seconds < 180);
        clock_fake_advance(&bench->clock, 1000);
        api_bench_run_idle(bench);
    }
    assert_int_equal(run.result->failed, 40);
    assert_true(bench->server.request_count < 40);
    assert_non_null(strstr(apply_run_error(&run, &kind), "http://127.0.0.1:"));
    assert_int_equal(kind, ERROR_TEMPORARY);
    apply_run_done(&run);
}

struct stop {
    struct apply_run *run;
    size_t after; /* so many requests */
    bool is_stopped;
};

static void count_down(void *data, const char *line)
{
    struct stop *stop = data;

    (void)line;
    stop->is_stopped = stop->after > 0 && --stop->after == 0;
}

static void add_objects(struct apply_run *run, const char *value)
{
    cleanup_free char *map = xasprintf(
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', 'namespace': 'a'}, "
        "'data': {'a': '%s'}}",
        value);
    cleanup_free char *boat =
        xasprintf("{'apiVersion': 'x.example.com/v1', 'kind': 'Boat', 'metadata': {'name': 'b', "
                  "'namespace': 'a'}, 'spec': {'a': '%s'}}",
                  value);

    (void)apply_run_add(run, BOAT_CRD, POLICY_MANAGE);
    (void)apply_run_add(run, "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'a'}}",
                        POLICY_KEEP);
    (void)apply_run_add(run, map, POLICY_MANAGE);
    (void)apply_run_add(run, boat, POLICY_FALLBACK);
}

/* Runs it, but stops after so many requests and starts again from what is recorded. Returns whether
 * it was stopped. */
static bool run_with_stop(struct apply_run *run, size_t after)
{
    struct stop stop = {.run = run, .after = after};

    run->bench->on_request = count_down;
    run->bench->data = &stop;
    apply_run_start(run);
    while (!stop.is_stopped && !run->is_done)
        api_bench_run_once(run->bench);
    run->bench->on_request = NULL;
    if (run->is_done) {
        inventory_done(&run->inventory);
        run->inventory = inventory_copy(&run->result->inventory);
        return false;
    }
    apply_cancel(run->apply);
    run->apply = NULL;
    /* Whatever exists is recorded. */
    assert_true(json_object_size(run->bench->objects) <= run->inventory.count);
    apply_run_all(run);
    return true;
}

static void it_may_be_stopped_after_every_request(void **state)
{
    static const enum update_strategy strategies[] = {STRATEGY_UPDATE, STRATEGY_PATCH,
                                                      STRATEGY_MERGE_OVERWRITE, STRATEGY_APPLY};
    struct api_bench *bench = *state;

    bench->are_namespaces_checked = bench->is_establishing = true;
    for (size_t i = 0; i < array_length(strategies); i++) {
        bool is_stopped = true;

        for (size_t after = 1; is_stopped; after++) {
            struct apply_run run = {0};

            api_bench_forget_requests(bench);
            apply_run_init(&run, bench, strategies[i]);
            add_objects(&run, "1");
            is_stopped = run_with_stop(&run, after);
            assert_string_equal(apply_run_error(&run, NULL), "");
            apply_run_clear_inputs(&run);
            add_objects(&run, "2");
            is_stopped = run_with_stop(&run, after) || is_stopped;
            assert_string_equal(apply_run_error(&run, NULL), "");
            assert_int_equal(run.inventory.count, 4);
            for (size_t j = 0; j < run.plan->count; j++)
                assert_non_null(apply_run_uid(&run, j));
            assert_string_equal(doc_text_or(api_bench_get(bench, MAPS "/x"), "data.a", ""), "2");
            apply_run_done(&run);
            json_object_clear(bench->objects);
        }
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_conflict_is_repeated_with_the_new_state),
        test(an_object_that_cannot_be_read_fails),
        test(an_object_may_change_appear_and_vanish_meanwhile),
        test(it_gives_up_after_a_few_attempts),
        test(a_lost_answer_to_a_create_does_no_harm),
        test(annotations_of_the_creation_are_only_for_it),
        test(an_object_that_is_being_deleted_is_an_error_that_passes),
        test(without_finalizers_it_is_said_as_well),
        test(it_may_be_stopped_after_every_request),
        cmocka_unit_test_setup_teardown(a_silent_server_ends_in_an_error_that_names_it,
                                        api_bench_setup_fake, api_bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
