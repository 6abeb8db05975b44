/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/data/timestamp.h"
#include "deployer/validation/cron.h"

static void the_next_time_is_found(void **state)
{
    /* 2026-11-17 is a Tuesday. */
    static const struct {
        const char *text, *after, *next;
    } rows[] = {
        {"* * * * *", "2026-11-17T12:00:00Z", "2026-11-17T12:01:00Z"},
        {"* * * * *", "2026-11-17T12:00:59Z", "2026-11-17T12:01:00Z"},
        {"30 2 * * *", "2026-11-17T12:00:00Z", "2026-11-18T02:30:00Z"},
        {"*/15 * * * *", "2026-11-17T12:01:00Z", "2026-11-17T12:15:00Z"},
        {"5/20 * * * *", "2026-11-17T12:06:00Z", "2026-11-17T12:25:00Z"},
        {"0 8-17/3 * * mon-fri", "2026-11-20T17:00:00Z", "2026-11-23T08:00:00Z"},
        {"0 0 1 jan *", "2026-11-17T12:00:00Z", "2027-01-01T00:00:00Z"},
        {"0 0 29 2 *", "2026-11-17T12:00:00Z", "2028-02-29T00:00:00Z"},
        /* One of both days is enough, unless one of the fields is a star. */
        {"0 0 1 * sun", "2026-11-17T12:00:00Z", "2026-11-22T00:00:00Z"},
        {"0 0 13 * ?", "2026-11-17T12:00:00Z", "2026-12-13T00:00:00Z"},
        {"TZ=UTC 0 12 * * *", "2026-11-17T12:00:00Z", "2026-11-18T12:00:00Z"},
        {"@hourly", "2026-11-17T12:00:00Z", "2026-11-17T13:00:00Z"},
        {"@weekly", "2026-11-17T12:00:00Z", "2026-11-22T00:00:00Z"},
        {"@every 90s", "2026-11-17T12:00:00Z", "2026-11-17T12:01:30Z"},
        {"0 0 31 2 *", "2026-11-17T12:00:00Z", NULL},
        {"* * *", "2026-11-17T12:00:00Z", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        struct error err = {0};
        int64_t after = 0;
        int64_t next = -1;

        assert_int_equal(timestamp_parse(rows[i].after, &after, &err), 0);
        if (rows[i].next)
            assert_int_equal(timestamp_parse(rows[i].next, &next, &err), 0);
        if (cron_next(rows[i].text, after) != next)
            fail_msg("%s", rows[i].text);
    }
}

static void other_time_zones_are_valid_but_not_utc(void **state)
{
    (void)state;
    assert_true(cron_is_utc("0 12 * * *"));
    assert_true(cron_is_utc("CRON_TZ=UTC 0 12 * * *"));
    assert_true(cron_is_valid("TZ=Europe/Berlin 0 12 * * *"));
    assert_false(cron_is_utc("TZ=Europe/Berlin 0 12 * * *"));
    assert_false(cron_is_utc("nonsense"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_time_is_found),
        cmocka_unit_test(other_time_zones_are_valid_but_not_utc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
