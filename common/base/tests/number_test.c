/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/base/number.h"

enum { UNTOUCHED = 4711 };

static const struct {
    const char *text;
    uint64_t max, number;
    size_t scanned; /* 0: no number at the start */
    bool is_whole, is_line;
} numbers[] = {
    {"0", 0, 0, 1, true, true},
    {"0", 9, 0, 1, true, true},
    {"9", 9, 9, 1, true, true},
    {"10", 9, 0, 0, false, false},
    {"3", 2, 0, 0, false, false},
    {"007", 9, 7, 3, true, true},
    {"18446744073709551615", UINT64_MAX, UINT64_MAX, 20, true, true},
    {"18446744073709551616", UINT64_MAX, 0, 0, false, false},
    {"99999999999999999999999", UINT64_MAX, 0, 0, false, false},
    {"65535", 65535, 65535, 5, true, true},
    {"65536", 65535, 0, 0, false, false},
    {"12\n", 99, 12, 2, false, true},
    {"12\n\n", 99, 12, 2, false, false},
    {"12 ", 99, 12, 2, false, false},
    {"12-34", 99, 12, 2, false, false},
    {"1.5", 99, 1, 1, false, false},
    {"0x10", 99, 0, 1, false, false},
    {"", 99, 0, 0, false, false},
    {"\n", 99, 0, 0, false, false},
    {" 1", 99, 0, 0, false, false},
    {"+1", 99, 0, 0, false, false},
    {"-1", 99, 0, 0, false, false},
    {"-0", 99, 0, 0, false, false},
    {"x", 99, 0, 0, false, false},
    {"\xd9\xa3", 99, 0, 0, false, false}, /* an Arabic three */
};

static void only_digits_within_the_bound_are_a_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(numbers); i++) {
        uint64_t scanned = UNTOUCHED, whole = UNTOUCHED, line = UNTOUCHED;

        print_message("'%s'\n", numbers[i].text);
        assert_int_equal(number_scan(numbers[i].text, numbers[i].max, &scanned),
                         numbers[i].scanned);
        assert_int_equal(scanned, numbers[i].scanned ? numbers[i].number : UNTOUCHED);
        assert_int_equal(number_parse(numbers[i].text, numbers[i].max, &whole),
                         numbers[i].is_whole);
        assert_int_equal(whole, numbers[i].is_whole ? numbers[i].number : UNTOUCHED);
        assert_int_equal(number_parse_line(numbers[i].text, numbers[i].max, &line),
                         numbers[i].is_line);
        assert_int_equal(line, numbers[i].is_line ? numbers[i].number : UNTOUCHED);
    }
}

static const struct {
    const char *text;
    bool is_number;
    int64_t number;
} signed_numbers[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"+7", true, 7},
    {"-7", true, -7},
    {"9223372036854775807", true, INT64_MAX},
    {"9223372036854775808", false, 0},
    {"-9223372036854775808", true, INT64_MIN},
    {"-9223372036854775809", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"+", false, 0},
    {"--1", false, 0},
    {"+-1", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"1x", false, 0},
};

static void signed_numbers_are_parsed_as_in_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(signed_numbers); i++) {
        int64_t number = UNTOUCHED;

        print_message("'%s'\n", signed_numbers[i].text);
        assert_int_equal(number_parse_signed(signed_numbers[i].text, &number),
                         signed_numbers[i].is_number);
        assert_int_equal(number,
                         signed_numbers[i].is_number ? signed_numbers[i].number : UNTOUCHED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_digits_within_the_bound_are_a_number),
        cmocka_unit_test(signed_numbers_are_parsed_as_in_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
