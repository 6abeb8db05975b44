/* SPDX-License-Identifier: Apache-2.0 */
/* Properties that hold in every state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/decide.h"

enum { NOW = 1000000, LATER = NOW + 5000, EARLIER = NOW - 5000 };

struct space {
    uint64_t number;
};

/* The next digit of a mixed-radix number: every combination is one number. */
static unsigned pick(struct space *space, unsigned radix)
{
    unsigned digit = (unsigned)(space->number % radix);

    space->number /= radix;
    return digit;
}

static const int64_t times[] = {-1, EARLIER, LATER};

static struct observed core_at(struct space *space)
{
    struct observed o = {.execution = {.give_up_unix_ms = -1, .look_again_unix_ms = -1},
                         .has_job = true};

    o.is_job_open = pick(space, 2);
    o.is_deleting = pick(space, 2);
    o.has_finalizer = pick(space, 2);
    o.has_config = pick(space, 2);
    o.is_uninstall_skipped = pick(space, 2);
    o.is_job_successful = pick(space, 2);
    o.execution.is_over = pick(space, 2);
    o.execution.is_ending = pick(space, 2);
    o.execution.needs_step = pick(space, 2);
    o.execution.is_delete = pick(space, 2);
    o.execution.is_absence_sure = pick(space, 2);
    o.execution.claim = (enum execution_claim)pick(space, 3);
    o.phase = (enum job_phase)pick(space, 6);
    o.execution.state = (enum execution_state)pick(space, 5);
    o.target = (enum target_knowledge)pick(space, 5);
    o.execution.history = (enum run_history)pick(space, 3);
    o.deadline_unix_ms = o.phase == JOB_IDLE ? -1 : times[pick(space, 3)];
    return o;
}

static void add_rest(struct space *space, struct observed *o)
{
    o->annotation = (enum operation_annotation)pick(space, 3);
    o->is_gone = pick(space, 2);
    o->execution.is_kept = pick(space, 2);
    o->is_unchanged = pick(space, 2);
    o->execution.has_leftovers = pick(space, 2);
    o->has_report = pick(space, 2);
    o->report_due_unix_ms = pick(space, 2) ? LATER : 0;
    o->needs_lock = pick(space, 2);
    o->has_lock = pick(space, 2);
    o->lock_retry_unix_ms = pick(space, 2) ? LATER : 0;
    o->back_off_unix_ms = pick(space, 2) ? LATER : 0;
    o->fault = (enum fault_state)pick(space, 4);
    o->retry_unix_ms = pick(space, 2) ? LATER + 1 : NOW;
    o->execution.give_up_unix_ms = times[pick(space, 3)];
    o->execution.look_again_unix_ms = pick(space, 2) ? LATER - 1 : -1;
    o->is_responsible = pick(space, 2); /* there is no selector */
    o->execution.is_volatile = pick(space, 2);
    o->execution.is_preparing = pick(space, 2);
    o->execution.needs_report = pick(space, 2);
}

/* observe_task() derives the one from the other. */
static void agree(struct observed *o)
{
    if (o->target == TARGET_NOT_OURS)
        o->fault = FAULT_NONE;
    o->is_responsible = (o->is_responsible && o->target != TARGET_NOT_OURS) ||
                        o->target == TARGET_OURS || o->target == TARGET_KNOWN ||
                        o->target == TARGET_MISSING || o->fault != FAULT_NONE ||
                        o->execution.claim == EXECUTION_OF_JOB;
}

enum {
    CORE = (1 << 11) * 3 * 6 * 5 * 5 * 3 * 3,
    REST = 3 * (1 << 10) * 4 * 2 * 3 * 2 * 2 * 8,
    /* A prime, so that all combinations of any few dimensions occur. */
    STRIDE = 1048583,
    SAMPLES = 4 * 1000 * 1000,
};

typedef void check_fn(const struct observed *o, struct decision decision);

static void check(struct observed *o, check_fn *holds)
{
    agree(o);
    holds(o, decide(o, NOW));
}

/* All combinations of the most important dimensions with the rest at its defaults, and an evenly
 * spread sample of the combinations of all dimensions. */
