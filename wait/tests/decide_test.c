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
    {"main runs: wait, however long", MAIN_RUNS, 0, false, 0, false, false, 0, 0},
    {"main fine: store all, no end", MAIN_ENDED, 0, false, 0, true, true, 0, 0},
    {"main failed: state only", MAIN_ENDED, 1, false, 0, true, false, 0, 0},
    {"main killed: state only", MAIN_ENDED, 137, false, 0, true, false, 0, 0},
    {"pod or runner gone: state only", MAIN_LOST, 0, false, 0, true, false, 0, 0},
    {"stopped: main gets time", MAIN_RUNS, 0, true, 0, false, false, 240000, 295000},
    {"stopped: still time", MAIN_RUNS, 0, true, 239999, false, false, 240000, 295000},
    {"stopped: the reserve begins", MAIN_RUNS, 0, true, 240000, true, false, 0, 295000},
    {"stopped: long ago", MAIN_RUNS, 0, true, 400000, true, false, 0, 295000},
    {"stopped, then main fine", MAIN_ENDED, 0, true, 5, true, true, 0, 295000},
    {"stopped, then main failed", MAIN_ENDED, 143, true, 5, true, false, 0, 295000},
    {"stopped and gone", MAIN_LOST, 0, true, 5, true, false, 0, 295000},
};

static void plans_whether_to_wait_or_store_and_until_when(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(plans); i++) {
        const uint64_t stopped_at_ms = 1000000;
        struct observed observed = {
            .end = {.kind = plans[i].end, .exit_code = plans[i].exit_code},
            .is_stopped = plans[i].is_stopped,
            .stopped_at_ms = plans[i].is_stopped ? stopped_at_ms : 0,
            .grace_ms = 300000,
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
    struct observed observed = {.grace_ms = 300000};

    (void)state;
    for (uint64_t now_ms = 1; now_ms < 30ULL * 24 * 3600 * 1000; now_ms += 600000) {
        struct plan plan = decide_plan(&observed, now_ms);

        assert_false(plan.is_store_due);
        assert_int_equal(plan.wake_at_ms, 0);
    }
}

static const struct {
    uint64_t quiet_since_ms, quiet_ms, now_ms; /* stopped at 1000000; since 0: not quiet */
    bool is_store_due;
    uint64_t wake_at_ms;
} silences[] = {
    {0, 20000, 1000000, false, 1240000},
    {0, 20000, 1239999, false, 1240000},
    {1000000, 20000, 1000000, false, 1020000},
    {1000000, 20000, 1019999, false, 1020000},
    {1000000, 20000, 1020000, true, 0},
    {500000, 20000, 1000001, false, 1020000}, /* silence before it was told to stop is no sign */
    {1100000, 20000, 1119999, false, 1120000},
    {1100000, 20000, 1120000, true, 0},
    {1230000, 20000, 1235000, false, 1240000}, /* the reserve is kept in any case */
    {1000000, 0, 1100000, false, 1240000},     /* switched off */
};

static void a_main_that_was_told_to_stop_and_is_quiet_is_not_waited_for_for_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(silences); i++) {
        struct observed observed = {
            .is_stopped = true,
            .stopped_at_ms = 1000000,
            .grace_ms = 300000,
            .is_quiet = silences[i].quiet_since_ms != 0,
            .quiet_since_ms = silences[i].quiet_since_ms,
            .quiet_ms = silences[i].quiet_ms,
        };
        struct plan plan = decide_plan(&observed, silences[i].now_ms);

        assert_int_equal(plan.is_store_due, silences[i].is_store_due);
        assert_int_equal(plan.wake_at_ms, silences[i].wake_at_ms);
        observed.is_stopped = false; /* a main that was not told may be quiet for days */
        assert_false(decide_plan(&observed, silences[i].now_ms).is_store_due);
    }
}

static void a_short_grace_time_is_shared_out_and_none_stores_at_once(void **state)
{
    struct observed observed = {.is_stopped = true, .stopped_at_ms = 100};
    struct plan plan = {0};

    (void)state;
    observed.grace_ms = 10000;
    plan = decide_plan(&observed, 100);
    assert_int_equal(plan.wake_at_ms, 100 + 5000);
    assert_int_equal(plan.give_up_at_ms, 100 + 9000);
    observed.grace_ms = 0;
    assert_true(decide_plan(&observed, 100).is_store_due);
}

