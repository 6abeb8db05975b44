/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/late_patch.h"

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
#define PUT "PUT " MAPS "/x"

struct patched {
    bool is_done;
    struct error err;
};

static void note(void *data, const struct error *err)
{
    struct patched *patched = data;

    assert_false(patched->is_done);
    patched->is_done = true;
    patched->err = *err;
}

/* An item whose ConfigMaps x and y were applied. */
static void init(struct apply_run *run, struct api_bench *bench)
{
    apply_run_init(run, bench, STRATEGY_UPDATE);
    apply_run_add(run, MAP("x", ", 'data': {'a': '1', 'b': '2'}"), POLICY_MANAGE)->patch_after =
        parse("{'data': {'a': 'late'}}");
    (void)apply_run_add(run, MAP("y", ""), POLICY_MANAGE);
    apply_run_all(run);
    (void)api_bench_log(bench);
}

static struct late_patch *start(struct apply_run *run, const bool *is_wanted,
                                struct patched *patched)
{
    const struct late_patch_options options = {
        .cluster = run->bench->cluster,
        .plan = run->plan,
        .is_wanted = is_wanted,
        .field_manager = "tester",
        .on_done = note,
        .data = patched,
    };
    struct late_patch *patch = NULL;
    struct error err = {0};

    assert_int_equal(late_patch_start(&options, &patch, &err), 0);
    assert_false(patched->is_done);
    return patch;
}

static struct error patch_all(struct apply_run *run)
{
    static const bool all[RUN_INPUTS_MAX] = {true, true, true, true, true, true, true, true, true};
    struct patched patched = {0};

    (void)start(run, all, &patched);
    api_bench_run(run->bench, &patched.is_done);
    return patched.err;
}

static void the_patch_is_merged_into_the_live_object(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    cleanup_json json_t *wanted = parse("{'a': 'late', 'b': '2', 'foreign': 'yes'}");

    init(&run, bench);
    doc_set_text(api_bench_get(bench, MAPS "/x"), "data.foreign", "yes");
    api_bench_touch(bench, MAPS "/x");
    assert_int_equal(patch_all(&run).kind, ERROR_NONE);
    assert_string_equal(api_bench_log(bench), GET "; " PUT);
    assert_true(merge_is_equal(doc_get(api_bench_get(bench, MAPS "/x"), "data"), wanted));
    assert_int_equal(api_bench_count(bench, PUT "?fieldManager=tester "), 1);
    /* A patch that is there already is not written again. */
    assert_int_equal(patch_all(&run).kind, ERROR_NONE);
    assert_string_equal(api_bench_log(bench), GET);
    apply_run_done(&run);
}

static void conflicts_are_repeated_a_few_times(void **state)
{
    static const struct {
        int conflicts;
        enum error_kind kind;
    } cases[] = {{1, ERROR_NONE}, {4, ERROR_NONE}, {5, ERROR_TEMPORARY}};
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct apply_run run = {0};
        struct error err = {0};

        init(&run, bench);
        (void)api_bench_rule(bench, PUT, cases[i].conflicts, "409 Conflict", "modified");
        err = patch_all(&run);
        assert_int_equal(err.kind, cases[i].kind);
        if (err.kind != ERROR_NONE)
            assert_string_equal(err.text, "ConfigMap a/x: cannot be patched: modified");
        apply_run_done(&run);
        json_object_clear(bench->objects);
    }
}

static void the_first_failure_is_reported_and_the_others_are_patched(void **state)
{
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    struct error err = {0};

    apply_run_init(&run, bench, STRATEGY_UPDATE);
    apply_run_add_many(&run, 40, "{'data': {'a': 'late'}}");
    apply_run_all(&run);
    api_bench_forget_requests(bench);
    api_bench_remove(bench, MAPS "/n0");
    (void)api_bench_rule(bench, "PUT " MAPS "/n1?", 1, "403 Forbidden", "a webhook said no");
    {
        bool wanted[RUN_INPUTS_MAX] = {false};
        struct patched patched = {0};

        memset(wanted, true, 39);
        (void)start(&run, wanted, &patched);
        api_bench_run(bench, &patched.is_done);
        err = patched.err;
    }
    assert_string_equal(err.text, "ConfigMap a/n0: cannot be read: \"n0\" not found");
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_int_equal(api_bench_count(bench, "PUT"), 38);
    assert_null(doc_get(api_bench_get(bench, MAPS "/n1"), "data"));
    assert_non_null(doc_get(api_bench_get(bench, MAPS "/n38"), "data"));
    assert_null(doc_get(api_bench_get(bench, MAPS "/n39"), "data"));
    apply_run_done(&run);
}

static void it_can_be_cancelled_and_described(void **state)
{
    static const bool all[RUN_INPUTS_MAX] = {true, true};
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    struct patched patched = {0};
    struct late_patch *patch = NULL;
    cleanup_free char *text = NULL;

    init(&run, bench);
    (void)api_bench_rule(bench, GET, -1, NULL, NULL);
    patch = start(&run, all, &patched);
    assert_null(late_patch_describe(patch));
    while (api_bench_count(bench, GET) == 0)
        api_bench_run_once(bench);
    text = late_patch_describe(patch);
    assert_non_null(
        strstr(text, "ConfigMap a/x waits for a response of server \"http://127.0.0.1"));
    late_patch_cancel(patch);
    late_patch_cancel(NULL);
    api_bench_run_idle(bench);
    assert_false(patched.is_done);
    apply_run_done(&run);
}

static void without_anything_to_do_it_is_done_from_the_loop(void **state)
{
    static const bool none[RUN_INPUTS_MAX] = {false, true}; /* the second has no patch */
    struct api_bench *bench = *state;
    struct apply_run run = {0};
    struct patched patched = {0};

    init(&run, bench);
    (void)start(&run, none, &patched);
    api_bench_run(bench, &patched.is_done);
    assert_int_equal(patched.err.kind, ERROR_NONE);
    assert_string_equal(api_bench_log(bench), "");
    apply_run_done(&run);
}

static void wrong_options_and_names_are_refused(void **state)
{
    struct api_bench *bench = *state;
    struct late_patch_options options = {.cluster = bench->cluster};
    struct late_patch *patch = NULL;
    struct apply_run run = {0};
    struct error err = {0};

    assert_int_equal(late_patch_start(&options, &patch, &err), -1);
    options.field_manager = "";
    assert_int_equal(late_patch_start(&options, &patch, &err), -1);
    assert_int_equal(err.kind, ERROR_INTERNAL);
    apply_run_init(&run, bench, STRATEGY_UPDATE);
    apply_run_add(&run,
                  "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', "
                  "'namespace': 'a/b'}}",
                  POLICY_MANAGE)
        ->patch_after = parse("{}");
    apply_run_all(&run);
    err = patch_all(&run);
    assert_int_equal(err.kind, ERROR_INVALID);
    apply_run_done(&run);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(the_patch_is_merged_into_the_live_object),
        test(conflicts_are_repeated_a_few_times),
        test(the_first_failure_is_reported_and_the_others_are_patched),
        test(it_can_be_cancelled_and_described),
        test(without_anything_to_do_it_is_done_from_the_loop),
        test(wrong_options_and_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
