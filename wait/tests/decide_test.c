/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "wait/decide.h"

static const struct {
    const char *name;
    enum main_end_kind end;
    int exit_code;
    bool is_stopped;
    uint64_t since_stop_ms;
    bool is_store_due, is_export_due;
    uint64_t wake_after_stop_ms, give_up_after_stop_ms; /* 0: none */
} plans[] = {
    {"main runs: wait, however long", MAIN_RUNNING, 0, false, 0, false, false, 0, 0},
    {"main was not started yet: wait", MAIN_NOT_STARTED, 0, false, 0, false, false, 0, 0},
    {"main fine: store all, no end", MAIN_ENDED, 0, false, 0, true, true, 0, 0},
    {"main failed: state only", MAIN_ENDED, 1, false, 0, true, false, 0, 0},
    {"main killed: state only", MAIN_ENDED, 137, false, 0, true, false, 0, 0},
    {"pod or runner gone: state only", MAIN_LOST, 0, false, 0, true, false, 0, 0},
    {"stopped: main gets its grace", MAIN_RUNNING, 0, true, 0, false, false, 30000, 625000},
    {"stopped: grace not over", MAIN_RUNNING, 0, true, 29999, false, false, 30000, 625000},
    {"stopped: grace over, time to store", MAIN_RUNNING, 0, true, 30000, true, false, 0, 625000},
    {"stopped: long ago", MAIN_RUNNING, 0, true, 700000, true, false, 0, 625000},
    {"stopped, main never started", MAIN_NOT_STARTED, 0, true, 0, true, false, 0, 625000},
    {"stopped, then main fine", MAIN_ENDED, 0, true, 5, true, true, 0, 625000},
    {"stopped, then main failed", MAIN_ENDED, 143, true, 5, true, false, 0, 625000},
    {"stopped and gone", MAIN_LOST, 0, true, 5, true, false, 0, 625000},
};

static void plan_for_every_state_of_main_and_pod(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(plans); i++) {
        const uint64_t stopped_at_ms = 1000000;
        struct observed observed = {
            .end = {.kind = plans[i].end, .exit_code = plans[i].exit_code},
            .is_stopped = plans[i].is_stopped,
            .stopped_at_ms = plans[i].is_stopped ? stopped_at_ms : 0,
            .main_grace_ms = 30000,
            .grace_ms = 630000,
        };
        struct plan plan = decide_plan(&observed, stopped_at_ms + plans[i].since_stop_ms);
        uint64_t wake = plans[i].wake_after_stop_ms;
        uint64_t give_up = plans[i].give_up_after_stop_ms;

        print_message("%s\n", plans[i].name);
        assert_int_equal(plan.is_store_due, plans[i].is_store_due);
        assert_int_equal(plan.is_export_due, plans[i].is_export_due);
        assert_int_equal(plan.wake_at_ms, wake ? stopped_at_ms + wake : 0);
        assert_int_equal(plan.give_up_at_ms, give_up ? stopped_at_ms + give_up : 0);
    }
}

static void a_main_that_runs_for_days_is_waited_for(void **state)
{
    struct observed observed = {.main_grace_ms = 30000, .grace_ms = 630000};

    (void)state;
    for (uint64_t now_ms = 1; now_ms < 30ULL * 24 * 3600 * 1000; now_ms += 600000) {
        struct plan plan = decide_plan(&observed, now_ms);

        assert_false(plan.is_store_due);
        assert_int_equal(plan.wake_at_ms, 0);
    }
}

static const struct {
    uint64_t idle_since_ms, idle_ms, now_ms; /* stopped at 1000000; since 0: not idle */
    bool is_store_due;
    uint64_t wake_at_ms;
} idle_mains[] = {
    {0, 20000, 1000000, false, 1240000},
    {0, 20000, 1239999, false, 1240000},
    {1000000, 20000, 1000000, false, 1020000},
    {1000000, 20000, 1019999, false, 1020000},
    {1000000, 20000, 1020000, true, 0},
    {500000, 20000, 1000001, false, 1020000}, /* idle before SIGTERM does not count */
    {1100000, 20000, 1119999, false, 1120000},
    {1100000, 20000, 1120000, true, 0},
    {1230000, 20000, 1235000, false, 1240000}, /* main's grace ends first */
    {1000000, 0, 1100000, false, 1240000},     /* disabled */
};

