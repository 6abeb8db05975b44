/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/memory.h"
#include "deployer/status/text.h"

static const struct {
    int64_t ms;
    const char *text;
} durations[] = {
    {0, "0s"},       {999, "0s"},         {59999, "59s"},     {60000, "1m"},
    {61000, "1m1s"}, {3599000, "59m59s"}, {3600000, "1h"},    {7380000, "2h3m"},
    {3659000, "1h"}, {86400000, "1d"},    {97200000, "1d3h"}, {8640000000, "100d"},
};

static void durations_show_the_two_largest_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(durations); i++) {
        char text[TEXT_DURATION_MAX] = "";

        text_duration(durations[i].ms, text);
        assert_string_equal(text, durations[i].text);
    }
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    static const char text[] = "a\tb\n\x1b[2Jc\x07\x7f \xc2\x9b"
                               "d \xc3\xbc";
    cleanup_free char *clean = text_printable(text, strlen(text));

    (void)state;
    assert_string_equal(clean, "a\tb\n?[2Jc?? ??d \xc3\xbc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_show_the_two_largest_units),
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
