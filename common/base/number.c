/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/number.h"

#include <string.h>

#include "common/base/digit.h"

size_t number_scan(const char *text, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t length = 0;

    for (; is_digit(text[length]); length++) {
        uint64_t digit = (uint64_t)(text[length] - '0');

        if (digit > max || number > (max - digit) / 10)
            return 0;
        number = number * 10 + digit;
    }
    if (length > 0)
        *ret_number = number;
    return length;
}

/* Parses a number that is followed by exactly this text. */
static bool parse_before(const char *text, const char *rest, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t length = number_scan(text, max, &number);

    if (length == 0 || strcmp(text + length, rest) != 0)
        return false;
    *ret_number = number;
    return true;
}

bool number_parse(const char *text, uint64_t max, uint64_t *ret_number)
{
    return parse_before(text, "", max, ret_number);
}

bool number_parse_line(const char *text, uint64_t max, uint64_t *ret_number)
{
    return number_parse(text, max, ret_number) || parse_before(text, "\n", max, ret_number);
}

bool number_parse_signed(const char *text, int64_t *ret_number)
{
    bool is_negative = *text == '-';
    uint64_t magnitude = 0;

    if (!number_parse(text + (is_negative || *text == '+'),
                      (uint64_t)INT64_MAX + (is_negative ? 1 : 0), &magnitude))
        return false;
    *ret_number = (int64_t)(is_negative ? 0 - magnitude : magnitude);
    return true;
}
