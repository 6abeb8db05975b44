/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/timestamp.h"

#define REQUESTED "2026-01-01T00:00:00Z"

enum { HOUR_MS = 3600 * 1000, DAY_SECONDS = 86400 };

/* Between 40 and 50 % of the life, whatever the name is. */
static void renews_at_half_of_the_life(void **state)
{
    int64_t since = 0;
    struct error err = {0};

    (void)state;
    assert_int_equal(timestamp_parse(REQUESTED, &since, &err), 0);
    for (int i = 0; i < 100; i++) {
        cleanup_free char *name = xasprintf("environment-%d", i);
        uint64_t delay = token_renewal_in_ms(name, REQUESTED, DAY_SECONDS, since);

        assert_in_range(delay, (uint64_t)DAY_SECONDS * 400, (uint64_t)DAY_SECONDS * 500);
        assert_int_equal(token_renewal_in_ms(name, REQUESTED, DAY_SECONDS, since + HOUR_MS),
                         delay - HOUR_MS);
        assert_int_equal(token_renewal_in_ms(name, REQUESTED, DAY_SECONDS, since + (int64_t)delay),
                         0);
    }
}

static void renews_at_once_if_the_clock_was_set(void **state)
{
    int64_t since = 0;
    struct error err = {0};

    (void)state;
    assert_int_equal(timestamp_parse(REQUESTED, &since, &err), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, DAY_SECONDS, since - 24LL * HOUR_MS), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, DAY_SECONDS, since + 24LL * HOUR_MS), 0);
    assert_int_equal(token_renewal_in_ms("a", "yesterday", DAY_SECONDS, since), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, 0, since), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, -5, since), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renews_at_half_of_the_life),
        cmocka_unit_test(renews_at_once_if_the_clock_was_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
