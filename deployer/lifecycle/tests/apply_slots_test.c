/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/lifecycle/apply_slots.h"

enum { HOLDERS = APPLY_SLOTS_MAX + 10 };

static void only_so_many_are_applied_at_a_time(void **state)
{
    struct apply_slots slots = {0};
    struct apply_slot holders[HOLDERS] = {0};

    (void)state;
    for (size_t i = 0; i < HOLDERS; i++)
        assert_int_equal(apply_slots_take(&slots, &holders[i], 1000), i < APPLY_SLOTS_MAX);
    assert_true(apply_slots_take(&slots, &holders[0], 1000)); /* it has one */
    assert_int_equal(slots.count, APPLY_SLOTS_MAX);
    apply_slots_give(&slots, &holders[APPLY_SLOTS_MAX]); /* it has none */
    assert_int_equal(slots.count, APPLY_SLOTS_MAX);
    apply_slots_give(&slots, &holders[APPLY_SLOTS_MAX / 2]);
    assert_true(apply_slots_take(&slots, &holders[APPLY_SLOTS_MAX], 1000));
    assert_false(apply_slots_take(&slots, &holders[APPLY_SLOTS_MAX + 1], 1000));
    for (size_t i = 0; i < HOLDERS; i++)
        apply_slots_give(&slots, &holders[i]);
    assert_int_equal(slots.count, 0);
    assert_null(slots.oldest);
    assert_null(slots.newest);
}

/* Clusters that do not respond must not hold up the others. */
static void a_slot_is_not_held_for_long(void **state)
{
    struct apply_slots slots = {0};
    struct apply_slot holders[3] = {0};

    (void)state;
    assert_int_equal(apply_slots_expire(&slots, 1000), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(apply_slots_take(&slots, &holders[i], 1000 + 100 * i));
    apply_slots_give(&slots, &holders[1]);
    assert_int_equal(apply_slots_expire(&slots, 1000), APPLY_SLOT_MS);
    assert_int_equal(apply_slots_expire(&slots, 1000 + APPLY_SLOT_MS), 200);
    assert_false(holders[0].is_held);
    assert_true(holders[2].is_held);
    apply_slots_give(&slots, &holders[0]); /* its work ends later */
    assert_int_equal(slots.count, 1);
    assert_int_equal(apply_slots_expire(&slots, 1200 + APPLY_SLOT_MS), 0);
    assert_int_equal(slots.count, 0);
}

static void whoever_waits_for_longest_is_next(void **state)
{
    struct apply_slots slots = {0};
    struct apply_waiter waiters[4] = {0};

    (void)state;
    assert_null(apply_slots_next(&slots));
    for (size_t i = 0; i < 4; i++)
        apply_slots_wait(&slots, &waiters[i]);
    apply_slots_wait(&slots, &waiters[0]); /* keeps its place */
    apply_slots_leave(&slots, &waiters[1]);
    apply_slots_leave(&slots, &waiters[1]);
    apply_slots_leave(&slots, &waiters[3]);
    assert_ptr_equal(apply_slots_next(&slots), &waiters[0]);
    apply_slots_wait(&slots, &waiters[0]);
    assert_ptr_equal(apply_slots_next(&slots), &waiters[2]);
    assert_ptr_equal(apply_slots_next(&slots), &waiters[0]);
    assert_null(apply_slots_next(&slots));
    apply_slots_wait(&slots, &waiters[3]);
    assert_ptr_equal(apply_slots_next(&slots), &waiters[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_so_many_are_applied_at_a_time),
        cmocka_unit_test(a_slot_is_not_held_for_long),
        cmocka_unit_test(whoever_waits_for_longest_is_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
