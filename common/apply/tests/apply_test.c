/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/tests/apply_run.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define POST "POST " MAPS
#define GET "GET " MAPS "/x"
#define PUT "PUT " MAPS "/x"
#define PATCH "PATCH " MAPS "/x"
#define APPLY "APPLY " MAPS "/x"

enum owner { NONE, OURS, OTHERS };

/* One ConfigMap with data {'a': '1', 'b': '2'}; live is the data of the object that exists, by
 * whomever it was made. is_known: its uid was recorded. */
static const struct {
    enum update_strategy strategy;
    enum apply_policy policy;
    const char *live;
    enum owner owner;
    bool is_known;
    const char *log, *outcome, *data;
    bool is_recorded; /* afterwards */
} cases[] = {
#define NEW "{'a': '1', 'b': '2'}"
#define OLD "{'a': '0', 'c': '3'}"
#define MERGED "{'a': '0', 'b': '2', 'c': '3'}"
#define OVERWRITTEN "{'a': '1', 'b': '2', 'c': '3'}"
    /* Absent: created with one request, whatever the strategy. */
    {STRATEGY_UPDATE, POLICY_MANAGE, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_PATCH, POLICY_MANAGE, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_MERGE, POLICY_MANAGE, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_MERGE_OVERWRITE, POLICY_MANAGE, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_UPDATE, POLICY_FALLBACK, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_UPDATE, POLICY_KEEP, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_UPDATE, POLICY_IMMUTABLE, NULL, NONE, false, POST, "created", NEW, true},
    {STRATEGY_APPLY, POLICY_IMMUTABLE, NULL, NONE, false, POST, "created", NEW, true},
    /* Recorded, but gone. */
    {STRATEGY_UPDATE, POLICY_MANAGE, NULL, NONE, true, GET "; " POST, "created", NEW, true},
    {STRATEGY_APPLY, POLICY_MANAGE, NULL, NONE, true, GET "; " APPLY, "changed", NEW, true},
    /* Recorded and there. */
    {STRATEGY_UPDATE, POLICY_MANAGE, OLD, OURS, true, GET "; " PUT, "changed", NEW, true},
    {STRATEGY_PATCH, POLICY_MANAGE, OLD, OURS, true, GET "; " PATCH, "changed", NEW, true},
    {STRATEGY_MERGE, POLICY_MANAGE, OLD, OURS, true, GET "; " PUT, "changed", MERGED, true},
    {STRATEGY_MERGE_OVERWRITE, POLICY_MANAGE, OLD, OURS, true, GET "; " PUT, "changed", OVERWRITTEN,
     true},
    {STRATEGY_APPLY, POLICY_MANAGE, OLD, OURS, true, GET "; " APPLY, "changed", OVERWRITTEN, true},
    {STRATEGY_UPDATE, POLICY_KEEP, OLD, OURS, true, GET "; " PUT, "changed", NEW, true},
    {STRATEGY_UPDATE, POLICY_FALLBACK, OLD, OURS, true, GET "; " PUT, "changed", NEW, true},
    {STRATEGY_PATCH, POLICY_FALLBACK, OLD, OURS, true, GET "; " PATCH, "changed", NEW, true},
    {STRATEGY_APPLY, POLICY_FALLBACK, OLD, OURS, true, GET "; " APPLY, "changed", OVERWRITTEN,
     true},
    {STRATEGY_UPDATE, POLICY_IMMUTABLE, OLD, OURS, true, GET, "alone", OLD, true},
    {STRATEGY_APPLY, POLICY_IMMUTABLE, OLD, OURS, true, GET, "alone", OLD, true},
    /* As wanted already: no write. */
    {STRATEGY_UPDATE, POLICY_MANAGE, NEW, OURS, true, GET, "unchanged", NEW, true},
    {STRATEGY_PATCH, POLICY_MANAGE, NEW, OURS, true, GET, "unchanged", NEW, true},
    {STRATEGY_MERGE, POLICY_MANAGE, MERGED, OURS, true, GET, "unchanged", MERGED, true},
    {STRATEGY_MERGE_OVERWRITE, POLICY_MANAGE, OVERWRITTEN, OURS, true, GET, "unchanged",
     OVERWRITTEN, true},
    {STRATEGY_APPLY, POLICY_MANAGE, NEW, OURS, true, GET "; " APPLY, "unchanged", NEW, true},
    /* Not recorded, but there: made by an earlier attempt, or by somebody else. */
    {STRATEGY_UPDATE, POLICY_MANAGE, NEW, OURS, false, POST "; " GET, "unchanged", NEW, true},
    {STRATEGY_UPDATE, POLICY_MANAGE, OLD, OTHERS, false, POST "; " GET "; " PUT, "changed", NEW,
     true},
    {STRATEGY_PATCH, POLICY_MANAGE, OLD, NONE, false, POST "; " GET "; " PATCH, "changed", NEW,
     true},
    {STRATEGY_APPLY, POLICY_MANAGE, OLD, OTHERS, false, APPLY, "changed", OVERWRITTEN, true},
    {STRATEGY_UPDATE, POLICY_KEEP, OLD, OTHERS, false, POST "; " GET "; " PUT, "changed", NEW,
     true},
    {STRATEGY_UPDATE, POLICY_FALLBACK, OLD, OURS, false, POST "; " GET "; " PUT, "changed", NEW,
     true},
    {STRATEGY_UPDATE, POLICY_FALLBACK, OLD, OTHERS, false, POST "; " GET, "alone", OLD, false},
    {STRATEGY_UPDATE, POLICY_FALLBACK, OLD, NONE, false, POST "; " GET, "alone", OLD, false},
    {STRATEGY_APPLY, POLICY_FALLBACK, OLD, OTHERS, false, GET, "alone", OLD, false},
    {STRATEGY_APPLY, POLICY_FALLBACK, OLD, OURS, false, GET "; " APPLY, "changed", OVERWRITTEN,
     true},
    {STRATEGY_APPLY, POLICY_FALLBACK, NULL, NONE, false, GET "; " APPLY, "changed", NEW, true},
    {STRATEGY_UPDATE, POLICY_IMMUTABLE, OLD, OTHERS, false, POST "; " GET, "alone", OLD, true},
    {STRATEGY_APPLY, POLICY_IMMUTABLE, OLD, OTHERS, false, POST "; " GET, "alone", OLD, true},
    /* It was ours and belongs to somebody else now. */
    {STRATEGY_UPDATE, POLICY_FALLBACK, OLD, OTHERS, true, GET, "alone", OLD, false},
};

