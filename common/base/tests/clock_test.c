/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "common/base/clock.h"

static void a_fake_clock_advances_only_on_request(void **state)
{
    struct clock_fake fake = {0};

    (void)state;
    clock_fake_init(&fake, 1700000000000);
    assert_int_equal(clock_monotonic_ms(&fake.clock), 1);
    assert_int_equal(clock_unix_ms(&fake.clock), 1700000000000);
    clock_fake_advance(&fake, 250);
    assert_int_equal(clock_monotonic_ms(&fake.clock), 251);
    assert_int_equal(clock_unix_ms(&fake.clock), 1700000000250);
}

static void the_system_clock_never_goes_back(void **state)
{
    uint64_t last_ms = clock_monotonic_ms(clock_system());

    (void)state;
    assert_ptr_equal(clock_system(), clock_system());
    for (int i = 0; i < 1000; i++) {
        uint64_t now_ms = clock_monotonic_ms(clock_system());

        assert_true(now_ms >= last_ms);
        last_ms = now_ms;
    }
}

static void the_system_clock_is_past_2020(void **state)
{
    (void)state;
    assert_true(clock_unix_ms(clock_system()) > 1577836800000);
}

enum { SUSPENDED_S = 3600 };

static bool is_suspended;

int __real_clock_gettime(clockid_t id, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time);

/* As after the machine was suspended: only CLOCK_MONOTONIC has not moved. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int result = __real_clock_gettime(id, ret_time);

    if (is_suspended && id != CLOCK_MONOTONIC)
        ret_time->tv_sec += SUSPENDED_S;
    return result;
}

static void the_system_clock_counts_the_time_while_the_machine_is_suspended(void **state)
{
    uint64_t before_ms = clock_monotonic_ms(clock_system());

    (void)state;
    is_suspended = true;
    assert_true(clock_monotonic_ms(clock_system()) - before_ms >= SUSPENDED_S * 1000);
    is_suspended = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fake_clock_advances_only_on_request),
        cmocka_unit_test(the_system_clock_never_goes_back),
        cmocka_unit_test(the_system_clock_is_past_2020),
        cmocka_unit_test(the_system_clock_counts_the_time_while_the_machine_is_suspended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
