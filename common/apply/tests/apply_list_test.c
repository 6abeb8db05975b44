/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded objects of one kind and namespace are read with one list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/tests/apply_run.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define LIST "LIST " MAPS
#define LIST_LINE "GET " MAPS /* of the request */
#define GET "GET " MAPS "/x"
#define GET_Y "GET " MAPS "/y"
#define PUT "PUT " MAPS "/x"
#define PATCH "PATCH " MAPS "/x"

static void add_both(struct apply_run *run, bool is_changed, enum apply_policy policy)
{
    apply_run_clear_inputs(run);
    (void)apply_run_add(
        run, is_changed ? MAP("x", ", 'data': {'a': '2'}") : MAP("x", ", 'data': {'a': '1'}"),
        policy);
    (void)apply_run_add(run, MAP("y", ", 'data': {'a': '1'}"), policy);
}

/* ConfigMaps x and y were applied by an earlier job. */
static void init_both(struct apply_run *run, struct api_bench *bench, enum update_strategy strategy,
                      enum apply_policy policy)
{
    apply_run_init(run, bench, strategy);
    add_both(run, false, policy);
    apply_run_all(run);
    assert_int_equal(run->result->failed, 0);
    (void)api_bench_log(bench);
}

static void end_both(struct apply_run *run)
{
    apply_run_done(run);
    api_bench_remove(run->bench, MAPS "/x");
    api_bench_remove(run->bench, MAPS "/y");
}

static void drift(struct api_bench *bench)
{
    doc_set_text(api_bench_get(bench, MAPS "/x"), "data.a", "drifted");
    api_bench_touch(bench, MAPS "/x");
}

static void lose_label(struct api_bench *bench)
{
    (void)json_object_del(doc_writable(doc_get(api_bench_get(bench, MAPS "/x"), "metadata.labels")),
                          "owner");
    api_bench_touch(bench, MAPS "/x");
}

static void change_owner(struct api_bench *bench)
{
    doc_set_text(api_bench_get(bench, MAPS "/x"), "metadata.labels.owner", "them");
    doc_set_text(api_bench_get(bench, MAPS "/x"), "metadata.annotations.full-owner", "space/them");
    api_bench_touch(bench, MAPS "/x");
}

static void be_forbidden(struct api_bench *bench)
{
    (void)api_bench_rule(bench, LIST_LINE "?", 1, "403 Forbidden", "may not list");
}

static void be_cut_off(struct api_bench *bench)
{
    (void)api_bench_rule(bench, LIST_LINE "?", 1, "500 Oh", "no");
    drift(bench);
}

/* What happens between two jobs, and what the second one does. */
static const struct {
    enum update_strategy strategy;
    enum apply_policy policy;
    bool is_changed; /* the manifest of x */
    void (*meanwhile)(struct api_bench *bench);
    const char *log, *outcomes, *data; /* of x */
} cases[] = {
    {STRATEGY_UPDATE, POLICY_MANAGE, false, NULL, LIST, "unchanged unchanged", "1"},
    {STRATEGY_PATCH, POLICY_MANAGE, false, NULL, LIST, "unchanged unchanged", "1"},
    {STRATEGY_MERGE, POLICY_MANAGE, false, NULL, LIST, "unchanged unchanged", "1"},
    {STRATEGY_MERGE_OVERWRITE, POLICY_MANAGE, false, NULL, LIST, "unchanged unchanged", "1"},
    {STRATEGY_UPDATE, POLICY_MANAGE, true, NULL, LIST "; " PUT, "changed unchanged", "2"},
    {STRATEGY_PATCH, POLICY_MANAGE, true, NULL, LIST "; " PATCH, "changed unchanged", "2"},
    {STRATEGY_APPLY, POLICY_MANAGE, true, NULL, LIST "; APPLY " MAPS "/x", "changed unchanged",
     "2"},
    /* Drift is found without a request for each object. */
    {STRATEGY_UPDATE, POLICY_MANAGE, false, drift, LIST "; " PUT, "changed unchanged", "1"},
    {STRATEGY_PATCH, POLICY_MANAGE, false, drift, LIST "; " PATCH, "changed unchanged", "1"},
    {STRATEGY_UPDATE, POLICY_IMMUTABLE, true, drift, LIST, "alone alone", "drifted"},
    {STRATEGY_MERGE, POLICY_MANAGE, false, drift, LIST, "unchanged unchanged", "drifted"},
    /* What is not in the list is read by name. */
    {STRATEGY_UPDATE, POLICY_MANAGE, false, lose_label, LIST "; " GET "; " PUT, "changed unchanged",
     "1"},
    {STRATEGY_UPDATE, POLICY_FALLBACK, true, change_owner, LIST "; " GET, "alone unchanged", "1"},
    {STRATEGY_UPDATE, POLICY_MANAGE, true, be_forbidden, LIST "; " GET "; " GET_Y "; " PUT,
     "changed unchanged", "2"},
    {STRATEGY_UPDATE, POLICY_MANAGE, false, be_cut_off, LIST "; " GET "; " GET_Y "; " PUT,
     "changed unchanged", "1"},
};

