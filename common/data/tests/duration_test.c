/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/duration.h"

static const int64_t second = 1000000000;

static const struct {
    const char *text;
    int64_t ns;
} good[] = {
    {"0", 0},
    {"-0", 0},
    {"+0", 0},
    {"0s", 0},
    {"5s", 5000000000},
    {"30s", 30000000000},
    {"1478s", 1478000000000},
    {"-5s", -5000000000},
    {"+5s", 5000000000},
    {"5.0s", 5000000000},
    {"5.6s", 5600000000},
    {"5.s", 5000000000},
    {".5s", 500000000},
    {"1.004s", 1004000000},
    {"100.00100s", 100001000000},
    {"10ns", 10},
    {"11us", 11000},
    {"12\xc2\xb5s", 12000},
    {"12\xce\xbcs", 12000},
    {"13ms", 13000000},
    {"15m", 900000000000},
    {"16h", 57600000000000},
    {"3h30m", 12600000000000},
    {"10.5s4m", 250500000000},
    {"-2m3.4s", -123400000000},
    {"1h2m3s4ms5us6ns", 3723004005006},
    {"39h9m14.425s", 140954425000000},
    {"52763797000ns", 52763797000},
    {"0.3333333333333333333h", 1200000000000},
    {"9007199254740993ns", 9007199254740993},
    {"9223372036854775807ns", INT64_MAX},
    {"9223372036.854775807s", INT64_MAX},
    {"2562047h47m16.854775807s", INT64_MAX},
    {"-9223372036854775808ns", INT64_MIN},
    {"-2562047h47m16.854775808s", INT64_MIN},
    {"0.100000000000000000000h", 360000000000},
    {"0.9223372036854775807h", 3320413933267},
};

static void reads_what_go_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        struct error err = {0};
        int64_t ns = 1;

        if (duration_parse(good[i].text, &ns, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(ns, good[i].ns);
    }
}

static const char *const bad[] = {
    "",
    "3",
    "-",
    "+",
    "s",
    ".",
    "-.",
    ".s",
    "+.s",
    "1d",
    "1w",
    "1 s",
    " 1s",
    "1s ",
    "1h-5m",
    "--1s",
    "1e3s",
    "0x1s",
    "1S",
    "none",
    "\x85\x85",
    "1\xc2s",
    "3000000h",
    "9223372036854775808ns",
    "9223372036854775.808us",
    "9223372036854ms775us808ns",
    "9223372036854ms775us809ns",
    "9223372036854775807ns9223372036854775807ns",
    "2562047h2562047h2562047h",
    "-9223372036854775809ns",
    "99999999999999999999999999s",
};

static void refuses_what_go_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        struct error err = {0};
        int64_t ns = 7;

        if (duration_parse(bad[i], &ns, &err) == 0)
            fail_msg("'%s' was read", bad[i]);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(ns, 7);
    }
}

static void writes_as_go_writes(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } written[] = {
        {0, "0s"},
        {1, "1ns"},
        {1100, "1.1\xc2\xb5s"},
        {2200000, "2.2ms"},
        {300000000, "300ms"},
        {3300000000, "3.3s"},
        {60000000000, "1m0s"},
        {245000000000, "4m5s"},
        {245001000000, "4m5.001s"},
        {5400000000000, "1h30m0s"},
        {18367001000000, "5h6m7.001s"},
        {480000000001, "8m0.000000001s"},
        {-5000000000, "-5s"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(written); i++) {
        char text[32] = {0};

        duration_format(written[i].ns, text, sizeof(text));
        assert_string_equal(text, written[i].text);
    }
}

static void written_durations_parse_to_the_same_value(void **state)
{
    (void)state;
    for (int64_t ns = 1; ns < INT64_MAX / 3; ns = ns * 3 + 1) {
        char text[32] = {0};
        struct error err = {0};
        int64_t back = 0;

        duration_format(-ns, text, sizeof(text));
        assert_int_equal(duration_parse(text, &back, &err), 0);
        assert_int_equal(back, -ns);
    }
}

static void a_buffer_that_is_too_small_is_not_overrun(void **state)
{
    char text[4] = {'x', 'x', 'x', 'x'};

    (void)state;
    duration_format(90 * second, text, 3);
    assert_string_equal(text, "1m");
    assert_int_equal(text[3], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_go_reads),
        cmocka_unit_test(refuses_what_go_refuses),
        cmocka_unit_test(writes_as_go_writes),
        cmocka_unit_test(written_durations_parse_to_the_same_value),
        cmocka_unit_test(a_buffer_that_is_too_small_is_not_overrun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