static void a_stopped_main_that_is_idle_is_taken_for_ended(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(idle_mains); i++) {
        struct observed observed = {
            .is_stopped = true,
            .stopped_at_ms = 1000000,
            .main_grace_ms = 240000,
            .grace_ms = 840000,
            .is_idle = idle_mains[i].idle_since_ms != 0,
            .idle_since_ms = idle_mains[i].idle_since_ms,
            .idle_ms = idle_mains[i].idle_ms,
        };
        struct plan plan = decide_plan(&observed, idle_mains[i].now_ms);

        assert_int_equal(plan.is_store_due, idle_mains[i].is_store_due);
        assert_int_equal(plan.wake_at_ms, idle_mains[i].wake_at_ms);
        assert_int_equal(plan.is_main_idle, idle_mains[i].is_store_due);
        observed.is_stopped = false; /* a main that was not stopped may be idle for days */
        assert_false(decide_plan(&observed, idle_mains[i].now_ms).is_store_due);
    }
}

static const struct {
    uint64_t main_grace_ms, grace_ms, wait_for_main_ms;
} graces[] = {
    {30000, 630000, 30000},   /* our controller's default */
    {30000, 38000, 30000},    /* as our controller deletes it */
    {30000, 76000, 30000},    /* and with a larger state */
    {60000, 75000, 60000},    /* an item that asks for more */
    {300000, 360000, 300000}, /* for the maximum */
    {300000, 900000, 300000}, /* deleted by somebody else */
    {30000, 300000, 30000},   /* a pod of the Go controller */
    {300000, 300000, 240000}, /* a minute is kept for storing */
    {300000, 100000, 80000},  /* a fifth */
    {30000, 30000, 22000},    /* at least 8 s */
    {30000, 12000, 6000},     /* at most half of a short grace period */
    {0, 630000, 0},
};

static void main_gets_its_grace_but_never_the_time_that_storing_needs(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(graces); i++) {
        struct observed observed = {.is_stopped = true,
                                    .stopped_at_ms = 100,
                                    .main_grace_ms = graces[i].main_grace_ms,
                                    .grace_ms = graces[i].grace_ms};
        uint64_t end_ms = 100 + graces[i].wait_for_main_ms;

        assert_true(decide_plan(&observed, end_ms).is_store_due);
        if (graces[i].wait_for_main_ms)
            assert_false(decide_plan(&observed, end_ms - 1).is_store_due);
        /* Storing may take until shortly before SIGKILL, however short main's grace is. */
        assert_int_equal(decide_plan(&observed, end_ms).give_up_at_ms,
                         100 + graces[i].grace_ms -
                             (graces[i].grace_ms / 20 < 5000 ? graces[i].grace_ms / 20 : 5000));
    }
}

static void half_of_a_short_grace_period_is_kept_for_storing(void **state)
{
    struct observed observed = {.is_stopped = true, .stopped_at_ms = 100, .main_grace_ms = 30000};
    struct plan plan = {0};

    (void)state;
    observed.grace_ms = 10000;
    plan = decide_plan(&observed, 100);
    assert_int_equal(plan.wake_at_ms, 100 + 5000);
    assert_int_equal(plan.give_up_at_ms, 100 + 9500);
    observed.grace_ms = 0;
    assert_true(decide_plan(&observed, 100).is_store_due);
}

static const struct {
    const char *name;
    enum main_end_kind end;
    bool is_stopped;
    uint64_t snapshot_at_ms, now_ms; /* stopped at 1000000; main's grace ends at 1030000 */
    bool is_snapshot_due, is_store_due;
    uint64_t wake_at_ms;
} snapshots[] = {
    {"not yet", MAIN_RUNNING, true, 1005000, 1004999, false, false, 1005000},
    {"due", MAIN_RUNNING, true, 1005000, 1005000, true, false, 1005000},
    {"late", MAIN_RUNNING, true, 1005000, 1029999, true, false, 1005000},
    {"main's time is over", MAIN_RUNNING, true, 1005000, 1030000, false, true, 0},
    {"taken, or not wanted", MAIN_RUNNING, true, 0, 1005000, false, false, 1030000},
    {"not before main's time is over", MAIN_RUNNING, true, 1031000, 1029999, false, false, 1030000},
    {"main has ended", MAIN_ENDED, true, 1005000, 1005000, false, true, 0},
    {"main was never started", MAIN_NOT_STARTED, true, 1005000, 1005000, false, true, 0},
    {"pod or runner gone", MAIN_LOST, true, 1005000, 1005000, false, true, 0},
    {"before the pod is stopped", MAIN_RUNNING, false, 1005000, 1005000, true, false, 1005000},
    {"not yet, before that", MAIN_RUNNING, false, 1005000, 1004999, false, false, 1005000},
    {"main has ended before that", MAIN_ENDED, false, 1005000, 1005000, false, true, 0},
    {"never while main may run on", MAIN_RUNNING, false, 0, 1005000, false, false, 0},
};