static void put_live(struct api_bench *bench, const char *data, enum owner owner)
{
    cleanup_json json_t *object = json_object();
    cleanup_json json_t *owned = NULL;
    cleanup_free char *text = NULL;

    doc_set_text(object, "kind", "ConfigMap");
    doc_set_new(object, "data", parse(data));
    owned = owner == NONE ? json_incref(object)
                          : merge_with_owner(object, owner == OURS ? &OUR_OWNER : &OTHER_OWNER);
    text = doc_dump(owned);
    (void)api_bench_put(bench, MAPS "/x", text);
}

static void run_case(struct api_bench *bench, size_t i)
{
    struct apply_run run = {0};
    const char *uid = NULL;
    const char *log = NULL;

    apply_run_init(&run, bench, cases[i].strategy);
    (void)apply_run_add(&run, MAP("x", ", 'data': " NEW), cases[i].policy);
    if (cases[i].live)
        put_live(bench, cases[i].live, cases[i].owner);
    if (cases[i].is_known) {
        struct inventory_entry entry = {.ref = object_ref_of(run.inputs[0].manifest)};

        entry.ref.uid =
            xstrdup(doc_text_or(api_bench_get(bench, MAPS "/x"), "metadata.uid", "uid-of-before"));
        (void)inventory_add(&run.inventory, entry);
    }
    (void)api_bench_log(bench);
    apply_run_all(&run);
    log = api_bench_log(bench);
    if (strcmp(apply_run_outcomes(&run), cases[i].outcome) != 0 || strcmp(log, cases[i].log) != 0)
        fail_msg("case %zu: %s by %s", i, apply_run_outcomes(&run), log);
    {
        cleanup_json json_t *wanted = parse(cases[i].data);
        const json_t *live = api_bench_get(bench, MAPS "/x");
        bool is_ours = strcmp(cases[i].outcome, "alone") != 0;

        assert_true(merge_is_equal(doc_get(live, "data"), wanted));
        assert_true(owner_has_object(&OUR_OWNER, live) || !is_ours);
        assert_int_equal(owner_is_other(&OUR_OWNER, live), !is_ours && cases[i].owner == OTHERS);
        assert_string_equal(doc_text_or(run.result->objects[0].object, "metadata.uid", ""),
                            doc_text(live, "metadata.uid"));
        uid = apply_run_uid(&run, 0);
        if (cases[i].is_recorded)
            assert_string_equal(uid ? uid : "", doc_text(live, "metadata.uid"));
        else
            assert_null(inventory_find(&run.inventory, &run.plan->objects[0].ref));
    }
    apply_run_done(&run);
    if (api_bench_get(bench, MAPS "/x"))
        api_bench_remove(bench, MAPS "/x");
}

