/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/oci/content_range.h"

static const struct {
    const char *text;
    bool is_range;
    struct content_range range;
} lines[] = {
    {"bytes 0-0/1", true, {0, 0, 1}},
    {"bytes 7-4095/4096", true, {7, 4095, 4096}},
    {"Bytes 7-9/*", true, {7, 9, 0}},
    {"bytes 0-18446744073709551614/18446744073709551615", true, {0, UINT64_MAX - 1, UINT64_MAX}},
    {"bytes 7-9", false, {0}},
    {"bytes 7-", false, {0}},
    {"bytes 7", false, {0}},
    {"bytes */10", false, {0}},
    {"bytes 9-7/10", false, {0}},
    {"bytes 7-10/10", false, {0}},
    {"bytes 0-0/0", false, {0}},
    {"bytes -7-9/10", false, {0}},
    {"bytes +7-9/10", false, {0}},
    {"bytes  7-9/10", false, {0}},
    {"bytes 7 -9/10", false, {0}},
    {"bytes 7- 9/10", false, {0}},
    {"bytes 7-9/ 10", false, {0}},
    {"bytes 7-9/10 ", false, {0}},
    {"bytes 7-9/10x", false, {0}},
    {"bytes 7-9/**", false, {0}},
    {"bytes 0x7-9/10", false, {0}},
    {"bytes 18446744073709551616-18446744073709551617/*", false, {0}},
    {"bytes=7-9/10", false, {0}},
    {"octets 7-9/10", false, {0}},
    {"bytes ", false, {0}},
    {"", false, {0}},
};

static void only_a_complete_range_within_its_total_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lines); i++) {
        struct content_range range = {0};

        print_message("'%s'\n", lines[i].text);
        assert_int_equal(content_range_parse(lines[i].text, &range), lines[i].is_range);
        assert_int_equal(range.first, lines[i].range.first);
        assert_int_equal(range.last, lines[i].range.last);
        assert_int_equal(range.total, lines[i].range.total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_complete_range_within_its_total_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