static void a_snapshot_is_taken_in_main_s_time_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(snapshots); i++) {
        struct observed observed = {
            .end = {.kind = snapshots[i].end},
            .is_stopped = snapshots[i].is_stopped,
            .stopped_at_ms = 1000000,
            .main_grace_ms = 30000,
            .grace_ms = 38000,
            .snapshot_at_ms = snapshots[i].snapshot_at_ms,
        };
        struct plan plan = decide_plan(&observed, snapshots[i].now_ms);

        print_message("%s\n", snapshots[i].name);
        assert_int_equal(plan.is_snapshot_due, snapshots[i].is_snapshot_due);
        assert_int_equal(plan.is_store_due, snapshots[i].is_store_due);
        assert_int_equal(plan.wake_at_ms, snapshots[i].wake_at_ms);
    }
}

/* As often as every attempt fails because main changes the state. */
static void a_snapshot_is_tried_five_times_at_most(void **state)
{
    static const struct {
        uint64_t main_grace_ms, grace_ms, first_ms;
    } cases[] = {{30000, 38000, 5000}, {300000, 360000, 50000}, {30000, 12000, 1000}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct observed observed = {.is_stopped = true,
                                    .stopped_at_ms = 100,
                                    .main_grace_ms = cases[i].main_grace_ms,
                                    .grace_ms = cases[i].grace_ms};
        int attempts = 0;

        observed.snapshot_at_ms = decide_snapshot_at_ms(&observed, 100);
        assert_int_equal(observed.snapshot_at_ms, 100 + cases[i].first_ms);
        while (decide_plan(&observed, observed.snapshot_at_ms).is_snapshot_due) {
            observed.snapshot_at_ms = decide_snapshot_at_ms(&observed, observed.snapshot_at_ms);
            attempts++;
        }
        assert_int_equal(attempts, 5);
    }
}

static void a_snapshot_before_the_end_that_main_spoils_is_tried_three_times(void **state)
{
    (void)state;
    assert_int_equal(decide_repeat_at_ms(1, 5000), 6000);
    assert_int_equal(decide_repeat_at_ms(2, 5000), 6000);
    assert_int_equal(decide_repeat_at_ms(3, 5000), 0);
}

/* All combinations of main's end and of the outcomes of state and exports. */
static void exit_code_is_0_only_if_main_succeeded_and_everything_is_stored(void **state)
{
    static const enum delivery deliveries[] = {DELIVERY_SKIPPED, DELIVERY_STORED,
                                               DELIVERY_UNCHANGED, DELIVERY_NONE, DELIVERY_FAILED};
    int good = 0;

    (void)state;
    for (int end = MAIN_RUNNING; end <= MAIN_LOST; end++) {
        for (int exit_code = 0; exit_code < 3; exit_code++) {
            for (size_t s = 0; s < array_length(deliveries); s++) {
                for (size_t e = 0; e < array_length(deliveries); e++) {
                    struct observed observed = {
                        .end = {.kind = (enum main_end_kind)end, .exit_code = exit_code}};
                    struct state_outcome saved = {.delivery = deliveries[s]};
                    struct export_outcome exported = {.delivery = deliveries[e]};
                    struct plan plan = {0};
                    struct verdict verdict = {0};
                    bool is_good = end == MAIN_ENDED && exit_code == 0 && (s == 1 || s == 2) &&
                                   e != 0 && e != 4;

                    decide_verdict(&observed, &plan, &saved, &exported, &verdict);
                    assert_int_equal(verdict.exit_code, is_good ? 0 : 1);
                    assert_true(strlen(verdict.message) > 0);
                    good += is_good;
                }
            }
        }
    }
    assert_int_equal(good, 6);
}