static void every_strategy_policy_and_state(void **state)
{
    for (size_t i = 0; i < array_length(cases); i++)
        run_case(*state, i);
}

/* A job that is repeated reads and does not write. */
static void what_was_applied_is_only_read_the_next_time(void **state)
{
    static const enum update_strategy strategies[] = {
        STRATEGY_UPDATE, STRATEGY_PATCH, STRATEGY_MERGE, STRATEGY_MERGE_OVERWRITE, STRATEGY_APPLY};
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(strategies); i++) {
        struct apply_run run = {0};

        apply_run_init(&run, bench, strategies[i]);
        (void)apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE);
        apply_run_all(&run);
        (void)api_bench_log(bench);
        apply_run_all(&run);
        assert_string_equal(apply_run_outcomes(&run), "unchanged");
        assert_string_equal(api_bench_log(bench), GET);
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

/* Before another object is created under the name of a recorded one, the entry must have lost its
 * uid: after a crash the new object would be taken for somebody else's. */
static void an_object_that_is_gone_is_recorded_before_it_is_created_again(void **state)
{
    static const enum update_strategy strategies[] = {STRATEGY_UPDATE, STRATEGY_APPLY};
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(strategies); i++) {
        struct apply_run run = {0};

        apply_run_init(&run, bench, strategies[i]);
        (void)apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE);
        apply_run_all(&run);
        assert_non_null(apply_run_uid(&run, 0));
        api_bench_remove(bench, MAPS "/x");
        (void)api_bench_log(bench);

        apply_run_start(&run);
        api_bench_run(bench, &run.is_done);
        assert_string_equal(api_bench_log(bench), GET);
        assert_true(run.result->is_record_needed);
        assert_int_equal(run.result->inventory.count, 1);
        assert_null(run.result->inventory.entries[0].ref.uid);
        /* Nothing can exist that would have to be removed. */
        assert_true(run.result->inventory.entries[0].is_new);

        apply_run_all(&run);
        assert_int_equal(run.result->failed, 0);
        assert_false(run.result->is_record_needed);
        assert_string_equal(apply_run_uid(&run, 0),
                            doc_text(api_bench_get(bench, MAPS "/x"), "metadata.uid"));
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

static void groups_are_applied_one_after_the_other(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    bench->are_namespaces_checked = bench->is_establishing = true;
    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    (void)apply_run_add(&run, BOAT, POLICY_MANAGE);
    (void)apply_run_add(&run,
                        "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'a'}}",
                        POLICY_MANAGE);
    (void)apply_run_add(&run, BOAT_CRD, POLICY_MANAGE);
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "created created created created");
    assert_int_equal(api_bench_count(bench, "POST " CRDS), 1);
    assert_non_null(strstr(api_bench_log(bench),
                           "POST /api/v1/namespaces; POST " MAPS
                           "; POST /apis/x.example.com/v1/namespaces/a/boats"));
    for (size_t i = 0; i < run.plan->count; i++)
        assert_non_null(apply_run_uid(&run, i));
    apply_run_done(&run);
}

static void an_empty_plan_is_done_at_once(void **state)
{
    struct apply_run run = {0};

    apply_run_init(&run, *state, STRATEGY_UPDATE);
    apply_run_start(&run);
    assert_false(run.is_done);
    assert_null(apply_describe(run.apply));
    api_bench_run(*state, &run.is_done);
    assert_string_equal(apply_run_outcomes(&run), "");
    assert_string_equal(apply_run_error(&run, NULL), "");
    apply_run_done(&run);
}