/* The whole space: every end, stop, state and export outcome that can come together. */
static void exit_code_is_0_only_if_main_was_fine_and_all_that_was_due_is_stored(void **state)
{
    static const enum delivery deliveries[] = {DELIVERY_NOT_DUE, DELIVERY_STORED,
                                               DELIVERY_UNCHANGED, DELIVERY_NONE, DELIVERY_FAILED};
    int good = 0;

    (void)state;
    for (int end = MAIN_RUNS; end <= MAIN_LOST; end++) {
        for (int exit_code = 0; exit_code < 3; exit_code++) {
            for (size_t s = 0; s < array_length(deliveries); s++) {
                for (size_t e = 0; e < array_length(deliveries); e++) {
                    struct observed observed = {
                        .end = {.kind = (enum main_end_kind)end, .exit_code = exit_code}};
                    struct state_outcome saved = {.delivery = deliveries[s]};
                    struct export_outcome exported = {.delivery = deliveries[e]};
                    struct verdict verdict = {0};
                    bool is_good = end == MAIN_ENDED && exit_code == 0 && (s == 1 || s == 2) &&
                                   e != 0 && e != 4;

                    decide_verdict(&observed, &saved, &exported, &verdict);
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
    struct state_outcome state;
    struct export_outcome exports;
    const char *message;
} messages[] = {
    {{.end = {.kind = MAIN_ENDED}},
     {.delivery = DELIVERY_STORED, .sequence = 7, .files = 2, .bytes = 10},
     {.delivery = DELIVERY_STORED, .bytes = 33},
     "main ended with code 0; state: stored as 7 (2 files, 10 bytes); exports: stored (33 bytes)"},
    {{.end = {.kind = MAIN_ENDED, .exit_code = 3, .reason = "Error"}},
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_NOT_DUE},
     "main ended with code 3 (Error); state: unchanged; exports: not due"},
    {{.end = {.kind = MAIN_ENDED}},
     {.delivery = DELIVERY_FAILED, .err = {.text = "no room"}},
     {.delivery = DELIVERY_FAILED, .err = {.text = "no object"}},
     "main ended with code 0; state: not stored: no room; exports: not stored: no object"},
    {{.end = {.kind = MAIN_RUNS}, .is_stopped = true},
     {.delivery = DELIVERY_STORED, .sequence = 1, .files = 1, .bytes = 1},
     {.delivery = DELIVERY_NOT_DUE},
     "the pod was stopped before main's end was known; state: stored as 1 (1 files, 1 bytes); "
     "exports: not due"},
    {{.end = {.kind = MAIN_LOST}},
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_NOT_DUE},
     "main's end is unknown, because whoever ran it is gone; state: unchanged; exports: not due"},
    {{.end = {.kind = MAIN_LOST}, .is_stopped = true},
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_NOT_DUE},
     "main's end is unknown, because the pod is gone; state: unchanged; exports: not due"},
    {{.end = {.kind = MAIN_ENDED}},
     {.delivery = DELIVERY_UNCHANGED},
     {.delivery = DELIVERY_NONE},
     "main ended with code 0; state: unchanged; exports: none"},
};

static void message_names_what_was_not_stored_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(messages); i++) {
        struct verdict verdict = {0};

        decide_verdict(&messages[i].observed, &messages[i].state, &messages[i].exports, &verdict);
        assert_string_equal(verdict.message, messages[i].message);
    }
}

static void message_always_fits_into_what_kubernetes_keeps(void **state)
{
    struct observed observed = {.end = {.kind = MAIN_ENDED, .exit_code = 1}};
    struct state_outcome saved = {.delivery = DELIVERY_FAILED};
    struct export_outcome exported = {.delivery = DELIVERY_FAILED};
    struct verdict verdict = {0};

    (void)state;
    memset(saved.err.text, 'x', sizeof(saved.err.text) - 1);
    memset(exported.err.text, 'y', sizeof(exported.err.text) - 1);
    decide_verdict(&observed, &saved, &exported, &verdict);
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
    assert_string_equal(delivery_name(DELIVERY_NOT_DUE), "not due");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_whether_to_wait_or_store_and_until_when),
        cmocka_unit_test(a_main_that_runs_for_days_is_waited_for),
        cmocka_unit_test(a_main_that_was_told_to_stop_and_is_quiet_is_not_waited_for_for_long),
        cmocka_unit_test(a_short_grace_time_is_shared_out_and_none_stores_at_once),
        cmocka_unit_test(exit_code_is_0_only_if_main_was_fine_and_all_that_was_due_is_stored),
        cmocka_unit_test(message_names_what_was_not_stored_and_why),
        cmocka_unit_test(message_always_fits_into_what_kubernetes_keeps),
        cmocka_unit_test(every_delivery_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
