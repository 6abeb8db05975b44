/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/lifecycle/slots.h"

enum { HOLDERS = APPLY_SLOTS_MAX + 10 };

static void only_so_many_are_applied_at_a_time(void **state)
{
    struct slots slots;
    struct slot holders[HOLDERS] = {0};

    (void)state;
    slots_init(&slots, APPLY_SLOTS_MAX, APPLY_SLOT_MS);
    for (size_t i = 0; i < HOLDERS; i++)
        assert_int_equal(slots_take(&slots, &holders[i], 1000), i < APPLY_SLOTS_MAX);
    assert_true(slots_take(&slots, &holders[0], 1000)); /* it has one */
    assert_int_equal(slots.count, APPLY_SLOTS_MAX);
    slots_give(&slots, &holders[APPLY_SLOTS_MAX]); /* it has none */
    assert_int_equal(slots.count, APPLY_SLOTS_MAX);
    slots_give(&slots, &holders[APPLY_SLOTS_MAX / 2]);
    assert_true(slots_take(&slots, &holders[APPLY_SLOTS_MAX], 1000));
    assert_false(slots_take(&slots, &holders[APPLY_SLOTS_MAX + 1], 1000));
    for (size_t i = 0; i < HOLDERS; i++)
        slots_give(&slots, &holders[i]);
    assert_int_equal(slots.count, 0);
    assert_null(slots.oldest);
    assert_null(slots.newest);
}

/* Clusters that do not respond must not hold up the others. */
static void a_slot_is_not_held_for_long(void **state)
{
    struct slots slots;
    struct slot holders[3] = {0};

    (void)state;
    slots_init(&slots, APPLY_SLOTS_MAX, APPLY_SLOT_MS);
    assert_int_equal(slots_expire(&slots, 1000), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(slots_take(&slots, &holders[i], 1000 + 100 * i));
    slots_give(&slots, &holders[1]);
    assert_int_equal(slots_expire(&slots, 1000), APPLY_SLOT_MS);
    assert_int_equal(slots_expire(&slots, 1000 + APPLY_SLOT_MS), 200);
    assert_false(holders[0].is_held);
    assert_true(holders[2].is_held);
    slots_give(&slots, &holders[0]); /* its work ends later */
    assert_int_equal(slots.count, 1);
    assert_int_equal(slots_expire(&slots, 1200 + APPLY_SLOT_MS), 0);
    assert_int_equal(slots.count, 0);
}

static void whoever_waits_for_longest_is_next(void **state)
{
    struct slots slots;
    struct slot_waiter waiters[4] = {0};

    (void)state;
    slots_init(&slots, APPLY_SLOTS_MAX, APPLY_SLOT_MS);
    assert_null(slots_next(&slots));
    for (size_t i = 0; i < 4; i++)
        slots_wait(&slots, &waiters[i], false);
    slots_wait(&slots, &waiters[0], false); /* keeps its place */
    slots_leave(&slots, &waiters[1]);
    slots_leave(&slots, &waiters[1]);
    slots_leave(&slots, &waiters[3]);
    assert_ptr_equal(slots_next(&slots), &waiters[0]);
    slots_wait(&slots, &waiters[0], false);
    assert_ptr_equal(slots_next(&slots), &waiters[2]);
    assert_ptr_equal(slots_next(&slots), &waiters[0]);
    assert_null(slots_next(&slots));
    slots_wait(&slots, &waiters[3], false);
    assert_ptr_equal(slots_next(&slots), &waiters[3]);
}

static void urgent_ones_come_first(void **state)
{
    static const size_t expected[] = {1, 3, 0, 2};
    struct slots slots;
    struct slot_waiter waiters[4] = {0};

    (void)state;
    slots_init(&slots, 1, CONNECT_SLOT_MS);
    assert_false(slots_has_next(&slots));
    for (size_t i = 0; i < 4; i++)
        slots_wait(&slots, &waiters[i], i % 2 == 1);
    for (size_t i = 0; i < 4; i++) {
        assert_true(slots_has_next(&slots));
        assert_ptr_equal(slots_next(&slots), &waiters[expected[i]]);
    }
    slots_wait(&slots, &waiters[1], true);
    slots_wait(&slots, &waiters[3], true);
    slots_leave(&slots, &waiters[3]);
    slots_wait(&slots, &waiters[3], false); /* it is not urgent any more */
    slots_wait(&slots, &waiters[0], true);
    assert_ptr_equal(slots_next(&slots), &waiters[1]);
    assert_ptr_equal(slots_next(&slots), &waiters[0]);
    assert_ptr_equal(slots_next(&slots), &waiters[3]);
}

static void nobody_is_next_without_a_free_slot(void **state)
{
    struct slots slots;
    struct slot holder = {0};
    struct slot_waiter waiter = {0};

    (void)state;
    slots_init(&slots, 1, CONNECT_SLOT_MS);
    assert_true(slots_take(&slots, &holder, 1000));
    slots_wait(&slots, &waiter, true);
    assert_false(slots_has_next(&slots));
    assert_int_equal(slots_expire(&slots, 1000 + CONNECT_SLOT_MS), 0);
    assert_true(slots_has_next(&slots));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_so_many_are_applied_at_a_time),
        cmocka_unit_test(a_slot_is_not_held_for_long),
        cmocka_unit_test(whoever_waits_for_longest_is_next),
        cmocka_unit_test(urgent_ones_come_first),
        cmocka_unit_test(nobody_is_next_without_a_free_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
