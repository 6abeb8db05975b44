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

#define GET "GET " MAPS "/x"
#define PATCH "PATCH " MAPS "/x"
#define APPLY "APPLY " MAPS "/x"
#define FIELDS(entries_)                                                                           \
    "{\"kind\": \"ConfigMap\", \"metadata\": {\"managedFields\": [" entries_ "]}}"
#define ENTRY(manager_, operation_)                                                                \
    "{\"manager\": \"" manager_ "\", \"operation\": \"" operation_                                 \
    "\", \"apiVersion\": \"v1\", \"fieldsV1\": {\"f:data\": {\"f:old\": {}}}}"

static void init(struct apply_run *run, struct api_bench *bench)
{
    apply_run_init(run, bench, STRATEGY_APPLY);
    (void)apply_run_add(run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE);
}

static void it_is_forced_and_has_a_field_manager(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    init(&run, bench);
    apply_run_all(&run);
    assert_string_equal(api_bench_log(bench), APPLY);
    assert_int_equal(api_bench_count(bench, "?fieldManager=tester&force=true"), 1);
    assert_string_equal(apply_run_outcomes(&run), "changed");
    apply_run_done(&run);
}

/* Real servers record managers, by which a new object is recognised. */
static void an_object_without_other_managers_was_created(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};

    init(&run, bench);
    (void)api_bench_put(bench, MAPS "/x", FIELDS(ENTRY("tester", "Apply")));
    apply_run_all(&run);
    assert_string_equal(apply_run_outcomes(&run), "created");
    apply_run_done(&run);
}

static void what_was_written_by_others_is_taken_over_once(void **state)
{
    static const char *const former[] = {"go-deployer", NULL};
    static const struct {
        const char *entries;
        const char *const *former;
        const char *log;
    } cases[] = {
        {ENTRY("tester", "Apply") "," ENTRY("tester", "Update"), NULL,
         APPLY "; " PATCH "; " GET "; " APPLY},
        {ENTRY("tester", "Apply") "," ENTRY("go-deployer", "Update"), former,
         APPLY "; " PATCH "; " GET "; " APPLY},
        {ENTRY("tester", "Apply") "," ENTRY("go-deployer", "Update"), NULL, APPLY},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = xasprintf(
            "{\"kind\": \"ConfigMap\", \"metadata\": {\"managedFields\": [%s]}}", cases[i].entries);
        struct apply_run run = {0};
        const json_t *entries = NULL;

        (void)api_bench_put(bench, MAPS "/x", text);
        init(&run, bench);
        run.former_managers = cases[i].former;
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), cases[i].log);
        assert_string_equal(apply_run_outcomes(&run), "changed");
        entries = doc_get(api_bench_get(bench, MAPS "/x"), "metadata.managedFields");
        assert_int_equal(json_array_size(entries), strstr(cases[i].log, PATCH) ? 1 : 2);
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), GET);
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

static void taking_over_may_meet_a_conflict_or_fail(void **state)
{
    static const struct {
        const char *status, *log, *outcome;
    } cases[] = {
        {"409 Conflict", APPLY "; " PATCH "; " GET "; " APPLY, "changed"},
        {"403 Forbidden", APPLY "; " PATCH, "failed"},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};

        (void)api_bench_put(bench, MAPS "/x",
                            FIELDS(ENTRY("tester", "Apply") "," ENTRY("tester", "Update")));
        init(&run, bench);
        (void)api_bench_rule(bench, "PATCH " MAPS "/x?fieldManager=tester HTTP", 1, cases[i].status,
                             "no");
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), cases[i].log);
        assert_string_equal(apply_run_outcomes(&run), cases[i].outcome);
        apply_run_done(&run);
        api_bench_remove(bench, MAPS "/x");
    }
}

static void errors_and_conflicts(void **state)
{
    static const struct {
        const char *status, *log, *outcome;
        int count;
    } cases[] = {
        {"409 Conflict", APPLY "; " GET "; " APPLY, "changed", 1},
        {"422 Invalid", APPLY, "failed", 1},
        {"404 Not Found", APPLY, "failed", 1},
    };
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};

        init(&run, bench);
        (void)api_bench_put(bench, MAPS "/x", "{\"kind\": \"ConfigMap\"}");
        (void)api_bench_rule(bench, "force=true", cases[i].count, cases[i].status, "odd");
        apply_run_all(&run);
        assert_string_equal(api_bench_log(bench), cases[i].log);
        assert_string_equal(apply_run_outcomes(&run), cases[i].outcome);
        apply_run_done(&run);
    }
}