static void recorded_objects_are_read_with_one_list(void **state)
{
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        cleanup_free char *uid = NULL;
        const char *log = NULL;

        init_both(&run, bench, cases[i].strategy, cases[i].policy);
        uid = xstrdup(doc_text(api_bench_get(bench, MAPS "/x"), "metadata.uid"));
        add_both(&run, cases[i].is_changed, cases[i].policy);
        if (cases[i].meanwhile)
            cases[i].meanwhile(bench);
        apply_run_all(&run);
        log = api_bench_log(bench);
        if (strcmp(log, cases[i].log) != 0 ||
            strcmp(apply_run_outcomes(&run), cases[i].outcomes) != 0)
            fail_msg("case %zu: %s by %s", i, apply_run_outcomes(&run), log);
        assert_string_equal(doc_text(api_bench_get(bench, MAPS "/x"), "data.a"), cases[i].data);
        assert_string_equal(doc_text(api_bench_get(bench, MAPS "/x"), "metadata.uid"), uid);
        end_both(&run);
    }
    assert_int_equal(api_bench_count(bench, "?limit=500&labelSelector=owner%3Dus "),
                     array_length(cases));
}

/* The recorded uid goes before another object is created, as after a GET. */
static void an_object_that_is_gone_is_confirmed_and_created_again(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    init_both(&run, bench, STRATEGY_UPDATE, POLICY_MANAGE);
    api_bench_remove(bench, MAPS "/x");
    apply_run_start(&run);
    api_bench_run(bench, &run.is_done);
    assert_string_equal(api_bench_log(bench), LIST "; " GET);
    assert_true(run.result->is_record_needed);
    assert_string_equal(apply_run_outcomes(&run), "failed unchanged");
    inventory_done(&run.inventory);
    run.inventory = inventory_copy(&run.result->inventory);
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "created unchanged");
    end_both(&run);
}

static void interfere(void *data, const char *line)
{
    struct api_bench *bench = data;

    if (strncmp(line, LIST_LINE, strlen(LIST_LINE)) != 0)
        return;
    bench->on_request = NULL;
    doc_set_text(api_bench_get(bench, MAPS "/x"), "metadata.labels.foreign", "yes");
    api_bench_touch(bench, MAPS "/x");
}

/* A list is older than the answer to a GET: nothing is written to what the object became since. */
static void a_change_since_the_list_is_a_conflict(void **state)
{
    static const struct {
        enum update_strategy strategy;
        const char *log;
    } rows[] = {
        {STRATEGY_UPDATE, LIST "; " PUT "; " GET "; " PUT},
        {STRATEGY_PATCH, LIST "; " PATCH "; " GET "; " PATCH},
        {STRATEGY_MERGE_OVERWRITE, LIST "; " PUT "; " GET "; " PUT},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(rows); i++) {
        struct apply_run run = {0};

        init_both(&run, bench, rows[i].strategy, POLICY_MANAGE);
        add_both(&run, true, POLICY_MANAGE);
        bench->on_request = interfere;
        bench->data = bench;
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), rows[i].log);
        assert_string_equal(apply_run_outcomes(&run), "changed unchanged");
        end_both(&run);
    }
}

static bool never(const void *data)
{
    (void)data;
    return false;
}

static void a_job_can_be_cancelled_during_the_list_and_needs_permission_for_it(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    cleanup_free char *text = NULL;

    init_both(&run, bench, STRATEGY_UPDATE, POLICY_MANAGE);
    (void)api_bench_rule(bench, LIST_LINE "?", 1, NULL, NULL);
    apply_run_start(&run);
    while (api_bench_count(bench, LIST_LINE "?") == 0 || bench->rules[0].count > 0)
        api_bench_run_once(bench);
    text = apply_describe(run.apply);
    assert_non_null(strstr(text, "ConfigMap a/y waits for a response of server"));
    apply_cancel(run.apply);
    run.apply = NULL;
    (void)api_bench_log(bench);
    run.may_send = never;
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "failed failed");
    assert_string_equal(api_bench_log(bench), "");
    end_both(&run);
}

/* One object is read by name, whatever else there is in other places. */
static void a_list_is_used_only_if_it_saves_requests(void **state)
{
    static const char *const others[] = {
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', 'namespace': 'b'}}",
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'x', 'namespace': 'a'}}",
        "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'x'}}",
        MAP("y", ""), /* new with the second job */
    };
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    (void)apply_run_add(&run, MAP("x", ""), POLICY_MANAGE);
    for (size_t i = 0; i < array_length(others) - 1; i++)
        (void)apply_run_add(&run, others[i], POLICY_MANAGE);
    apply_run_all(&run);
    (void)api_bench_log(bench);
    (void)apply_run_add(&run, others[3], POLICY_MANAGE);
    apply_run_all(&run);
    assert_string_equal(api_bench_log(bench), "GET /api/v1/namespaces/x; " GET
                                              "; GET /api/v1/namespaces/b/configmaps/x; GET "
                                              "/api/v1/namespaces/a/secrets/x; POST " MAPS);
    apply_run_done(&run);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(recorded_objects_are_read_with_one_list),
        test(an_object_that_is_gone_is_confirmed_and_created_again),
        test(a_change_since_the_list_is_a_conflict),
        test(a_job_can_be_cancelled_during_the_list_and_needs_permission_for_it),
        test(a_list_is_used_only_if_it_saves_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
