/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deployer/protocol/task.h"

enum { TASKS = 4 };

static void assert_order(struct task_queue *queue, struct task *const *expected, size_t count)
{
    assert_int_equal(queue->length, count);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(queue_take(queue), expected[i]);
    assert_null(queue_take(queue));
    assert_int_equal(queue->length, 0);
}

static void tasks_are_processed_in_order_of_arrival(void **state)
{
    struct task tasks[TASKS] = {0};
    struct task *const expected[] = {&tasks[0], &tasks[1], &tasks[2]};
    struct task_queue queue = {0};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        queue_add(&queue, &tasks[i], QUEUE_NEW);
    assert_order(&queue, expected, 3);
}

static void started_items_take_precedence_over_new_ones(void **state)
{
    struct task tasks[TASKS] = {0};
    struct task *const expected[] = {&tasks[1], &tasks[3], &tasks[0], &tasks[2]};
    struct task_queue queue = {0};

    (void)state;
    for (size_t i = 0; i < TASKS; i++)
        queue_add(&queue, &tasks[i], i % 2 ? QUEUE_BEGUN : QUEUE_NEW);
    assert_order(&queue, expected, TASKS);
}

/* Removes any one of three, from either lane, twice. */
static void a_task_can_be_removed_from_any_position(void **state)
{
    (void)state;
    for (size_t leaving = 0; leaving < 3; leaving++) {
        struct task tasks[TASKS] = {0};
        struct task *expected[TASKS] = {0};
        struct task_queue queue = {0};
        size_t count = 0;

        for (size_t i = 0; i < 3; i++) {
            queue_add(&queue, &tasks[i], QUEUE_NEW);
            if (i != leaving)
                expected[count++] = &tasks[i];
        }
        queue_remove(&queue, &tasks[leaving]);
        queue_remove(&queue, &tasks[leaving]);
        assert_false(tasks[leaving].place.is_taken);
        queue_add(&queue, &tasks[3], QUEUE_NEW);
        expected[count++] = &tasks[3];
        assert_order(&queue, expected, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_processed_in_order_of_arrival),
        cmocka_unit_test(started_items_take_precedence_over_new_ones),
        cmocka_unit_test(a_task_can_be_removed_from_any_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