static void in_every_state(check_fn *holds)
{
    for (uint64_t i = 0; i < CORE; i++) {
        struct space space = {i};
        struct observed o = core_at(&space);

        check(&o, holds);
    }
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct space space = {i * STRIDE % ((uint64_t)CORE * REST)};
        struct observed o = core_at(&space);

        add_rest(&space, &o);
        check(&o, holds);
    }
}

/* There is an open job of ours. */
static bool is_wanted(const struct observed *o)
{
    return !o->is_gone && (o->is_job_open || o->annotation == ANNOTATED_TEST_RECONCILE) &&
           o->is_responsible && o->target != TARGET_NOT_OURS;
}

/* ---- Safety ---- */

static void check_start(const struct observed *o, struct decision decision)
{
    if (decision.action != ACTION_START)
        return;
    assert_int_equal(o->execution.claim, EXECUTION_ABSENT);
    assert_true(o->is_job_open);
    assert_true(o->has_config);
    assert_int_equal(o->target, TARGET_KNOWN);
    assert_int_not_equal(o->deadline_unix_ms, EARLIER);
    assert_false(o->is_deleting && o->execution.history != RUN_SOME);
    /* Its pod was lost; a second one would run the job twice. */
    if (!o->execution.is_volatile)
        assert_int_not_equal(o->phase, o->is_deleting ? JOB_DELETING : JOB_PROGRESSING);
}

static void a_pod_is_started_only_for_an_open_job_of_ours_without_a_pod(void **state)
{
    (void)state;
    in_every_state(check_start);
}

static void check_result(const struct observed *o, struct decision decision)
{
    if (decision.action == ACTION_COMPLETE || decision.action == ACTION_REPORT ||
        (decision.action == ACTION_FAIL && decision.cause == CAUSE_EXECUTION))
        assert_int_equal(o->execution.claim, EXECUTION_OF_JOB);
    if (decision.action == ACTION_COMPLETE)
        assert_int_equal(o->execution.state, EXECUTION_SUCCEEDED);
}

static void check_report(const struct observed *o, struct decision decision)
{
    if (o->execution.is_preparing)
        assert_int_not_equal(decision.action, ACTION_REPORT);
    /* What has to be stored first is stored first. */
    if (o->execution.needs_report && !o->execution.is_preparing)
        assert_int_not_equal(decision.action, ACTION_STEP);
}

static void an_execution_goes_on_only_when_its_state_is_stored(void **state)
{
    (void)state;
    in_every_state(check_report);
}

static void the_pod_of_another_job_is_never_a_result(void **state)
{
    (void)state;
    in_every_state(check_result);
}

static void check_pod_end(const struct observed *o, struct decision decision)
{
    if (decision.action == ACTION_DISCARD)
        assert_true(o->execution.is_over && o->execution.claim != EXECUTION_ABSENT);
    if (decision.action == ACTION_END)
        assert_true(!o->execution.is_over && !o->execution.is_ending &&
                    o->execution.claim != EXECUTION_ABSENT);
}

static void a_running_pod_is_never_discarded_and_a_terminating_one_not_ended_twice(void **state)
{
    (void)state;
    in_every_state(check_pod_end);
}

static void check_clean(const struct observed *o, struct decision decision)
{
    if (decision.action != ACTION_CLEAN_ITEM)
        return;
    assert_true(o->is_deleting || o->execution.is_delete);
    assert_true(o->execution.claim == EXECUTION_ABSENT || o->execution.is_over);
    assert_true(o->execution.claim != EXECUTION_OF_OTHER_JOB || o->execution.is_kept);
    /* No run is needed if it is skipped, impossible, unnecessary, or has succeeded. */
    assert_true(
        o->is_uninstall_skipped || !o->has_config || o->is_job_successful ||
        o->execution.history == RUN_NEVER ||
        (o->execution.claim == EXECUTION_OF_JOB && o->execution.state == EXECUTION_SUCCEEDED));
}

static void an_item_is_cleaned_up_only_on_deletion_and_if_nothing_runs(void **state)
{
    (void)state;
    in_every_state(check_clean);
}

static bool is_one_of(enum action action, const enum action *actions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (actions[i] == action)
            return true;
    }
    return false;
}

