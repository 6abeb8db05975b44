/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/duration.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/digit.h"

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},           {"us", 1000},      {"\xc2\xb5s", 1000}, /* micro sign */
    {"\xce\xbcs", 1000},                                         /* Greek mu */
    {"ms", 1000000},     {"s", 1000000000}, {"m", 60000000000},  {"h", 3600000000000},
};

static const uint64_t magnitude_max = (uint64_t)1 << 63; /* the absolute value of INT64_MIN */

/* Reads the digits before the decimal point. */
static bool read_whole(const char **at, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (; is_digit(**at); (*at)++) {
        if (value > magnitude_max / 10)
            return false;
        value = value * 10 + (uint64_t)(**at - '0');
        if (value > magnitude_max)
            return false;
    }
    *ret_value = value;
    return true;
}

/* Reads the digits after the decimal point as value / *ret_scale. Digits that a nanosecond cannot
 * hold are dropped. */
static uint64_t read_fraction(const char **at, double *ret_scale)
{
    uint64_t value = 0;
    bool is_full = false;

    *ret_scale = 1;
    for (; is_digit(**at); (*at)++) {
        uint64_t next = 0;

        if (is_full)
            continue;
        if (value > (magnitude_max - 1) / 10) {
            is_full = true;
            continue;
        }
        next = value * 10 + (uint64_t)(**at - '0');
        if (next > magnitude_max) {
            is_full = true;
            continue;
        }
        value = next;
        *ret_scale *= 10;
    }
    return value;
}

static bool read_unit(const char **at, uint64_t *ret_ns)
{
    size_t length = strcspn(*at, ".0123456789");

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == length && memcmp(*at, units[i].name, length) == 0) {
            *at += length;
            *ret_ns = units[i].ns;
            return true;
        }
    }
    return false;
}

/* Reads one "1.5h" and adds it to *total. */
static bool read_term(const char **at, uint64_t *total)
{
    uint64_t whole = 0;
    uint64_t fraction = 0;
    uint64_t unit_ns = 0;
    double scale = 1;
    const char *start = *at;
    bool has_digits = false;

    if (!read_whole(at, &whole))
        return false;
    has_digits = *at != start;
    if (**at == '.') {
        const char *point = ++*at;

        fraction = read_fraction(at, &scale);
        has_digits = has_digits || *at != point;
    }
    if (!has_digits || !read_unit(at, &unit_ns) || whole > magnitude_max / unit_ns)
        return false;
    whole *= unit_ns;
    if (fraction > 0)
        whole += (uint64_t)((double)fraction * ((double)unit_ns / scale));
    if (whole > magnitude_max)
        return false;
    *total += whole;
    return *total <= magnitude_max;
}

int duration_parse(const char *text, int64_t *ret_ns, struct error *err)
{
    const char *at = text;
    uint64_t total = 0;
    bool is_negative = *at == '-';

    if (*at == '-' || *at == '+')
        at++;
    if (strcmp(at, "0") == 0) {
        *ret_ns = 0;
        return 0;
    }
    if (!*at)
        return error_set(err, ERROR_INVALID,
                         "invalid duration \"%s\": expected numbers with units, such as '1h30m'",
                         text);
    while (*at) {
        if (!read_term(&at, &total))
            return error_set(
                err, ERROR_INVALID,
                "invalid duration \"%.64s\": expected numbers with units, such as '1h30m', "
                "'90s' or '300ms', and less than 292 years",
                text);
    }
    if (total == magnitude_max && !is_negative)
        return error_set(err, ERROR_INVALID, "invalid duration \"%.64s\": 292 years or more", text);
    *ret_ns = is_negative ? (int64_t)(0 - total) : (int64_t)total;
    return 0;
}

/* "12.5ms" for 12500000, 1000000 and "ms": a fraction without trailing zeros. */
static void put_decimal(char *text, size_t size, uint64_t value, uint64_t scale, const char *unit)
{
    char fraction[24] = {0};
    uint64_t rest = value % scale;
    size_t used = 0;

    if (rest > 0)
        fraction[used++] = '.';
    while (rest > 0 && used < sizeof(fraction) - 1) {
        rest *= 10;
        fraction[used++] = (char)('0' + rest / scale);
        rest %= scale;
    }
    (void)snprintf(text, size, "%llu%s%s", (unsigned long long)(value / scale), fraction, unit);
}

void duration_format(int64_t ns, char *ret_text, size_t size)
{
    uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "";
    const uint64_t minute_ns = 60000000000;
    unsigned long long minutes = magnitude / minute_ns;
    char rest[40] = {0};

    if (magnitude == 0)
        (void)snprintf(rest, sizeof(rest), "0s");
    else if (magnitude < 1000)
        put_decimal(rest, sizeof(rest), magnitude, 1, "ns");
    else if (magnitude < 1000000)
        put_decimal(rest, sizeof(rest), magnitude, 1000, "\xc2\xb5s");
    else if (magnitude < 1000000000)
        put_decimal(rest, sizeof(rest), magnitude, 1000000, "ms");
    else
        put_decimal(rest, sizeof(rest), magnitude % minute_ns, 1000000000, "s");

    if (minutes >= 60)
        (void)snprintf(ret_text, size, "%s%lluh%llum%s", sign, minutes / 60, minutes % 60, rest);
    else if (minutes > 0)
        (void)snprintf(ret_text, size, "%s%llum%s", sign, minutes, rest);
    else
        (void)snprintf(ret_text, size, "%s%s", sign, rest);
}