static void objects_of_a_group_are_applied_in_parallel_with_a_limit(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    cleanup_free char *text = NULL;

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    apply_run_add_many(&run, 40, NULL);
    (void)api_bench_rule(bench, "POST", -1, NULL, NULL);
    apply_run_start(&run);
    while (bench->server.request_count < APPLY_PARALLEL_MAX)
        api_bench_run_once(bench);
    api_bench_run_idle(bench);
    assert_int_equal(bench->server.request_count, APPLY_PARALLEL_MAX);
    text = apply_describe(run.apply);
    assert_non_null(
        strstr(text, "ConfigMap a/n0 waits for a response of server \"http://127.0.0.1:"));
    assert_non_null(strstr(text, "; and 11 more"));
    apply_cancel(run.apply);
    apply_cancel(NULL);
    run.apply = NULL;
    bench->rules[0].count = 0;
    apply_run_all(&run);
    assert_int_equal(run.result->failed, 0);
    assert_int_equal(json_object_size(bench->objects), 40);
    apply_run_done(&run);
}

static void an_object_that_fails_does_not_stop_the_others(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    enum error_kind kind = ERROR_NONE;

    bench->is_establishing = true;
    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run, BOAT_CRD, POLICY_MANAGE);
    (void)apply_run_add(&run,
                        "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'bad'}}",
                        POLICY_MANAGE);
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    (void)apply_run_add(&run, MAP("y", ""), POLICY_MANAGE);
    (void)apply_run_add(&run, MAP("z", ""), POLICY_MANAGE);
    (void)api_bench_rule(bench, "POST /api/v1/namespaces?", 1, "422 Unprocessable", "odd name");
    (void)api_bench_rule(bench, "POST " MAPS, 1, "403 Forbidden", "not allowed");
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "created failed failed created created");
    assert_string_equal(apply_run_error(&run, &kind),
                        "Namespace bad: cannot be created: odd name; ConfigMap a/x: cannot be "
                        "created: not allowed");
    assert_int_equal(kind, ERROR_INVALID);
    /* It stays recorded without a uid. */
    assert_non_null(inventory_find(&run.inventory, &run.plan->objects[1].ref));
    assert_null(apply_run_uid(&run, 1));
    assert_non_null(apply_run_uid(&run, 3));
    apply_run_done(&run);
}

static bool never(const void *data)
{
    (void)data;
    return false;
}

static void nothing_is_sent_without_permission(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    enum error_kind kind = ERROR_NONE;

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    run.may_send = never;
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "failed");
    (void)apply_run_error(&run, &kind);
    assert_int_equal(kind, ERROR_TEMPORARY);
    assert_int_equal(run.result->objects[0].error.kind, ERROR_CANCELLED);
    assert_int_equal(bench->server.request_count, 0);
    apply_run_done(&run);
}

static void the_field_manager_is_required_and_sent(void **state)
{
    struct api_bench *bench = *state;
    struct apply_options options = {.cluster = bench->cluster};
    struct apply *apply = NULL;
    struct apply_run run = {0};
    struct error err = {0};

    assert_int_equal(apply_start(&options, &apply, &err), -1);
    options.field_manager = "";
    assert_int_equal(apply_start(&options, &apply, &err), -1);
    assert_int_equal(err.kind, ERROR_INTERNAL);
    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE);
    apply_run_all(&run);
    doc_set_text(api_bench_get(bench, MAPS "/x"), "data.a", "2");
    apply_run_all(&run);
    assert_int_equal(api_bench_count(bench, "POST " MAPS "?fieldManager=tester "), 1);
    assert_int_equal(api_bench_count(bench, "GET " MAPS "/x "), 1);
    assert_int_equal(api_bench_count(bench, "PUT " MAPS "/x?fieldManager=tester "), 1);
    apply_run_done(&run);
}

static void invalid_names_fail_for_their_object_alone(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run,
                        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', "
                        "'namespace': 'a/b'}}",
                        POLICY_MANAGE);
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "failed created");
    assert_non_null(strstr(apply_run_error(&run, NULL), "invalid namespace \"a/b\""));
    apply_run_done(&run);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(every_strategy_policy_and_state),
        test(what_was_applied_is_only_read_the_next_time),
        test(an_object_that_is_gone_is_recorded_before_it_is_created_again),
        test(groups_are_applied_one_after_the_other),
        test(an_empty_plan_is_done_at_once),
        test(objects_of_a_group_are_applied_in_parallel_with_a_limit),
        test(an_object_that_fails_does_not_stop_the_others),
        test(nothing_is_sent_without_permission),
        test(the_field_manager_is_required_and_sent),
        test(invalid_names_fail_for_their_object_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
