/* SPDX-License-Identifier: Apache-2.0 */
/* When tokens are renewed. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/registrations/pair.h"
#include "deployer/registrations/tests/samples.h"
#include "deployer/tests/sample.h"

#define START_MS INT64_C(1767225600000) /* 2026-01-01 */
#define DAY_MS INT64_C(86400000)

/* The clock of the process may be wrong by a day, or corrected by a day; the API server's does not
 * matter. */
static void a_wrong_clock_renews_early_or_on_time_but_never_late(void **state)
{
    static const struct {
        const char *name;
        int64_t requested_ms, now_ms; /* by our clock, whatever it shows */
        int64_t lifetime_s;
        bool is_due;
    } cases[] = {
        {"right, fresh", START_MS, START_MS, 3600, false},
        {"a day behind all the time, fresh", START_MS - DAY_MS, START_MS - DAY_MS, 3600, false},
        {"a day behind all the time, half", START_MS - DAY_MS, START_MS - DAY_MS + 1800 * 1000,
         3600, true},
        {"a day ahead all the time, fresh", START_MS + DAY_MS, START_MS + DAY_MS + 1, 3600, false},
        {"a day ahead all the time, half", START_MS + DAY_MS, START_MS + DAY_MS + 1800 * 1000, 3600,
         true},
        {"set back by a day: the age is unknown", START_MS, START_MS - DAY_MS, 3600, true},
        {"corrected by a minute", START_MS, START_MS - 60 * 1000, 3600, false},
        {"set forward by a day", START_MS, START_MS + DAY_MS, 3600, true},
        {"set forward by a day, long life", START_MS, START_MS + DAY_MS, 90 * DAY_MS / 1000, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
        cleanup_json json_t *registration = sample_doc(REGISTRATION);
        const struct pair pair = {.environment = environment,
                                  .registration = registration,
                                  .namespace_name = "ls-system",
                                  .name = "mock-default"};
        cleanup_json json_t *target =
            pair_target(&pair, "T", cases[i].requested_ms, cases[i].lifetime_s);

        if ((pair_renewal_unix_ms(target, cases[i].now_ms) <= cases[i].now_ms) != cases[i].is_due)
            fail_msg("%s", cases[i].name);
    }
}

/* Half of the life is left when the renewal begins, so that the API server may be away for long. */
static void a_renewal_has_time_for_an_outage(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    cleanup_json json_t *registration = sample_doc(REGISTRATION);
    const struct pair pair = {.environment = environment,
                              .registration = registration,
                              .namespace_name = "ls-system",
                              .name = "mock-default"};
    cleanup_json json_t *target = pair_target(&pair, "T", START_MS, 4 * 3600);
    int64_t due = pair_renewal_unix_ms(target, START_MS);

    (void)state;
    assert_true(START_MS + 4 * 3600 * 1000 - due > 3600 * 1000);
    assert_true(pair_renewal_unix_ms(target, due + 3600 * 1000) <= due + 3600 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_clock_renews_early_or_on_time_but_never_late),
        cmocka_unit_test(a_renewal_has_time_for_an_outage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