static void check_finished(const struct observed *o, struct decision decision)
{
    static const enum action allowed[] = {ACTION_NONE,     ACTION_WAIT, ACTION_LOCK,
                                          ACTION_UNLOCK,   ACTION_END,  ACTION_DISCARD,
                                          ACTION_CLEAN_RUN};

    if (o->is_gone || (!o->is_job_open && o->annotation != ANNOTATED_TEST_RECONCILE))
        assert_true(is_one_of(decision.action, allowed, array_length(allowed)));
}

static void after_the_end_of_a_job_only_its_pod_is_removed(void **state)
{
    (void)state;
    in_every_state(check_finished);
}

static void check_not_ours(const struct observed *o, struct decision decision)
{
    if (!o->is_job_open || o->is_gone || o->target != TARGET_NOT_OURS || o->is_responsible)
        return;
    assert_true(decision.action == ACTION_NONE ||
                (decision.action == ACTION_UNLOCK && o->has_lock) ||
                (decision.action == ACTION_WAIT && o->back_off_unix_ms == LATER));
}

static void an_item_that_is_not_ours_is_never_written_to(void **state)
{
    (void)state;
    in_every_state(check_not_ours);
}

static void check_lock(const struct observed *o, struct decision decision)
{
    static const enum action harmless[] = {ACTION_NONE,  ACTION_WAIT,           ACTION_LOCK,
                                           ACTION_CLAIM, ACTION_RESOLVE_TARGET, ACTION_LOOK_BACK,
                                           ACTION_VERIFY};

    if (o->needs_lock && !o->has_lock && !o->is_gone)
        assert_true(is_one_of(decision.action, harmless, array_length(harmless)));
}

static void nothing_is_written_without_a_required_lock(void **state)
{
    (void)state;
    in_every_state(check_lock);
}

/* ---- Liveness ---- */

static void check_wanted(const struct observed *o, struct decision decision)
{
    if (is_wanted(o))
        assert_int_not_equal(decision.action, ACTION_NONE);
}

static void an_open_job_of_ours_always_has_an_action(void **state)
{
    (void)state;
    in_every_state(check_wanted);
}

static void check_wake(const struct observed *o, struct decision decision)
{
    bool is_backing_off = o->back_off_unix_ms == LATER;
    bool is_locked_out = o->needs_lock && !o->has_lock && o->lock_retry_unix_ms == LATER;

    if (decision.action != ACTION_WAIT)
        return;
    assert_true(decision.wake_unix_ms < 0 || decision.wake_unix_ms > NOW);
    /* Without a time only an event of a pod can wake it. */
    if (decision.wake_unix_ms < 0)
        assert_int_not_equal(o->execution.claim, EXECUTION_ABSENT);
    if (!is_wanted(o) || is_backing_off || is_locked_out)
        return;
    assert_int_not_equal(o->deadline_unix_ms, EARLIER);
    if (o->deadline_unix_ms == LATER)
        assert_in_range(decision.wake_unix_ms, NOW + 1, LATER);
}

static void a_wait_ends_in_the_future_and_not_after_the_deadline(void **state)
{
    (void)state;
    in_every_state(check_wake);
}

static void every_action_has_a_name(void **state)
{
    (void)state;
    for (int action = 0; action < ACTION_COUNT; action++) {
        assert_non_null(action_name((enum action)action));
        assert_string_not_equal(action_name((enum action)action), "unknown");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_is_started_only_for_an_open_job_of_ours_without_a_pod),
        cmocka_unit_test(the_pod_of_another_job_is_never_a_result),
        cmocka_unit_test(an_execution_goes_on_only_when_its_state_is_stored),
        cmocka_unit_test(a_running_pod_is_never_discarded_and_a_terminating_one_not_ended_twice),
        cmocka_unit_test(an_item_is_cleaned_up_only_on_deletion_and_if_nothing_runs),
        cmocka_unit_test(after_the_end_of_a_job_only_its_pod_is_removed),
        cmocka_unit_test(an_item_that_is_not_ours_is_never_written_to),
        cmocka_unit_test(nothing_is_written_without_a_required_lock),
        cmocka_unit_test(an_open_job_of_ours_always_has_an_action),
        cmocka_unit_test(a_wait_ends_in_the_future_and_not_after_the_deadline),
        cmocka_unit_test(every_action_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
