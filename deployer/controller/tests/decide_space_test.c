/* SPDX-License-Identifier: Apache-2.0 */
/* What holds in every state, ordinary or not: all combinations are tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deployer/controller/decide.h"

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

static struct observed observed_at(uint64_t number)
{
    static const int64_t deadlines[] = {-1, EARLIER, LATER};
    struct space space = {number};
    struct observed o = {.give_up_unix_ms = -1, .look_again_unix_ms = -1};

    o.has_job = true;
    o.is_job_open = pick(&space, 2);
    o.is_deleting = pick(&space, 2);
    o.has_finalizer = pick(&space, 2);
    o.has_config = pick(&space, 2);
    o.is_uninstall_skipped = pick(&space, 2);
    o.is_job_successful = pick(&space, 2);
    o.is_pod_over = pick(&space, 2);
    o.is_pod_deleting = pick(&space, 2);
    o.has_pod_finalizer = pick(&space, 2);
    o.is_pod_delete = pick(&space, 2);
    o.is_pod_absence_sure = pick(&space, 2);
    o.pod = (enum pod_claim)pick(&space, 3);
    o.phase = (enum task_phase)pick(&space, 5);
    o.outcome = (enum pod_outcome)pick(&space, 6);
    o.target = (enum target_knowledge)pick(&space, 4);
    o.is_responsible = o.target == TARGET_KNOWN || o.target == TARGET_MISSING;
    o.note = (enum operation_note)pick(&space, 2);
    o.deadline_unix_ms = deadlines[pick(&space, 3)];
    return o;
}

enum { SPACE = (1 << 11) * 3 * 5 * 6 * 4 * 2 * 3 };

static void a_pod_is_started_only_when_there_is_none_and_the_job_is_open_and_ours(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SPACE; i++) {
        struct observed o = observed_at(i);
        struct decision decision = decide(&o, NOW);

        if (decision.action != ACTION_START)
            continue;
        assert_int_equal(o.pod, POD_ABSENT);
        assert_true(o.is_job_open);
        assert_true(o.has_config);
        assert_int_equal(o.target, TARGET_KNOWN);
        assert_false(o.is_responsible && o.deadline_unix_ms == EARLIER);
    }
}

static void a_pod_of_another_job_is_never_a_result(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SPACE; i++) {
        struct observed o = observed_at(i);
        struct decision decision = decide(&o, NOW);

        if (decision.action == ACTION_COMPLETE || decision.action == ACTION_REPORT ||
            (decision.action == ACTION_FAIL && decision.cause == CAUSE_POD))
            assert_int_equal(o.pod, POD_OF_JOB);
        if (decision.action == ACTION_COMPLETE)
            assert_int_equal(o.outcome, POD_SUCCEEDED);
    }
}

static void
a_pod_that_can_run_is_never_discarded_and_a_terminating_one_not_ended_twice(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SPACE; i++) {
        struct observed o = observed_at(i);
        struct decision decision = decide(&o, NOW);

        if (decision.action == ACTION_DISCARD_POD)
            assert_true(o.is_pod_over && o.pod != POD_ABSENT);
        if (decision.action == ACTION_END_POD)
            assert_true(!o.is_pod_over && !o.is_pod_deleting && o.pod != POD_ABSENT);
    }
}

static void an_item_is_cleaned_only_on_deletion_and_with_nothing_running(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SPACE; i++) {
        struct observed o = observed_at(i);
        struct decision decision = decide(&o, NOW);

        if (decision.action != ACTION_CLEAN_ITEM)
            continue;
        assert_true(o.is_deleting || o.is_pod_delete);
        assert_true(o.pod == POD_ABSENT || (o.pod == POD_OF_JOB && o.is_pod_over));
        /* Not run means: skipped, nothing to run with, or run with success. */
        assert_true(o.is_uninstall_skipped || !o.has_config || o.is_job_successful ||
                    (o.pod == POD_OF_JOB && o.outcome == POD_SUCCEEDED));
    }
}

static void nothing_is_written_for_a_finished_job_but_to_remove_its_pod(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SPACE; i++) {
        struct observed o = observed_at(i);
        struct decision decision = decide(&o, NOW);

        if (o.is_job_open || o.note == NOTE_TEST_RECONCILE)
            continue;
        assert_true(decision.action == ACTION_NONE || decision.action == ACTION_WAIT ||
                    decision.action == ACTION_END_POD || decision.action == ACTION_DISCARD_POD);
    }
}

static void an_item_that_is_not_ours_is_never_written_to(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SPACE; i++) {
        struct observed o = observed_at(i);
        struct decision decision = decide(&o, NOW);

        if (!o.is_job_open || o.target != TARGET_NOT_OURS || o.pod == POD_OF_JOB ||
            o.is_responsible)
            continue;
        assert_int_equal(decision.action, ACTION_NONE);
    }
}

static void every_action_has_a_name(void **state)
{
    (void)state;
    for (int action = 0; action <= ACTION_CLEAN_ITEM; action++) {
        assert_non_null(action_name((enum action)action));
        assert_string_not_equal(action_name((enum action)action), "unknown");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_is_started_only_when_there_is_none_and_the_job_is_open_and_ours),
        cmocka_unit_test(a_pod_of_another_job_is_never_a_result),
        cmocka_unit_test(
            a_pod_that_can_run_is_never_discarded_and_a_terminating_one_not_ended_twice),
        cmocka_unit_test(an_item_is_cleaned_only_on_deletion_and_with_nothing_running),
        cmocka_unit_test(nothing_is_written_for_a_finished_job_but_to_remove_its_pod),
        cmocka_unit_test(an_item_that_is_not_ours_is_never_written_to),
        cmocka_unit_test(every_action_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
