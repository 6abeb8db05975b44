/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/net/retry.h"

static void steps_double_up_to_the_maximum_and_jitter_stays_in_the_upper_half(void **state)
{
    static const uint32_t steps[] = {100, 200, 400, 800, 1000, 1000, 1000};
    const struct error err = {.kind = ERROR_TEMPORARY};

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct retry retry = {.first_ms = 100, .max_ms = 1000, .seed = seed};

        for (size_t i = 0; i < array_length(steps); i++)
            assert_in_range(retry_next_ms(&retry, &err), steps[i] / 2, steps[i]);
        assert_int_equal(retry.attempts, array_length(steps));
    }
}

static void jitter_differs_between_seeds(void **state)
{
    const struct error err = {.kind = ERROR_TEMPORARY};
    struct retry one = {.first_ms = 100000, .max_ms = 100000, .seed = 1};
    struct retry two = {.first_ms = 100000, .max_ms = 100000, .seed = 2};

    (void)state;
    assert_int_not_equal(retry_next_ms(&one, &err), retry_next_ms(&two, &err));
}

static void two_initialized_retries_have_different_jitter(void **state)
{
    struct retry one = {0};
    struct retry two = {0};

    (void)state;
    retry_init(&one, 1, 2);
    retry_init(&two, 1, 2);
    assert_true(one.seed != two.seed);
    assert_int_equal(one.first_ms, 1);
    assert_int_equal(one.max_ms, 2);
}

static void retry_after_may_exceed_the_maximum(void **state)
{
    const struct error err = {.kind = ERROR_TEMPORARY, .retry_after_ms = 7000};
    const struct error none = {.kind = ERROR_TEMPORARY, .retry_after_ms = 1};
    struct retry retry = {.first_ms = 100, .max_ms = 1000};

    (void)state;
    assert_int_equal(retry_next_ms(&retry, &err), 7000);
    assert_in_range(retry_next_ms(&retry, &none), 100, 200);
}

static void reset_starts_with_the_first_step(void **state)
{
    const struct error err = {.kind = ERROR_TEMPORARY};
    struct retry retry = {.first_ms = 10, .max_ms = 1000000};

    (void)state;
    for (int i = 0; i < 10; i++)
        (void)retry_next_ms(&retry, &err);
    assert_in_range(retry_next_ms(&retry, &err), 10240 / 2, 10240);
    retry_reset(&retry);
    assert_in_range(retry_next_ms(&retry, &err), 5, 10);
}

static void extreme_values_do_not_overflow(void **state)
{
    const struct error err = {.kind = ERROR_TEMPORARY};
    struct retry none = {0};
    struct retry largest = {.first_ms = UINT32_MAX, .max_ms = UINT32_MAX, .attempts = UINT32_MAX};

    (void)state;
    assert_int_equal(retry_next_ms(&none, &err), 0);
    assert_in_range(retry_next_ms(&largest, &err), UINT32_MAX / 2, UINT32_MAX);
    assert_int_equal(largest.attempts, UINT32_MAX);
}

static void only_temporary_errors_are_retried(void **state)
{
    (void)state;
    for (int kind = ERROR_NONE; kind <= ERROR_INTERNAL; kind++) {
        const struct error err = {.kind = (enum error_kind)kind};

        assert_int_equal(retry_is_useful(&err), kind == ERROR_TEMPORARY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_double_up_to_the_maximum_and_jitter_stays_in_the_upper_half),
        cmocka_unit_test(jitter_differs_between_seeds),
        cmocka_unit_test(two_initialized_retries_have_different_jitter),
        cmocka_unit_test(retry_after_may_exceed_the_maximum),
        cmocka_unit_test(reset_starts_with_the_first_step),
        cmocka_unit_test(extreme_values_do_not_overflow),
        cmocka_unit_test(only_temporary_errors_are_retried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
