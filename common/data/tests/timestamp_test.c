/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/timestamp.h"

static const struct {
    const char *text;
    int64_t unix_ms;
    const char *written;
} good[] = {
    {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"},
    {"2006-01-02T15:04:05Z", 1136214245000, "2006-01-02T15:04:05Z"},
    {"2006-01-02T15:04:05.9Z", 1136214245900, "2006-01-02T15:04:05Z"},
    {"2006-01-02T15:04:05.123456789Z", 1136214245123, "2006-01-02T15:04:05Z"},
    {"2006-01-02T15:04:05+02:30", 1136205245000, "2006-01-02T12:34:05Z"},
    {"2006-01-02T15:04:05-07:00", 1136239445000, "2006-01-02T22:04:05Z"},
    {"2006-01-02t15:04:05z", 1136214245000, "2006-01-02T15:04:05Z"},
    {"2024-02-29T23:59:59Z", 1709251199000, "2024-02-29T23:59:59Z"},
    {"2000-02-29T00:00:00Z", 951782400000, "2000-02-29T00:00:00Z"},
    {"1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59Z"},
    {"1900-03-01T00:00:00Z", -2203891200000, "1900-03-01T00:00:00Z"},
    {"0000-01-01T00:00:00Z", -62167219200000, "0000-01-01T00:00:00Z"},
    {"9999-12-31T23:59:59Z", 253402300799000, "9999-12-31T23:59:59Z"},
    {"0000-01-01T00:00:00+01:00", -62167222800000, "0000-01-01T00:00:00Z"}, /* clamped */
};

static void reads_any_offset_and_writes_utc_without_fraction(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        char text[TIMESTAMP_MAX] = {0};
        struct error err = {0};
        int64_t unix_ms = 1;

        if (timestamp_parse(good[i].text, &unix_ms, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(unix_ms, good[i].unix_ms);
        timestamp_format(unix_ms, text);
        assert_string_equal(text, good[i].written);
    }
}

static const char *const bad[] = {
    "",
    "now",
    "2006-01-02",
    "2006-01-02T15:04:05",
    "2006-01-02 15:04:05Z",
    "2006-01-02T15:04Z",
    "2006-1-2T15:04:05Z",
    "06-01-02T15:04:05Z",
    "12006-01-02T15:04:05Z",
    "2006-00-02T15:04:05Z",
    "2006-13-02T15:04:05Z",
    "2006-01-00T15:04:05Z",
    "2006-01-32T15:04:05Z",
    "2006-04-31T15:04:05Z",
    "2023-02-29T15:04:05Z",
    "1900-02-29T15:04:05Z",
    "2006-01-02T24:00:00Z",
    "2006-01-02T15:60:05Z",
    "2006-01-02T15:04:60Z",
    "2006-01-02T15:04:05.Z",
    "2006-01-02T15:04:05+2:30",
    "2006-01-02T15:04:05+0230",
    "2006-01-02T15:04:05+24:00",
    "2006-01-02T15:04:05+00:60",
    "2006-01-02T15:04:05Z ",
    " 2006-01-02T15:04:05Z",
    "-006-01-02T15:04:05Z",
    "2006-01-02T15:04:05ZZ",
};

static void refuses_invalid_times_and_keeps_the_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        struct error err = {0};
        int64_t unix_ms = 7;

        if (timestamp_parse(bad[i], &unix_ms, &err) == 0)
            fail_msg("'%s' was read", bad[i]);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(unix_ms, 7);
    }
}

static void lease_times_have_six_digits(void **state)
{
    char text[TIMESTAMP_MAX] = {0};

    (void)state;
    timestamp_format_micro(1136214245007, text);
    assert_string_equal(text, "2006-01-02T15:04:05.007000Z");
    timestamp_format_micro(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999000Z");
}

static void every_day_of_four_centuries_is_preserved(void **state)
{
    const int64_t day_ms = 86400000;

    (void)state;
    for (int64_t day = -80000; day < 80000; day += 1) {
        char text[TIMESTAMP_MAX] = {0};
        struct error err = {0};
        int64_t back = 0;

        timestamp_format(day * day_ms, text);
        assert_int_equal(timestamp_parse(text, &back, &err), 0);
        assert_int_equal(back, day * day_ms);
    }
}

static void times_past_the_calendar_are_clamped(void **state)
{
    char text[TIMESTAMP_MAX] = {0};

    (void)state;
    timestamp_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59Z");
    timestamp_format_micro(INT64_MIN, text);
    assert_string_equal(text, "0000-01-01T00:00:00.000000Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_any_offset_and_writes_utc_without_fraction),
        cmocka_unit_test(refuses_invalid_times_and_keeps_the_output),
        cmocka_unit_test(lease_times_have_six_digits),
        cmocka_unit_test(every_day_of_four_centuries_is_preserved),
        cmocka_unit_test(times_past_the_calendar_are_clamped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
