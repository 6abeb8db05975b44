/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/checks_bench.h"

/* ---- The default check ---- */

static void objects_that_the_last_write_showed_ready_cost_no_request(void **state)
{
    struct checks_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/c", "configmaps", CONFIG_MAP);
    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", DEPLOYMENT("d", "1"));
    bench_start(bench, "[{'disabled': true, 'objects': ['v1 ConfigMap ns/x']}]");
    assert_true(bench->is_ready);
    assert_int_equal(bench->cluster->watch_count, 0);
    assert_int_equal(bench->cluster->lookup_count, 0);
}

static void nothing_to_check_is_ready(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench, "[]");
    assert_true(bench->is_ready);
}

static void ready_is_noticed_with_one_event(void **state)
{
    struct checks_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/c", "configmaps", CONFIG_MAP);
    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", DEPLOYMENT("d", "0"));
    bench_start(bench, "[]");
    assert_false(fake_is_watched(bench->cluster, "configmaps ns/c"));
    fake_advance(bench->cluster, 600000);
    assert_int_equal(bench->cluster->watch_count, 1);
    bench_must_say(bench, "Deployment ns/d: ");
    fake_deliver(bench->cluster, "deployments ns/d", DEPLOYMENT("d", "0"));
    assert_false(bench->is_ready);
    fake_deliver(bench->cluster, "deployments ns/d", DEPLOYMENT("d", "1"));
    assert_true(bench->is_ready);
    assert_int_equal(bench->cluster->request_count, 0);
}

static void an_object_must_exist(void **state)
{
    struct checks_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/c", "configmaps", NULL);
    bench_start(bench, "[]");
    bench_must_say(bench, "ConfigMap ns/c: was not read yet");
    fake_deliver(bench->cluster, "configmaps ns/c", NULL);
    bench_must_say(bench, "ConfigMap ns/c: does not exist");
    fake_deliver(bench->cluster, "configmaps ns/c", CONFIG_MAP);
    assert_true(bench->is_ready);
}

static void all_checks_must_hold_at_the_same_moment(void **state)
{
    struct checks_bench *bench = *state;

    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", DEPLOYMENT("d", "1"));
    bench_add(bench, "apps/v1 Deployment ns/e", "deployments", NULL);
    bench_start(bench, "[]");
    fake_deliver(bench->cluster, "deployments ns/d", DEPLOYMENT("d", "0"));
    fake_deliver(bench->cluster, "deployments ns/e", DEPLOYMENT("e", "1"));
    bench_must_say(bench, "Deployment ns/d: ");
    fake_deliver(bench->cluster, "deployments ns/e", NULL);
    fake_deliver(bench->cluster, "deployments ns/d", DEPLOYMENT("d", "1"));
    bench_must_say(bench, "Deployment ns/e: does not exist");
    fake_deliver(bench->cluster, "deployments ns/e", DEPLOYMENT("e", "1"));
    assert_true(bench->is_ready);
}

static void two_events_in_one_turn_count_in_their_last_state(void **state)
{
    struct checks_bench *bench = *state;
    cleanup_json json_t *ready = parse(DEPLOYMENT("d", "1"));
    cleanup_json json_t *waiting = parse(DEPLOYMENT("d", "0"));
    const struct fake_part *interest = NULL;

    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", NULL);
    bench_start(bench, "[]");
    interest = fake_interest(bench->cluster, "deployments ns/d");
    interest->on_object(interest->data, ready, NULL);
    interest->on_object(interest->data, waiting, NULL);
    fake_run(bench->cluster);
    assert_false(bench->is_ready);
}

static void an_interruption_of_the_watch_is_named_and_changes_nothing(void **state)
{
    struct checks_bench *bench = *state;

    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", NULL);
    bench_add(bench, "apps/v1 Deployment ns/e", "deployments", NULL);
    bench_start(bench, "[]");
    fake_deliver_error(bench->cluster, "deployments ns/d", ERROR_DENIED, "forbidden");
    bench_must_say(bench, "Deployment ns/d: was not read yet; forbidden");
    fake_deliver(bench->cluster, "deployments ns/d", DEPLOYMENT("d", "1"));
    fake_deliver_error(bench->cluster, "deployments ns/d", ERROR_TEMPORARY, "connection reset");
    bench_must_say(bench, "Deployment ns/e: was not read yet");
    fake_deliver(bench->cluster, "deployments ns/e", DEPLOYMENT("e", "1"));
    assert_true(bench->is_ready);
}

static void an_object_that_failed_for_good_ends_strict_checks(void **state)
{
    struct checks_bench *bench = *state;

    bench->rules = READINESS_STRICT;
    bench_add(bench, "batch/v1 Job ns/j", "jobs", FAILED_JOB);
    bench_start(bench, "[]");
    /* What the write returned may be the state before it took effect. */
    assert_string_equal(bench->failure, "");
    fake_deliver(bench->cluster, "jobs ns/j", FAILED_JOB);
    assert_int_equal(strncmp(bench->failure, "Job ns/j: ", 10), 0);
    assert_false(bench->is_ready);
}

/* ---- Cancelling ---- */

static void they_can_be_cancelled_at_every_point(void **state)
{
    (void)state;
    checks_cancel(NULL);
    for (int steps = 0; steps < 9; steps++) {
        void *prepared = NULL;
        struct checks_bench *bench = NULL;
        struct error err = {0};

        (void)bench_setup(&prepared);
        bench = prepared;
        bench->cluster->is_lookup_slow = true;
        bench_add(bench, "apps/v1 Deployment ns/d", "deployments", NULL);
        assert_int_equal(
            bench_try(
                bench,
                "[{'objects': ['v1 ConfigMap ns/a'], 'labels': 'v1 ConfigMap app=x', " SAME_REVISION
                "}]",
                &err),
            0);
        if (steps > 0)
            fake_run(bench->cluster);
        if (steps > 1)
            fake_answer_lookup(bench->cluster, "ConfigMap", ERROR_NONE);
        if (steps > 2)
            fake_answer_lookup(bench->cluster, "ConfigMap", ERROR_NONE);
        if (steps > 3)
            fake_answer_lookup(bench->cluster, "Secret", ERROR_TEMPORARY);
        if (steps > 4)
            fake_deliver(bench->cluster, "configmaps ?app=x", APPLIED("b", "2"));
        if (steps > 5)
            fake_deliver(bench->cluster, "configmaps ns/a", APPLIED("a", "1"));
        if (steps > 6)
            fake_advance(bench->cluster, 1000);
        if (steps > 7)
            fake_answer_lookup(bench->cluster, "Secret", ERROR_NONE);
        (void)bench_teardown(&prepared); /* cancels, and fails if anything is left */
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(objects_that_the_last_write_showed_ready_cost_no_request),
        test(nothing_to_check_is_ready),
        test(ready_is_noticed_with_one_event),
        test(an_object_must_exist),
        test(all_checks_must_hold_at_the_same_moment),
        test(two_events_in_one_turn_count_in_their_last_state),
        test(an_interruption_of_the_watch_is_named_and_changes_nothing),
        test(an_object_that_failed_for_good_ends_strict_checks),
        cmocka_unit_test(they_can_be_cancelled_at_every_point),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
