/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fake_clock_advances_only_on_request),
        cmocka_unit_test(the_system_clock_never_goes_back),
        cmocka_unit_test(the_system_clock_is_past_2020),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