static void somebody_else_may_take_a_fallback_object_meanwhile(void **state)
{
    static const enum update_strategy strategies[] = {STRATEGY_APPLY, STRATEGY_PATCH};
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(strategies); i++) {
        struct apply_run run = {0};
        cleanup_json json_t *manifest = parse(MAP("x", ", 'data': {'a': '0'}"));
        cleanup_json json_t *owned = merge_with_owner(manifest, &OUR_OWNER);
        cleanup_free char *text = doc_dump(owned);
        const char *body = NULL;

        (void)api_bench_put(bench, MAPS "/x", text);
        apply_run_init(&run, bench, strategies[i]);
        (void)apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_FALLBACK);
        apply_run_all(&run);
        body = bench->server.requests[bench->server.request_count - 1];
        assert_non_null(strstr(body, "\"resourceVersion\":\""));
        apply_run_done(&run);
    }
}

static void a_dry_run_stores_nothing_and_shows_both_states(void **state)
{
    static const enum update_strategy strategies[] = {STRATEGY_UPDATE, STRATEGY_APPLY};
    struct api_bench *bench = *state;

    bench->are_namespaces_checked = true;
    (void)api_bench_put(bench, "/api/v1/namespaces/a", "{\"kind\": \"Namespace\"}");
    (void)api_bench_put(bench, MAPS "/x", "{\"kind\": \"ConfigMap\", \"data\": {\"a\": \"old\"}}");
    for (size_t i = 0; i < array_length(strategies); i++) {
        struct apply_run run = {0};
        uint64_t version = bench->version;

        apply_run_init(&run, bench, strategies[i]);
        run.is_dry_run = true;
        (void)apply_run_add(&run, BOAT_CRD, POLICY_MANAGE);
        (void)apply_run_add(
            &run, "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'new'}}",
            POLICY_MANAGE);
        (void)apply_run_add(&run, MAP("x", ", 'data': {'a': '1'}"), POLICY_MANAGE);
        (void)apply_run_add(&run, MAP("y", ""), POLICY_MANAGE);
        (void)apply_run_add(&run, BOAT, POLICY_MANAGE);
        (void)apply_run_add(&run,
                            "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'z', "
                            "'namespace': 'new'}}",
                            POLICY_MANAGE);
        (void)apply_run_add(&run,
                            "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'z', "
                            "'namespace': 'nowhere'}}",
                            POLICY_MANAGE);
        apply_run_all(&run);
        if (strategies[i] == STRATEGY_UPDATE)
            assert_string_equal(apply_run_outcomes(&run),
                                "created created changed created created created failed");
        assert_int_equal(run.result->failed, 1);
        assert_int_equal(bench->version, version);
        assert_string_equal(doc_text_or(run.result->objects[2].before, "data.a", ""), "old");
        assert_string_equal(doc_text_or(run.result->objects[2].object, "data.a", ""), "1");
        assert_null(run.result->objects[3].before);
        assert_false(run.result->objects[3].is_unchecked);
        assert_true(run.result->objects[4].is_unchecked); /* its kind does not exist yet */
        assert_true(run.result->objects[5].is_unchecked); /* its namespace neither */
        apply_run_done(&run);
    }
    assert_int_equal(api_bench_count(bench, "POST"), api_bench_count(bench, "dryRun=All") -
                                                         api_bench_count(bench, "PUT") -
                                                         api_bench_count(bench, "PATCH"));
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(it_is_forced_and_has_a_field_manager),
        test(an_object_without_other_managers_was_created),
        test(what_was_written_by_others_is_taken_over_once),
        test(taking_over_may_meet_a_conflict_or_fail),
        test(errors_and_conflicts),
        test(somebody_else_may_take_a_fallback_object_meanwhile),
        test(a_dry_run_stores_nothing_and_shows_both_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