static const struct {
    struct observed observed;
    bool is_main_idle;
    struct state_outcome state;
    struct export_outcome exports;
    const char *message;
} messages[] = {
    {{.end = {.kind = MAIN_ENDED}},
     false,
     {.delivery = DELIVERY_STORED, .sequence = 7, .files = 2, .bytes = 10},
     {.delivery = DELIVERY_STORED, .bytes = 33},
     "main ended with code 0; state: stored as generation 7 (2 files, 10 bytes); exports: stored "
     "(33 bytes)"},
    {{.end = {.kind = MAIN_ENDED, .exit_code = 3, .reason = "Error"}},
     false,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_SKIPPED},
     "main ended with code 3 (Error); state: unchanged; exports: skipped"},
    {{.end = {.kind = MAIN_ENDED}},
     false,
     {.delivery = DELIVERY_FAILED, .err = {.text = "no room"}},
     {.delivery = DELIVERY_FAILED, .err = {.text = "no object"}},
     "main ended with code 0; state: not stored: no room; exports: not stored: no object"},
    {{.end = {.kind = MAIN_RUNNING},
      .is_stopped = true,
      .main_grace_ms = 30000,
      .grace_ms = 630000},
     false,
     {.delivery = DELIVERY_STORED, .sequence = 1, .files = 1, .bytes = 1},
     {.delivery = DELIVERY_SKIPPED},
     "the pod was stopped and main did not end within 30 s of SIGTERM; state: stored as generation "
     "1 (1 "
     "file, "
     "1 byte); exports: skipped"},
    {{.end = {.kind = MAIN_RUNNING}, .is_stopped = true, .main_grace_ms = 30000, .grace_ms = 20000},
     false,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_SKIPPED},
     "the pod was stopped and main did not end within 12 s of SIGTERM; state: unchanged; exports: "
     "skipped"},
    {{.end = {.kind = MAIN_RUNNING}, .is_stopped = true},
     true,
     {.delivery = DELIVERY_FAILED, .snapshot_sequence = 6, .err = {.text = "timed out"}},
     {.delivery = DELIVERY_SKIPPED},
     "the pod was stopped; main's exit code is unknown; state: not stored: timed out (a snapshot "
     "is stored as generation 6); exports: skipped"},
    {{.end = {.kind = MAIN_RUNNING}, .is_stopped = true},
     true,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_SKIPPED},
     "the pod was stopped; main's exit code is unknown; state: unchanged; exports: skipped"},
    {{.end = {.kind = MAIN_NOT_STARTED, .reason = "ImagePullBackOff"}, .is_stopped = true},
     false,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_SKIPPED},
     "the pod was stopped before main was started (ImagePullBackOff); state: unchanged; exports: "
     "skipped"},
    {{.end = {.kind = MAIN_LOST}},
     false,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_SKIPPED},
     "main's exit code is unknown because its runner died; state: unchanged; exports: skipped"},
    {{.end = {.kind = MAIN_LOST}, .is_stopped = true},
     false,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_SKIPPED},
     "main's exit code is unknown because the pod no longer exists; state: unchanged; exports: "
     "skipped"},
    {{.end = {.kind = MAIN_ENDED}},
     false,
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_NONE},
     "main ended with code 0; state: unchanged; exports: none"},
};

static void message_says_how_main_ended_and_what_was_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(messages); i++) {
        struct plan plan = {.is_main_idle = messages[i].is_main_idle};
        struct verdict verdict = {0};

        decide_verdict(&messages[i].observed, &plan, &messages[i].state, &messages[i].exports,
                       &verdict);
        assert_string_equal(verdict.message, messages[i].message);
    }
}

static void message_is_truncated_to_the_limit_of_kubernetes(void **state)
{
    struct observed observed = {.end = {.kind = MAIN_ENDED, .exit_code = 1}};
    struct state_outcome saved = {.delivery = DELIVERY_FAILED};
    struct export_outcome exported = {.delivery = DELIVERY_FAILED};
    struct plan plan = {0};
    struct verdict verdict = {0};

    (void)state;
    memset(saved.err.text, 'x', sizeof(saved.err.text) - 1);
    memset(exported.err.text, 'y', sizeof(exported.err.text) - 1);
    decide_verdict(&observed, &plan, &saved, &exported, &verdict);
    assert_true(strlen(verdict.message) < VERDICT_MESSAGE_MAX);
    assert_non_null(strstr(verdict.message, "state: not stored: xxx"));
    assert_non_null(strstr(verdict.message, "exports: not stored: yyy"));
}

static void every_delivery_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(delivery_name(DELIVERY_STORED), "stored");
    assert_string_equal(delivery_name(DELIVERY_UNCHANGED), "unchanged");
    assert_string_equal(delivery_name(DELIVERY_NONE), "none");
    assert_string_equal(delivery_name(DELIVERY_FAILED), "failed");
    assert_string_equal(delivery_name(DELIVERY_SKIPPED), "skipped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_for_every_state_of_main_and_pod),
        cmocka_unit_test(a_main_that_runs_for_days_is_waited_for),
        cmocka_unit_test(a_stopped_main_that_is_idle_is_taken_for_ended),
        cmocka_unit_test(main_gets_its_grace_but_never_the_time_that_storing_needs),
        cmocka_unit_test(half_of_a_short_grace_period_is_kept_for_storing),
        cmocka_unit_test(a_snapshot_is_taken_in_main_s_time_only),
        cmocka_unit_test(a_snapshot_is_tried_five_times_at_most),
        cmocka_unit_test(a_snapshot_before_the_end_that_main_spoils_is_tried_three_times),
        cmocka_unit_test(exit_code_is_0_only_if_main_succeeded_and_everything_is_stored),
        cmocka_unit_test(message_says_how_main_ended_and_what_was_stored),
        cmocka_unit_test(message_is_truncated_to_the_limit_of_kubernetes),
        cmocka_unit_test(every_delivery_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
