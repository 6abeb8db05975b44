/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/objects/gate.h"

static size_t admitted;

static void on_room(void *data)
{
    struct gate_place *place = data;

    assert_true(place->is_inside && !place->is_waiting);
    admitted++;
}

static void a_cluster_that_is_full_does_not_keep_others_out(void **state)
{
    struct gate gate = {.on_room = on_room};
    struct gate_place slow[GATE_CLUSTER_MAX + 3] = {0}, other = {0};
    int first = 0, second = 0;

    (void)state;
    admitted = 0;
    for (size_t i = 0; i < GATE_CLUSTER_MAX + 3; i++)
        assert_int_equal(gate_enter(&gate, &slow[i], &first, &slow[i]), i < GATE_CLUSTER_MAX);
    assert_true(gate_enter(&gate, &other, &second, &other));
    gate_leave(&gate, &other);
    assert_int_equal(admitted, 0);
    /* In the order of their arrival; who leaves the queue is skipped. */
    gate_leave(&gate, &slow[GATE_CLUSTER_MAX]);
    gate_leave(&gate, &slow[0]);
    assert_int_equal(admitted, 1);
    assert_true(slow[GATE_CLUSTER_MAX + 1].is_inside);
    assert_true(slow[GATE_CLUSTER_MAX + 2].is_waiting);
    for (size_t i = 1; i < GATE_CLUSTER_MAX + 3; i++)
        gate_leave(&gate, &slow[i]);
    assert_int_equal(gate.inside, 0);
    assert_int_equal(gate.count_used, 0);
    assert_null(gate.first);
    assert_null(gate.last);
}

static void the_total_is_bounded(void **state)
{
    static struct gate_place places[GATE_TOTAL_MAX + 10];
    static char clusters[GATE_TOTAL_MAX + 10];
    struct gate gate = {.on_room = on_room};

    (void)state;
    admitted = 0;
    for (size_t i = 0; i < GATE_TOTAL_MAX + 10; i++)
        assert_int_equal(gate_enter(&gate, &places[i], &clusters[i], &places[i]),
                         i < GATE_TOTAL_MAX);
    for (size_t i = 0; i < GATE_TOTAL_MAX + 10; i++)
        gate_leave(&gate, &places[i]);
    assert_int_equal(admitted, 10);
    assert_int_equal(gate.inside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_that_is_full_does_not_keep_others_out),
        cmocka_unit_test(the_total_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
