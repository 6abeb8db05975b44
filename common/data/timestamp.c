/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the calendar itself (proleptic Gregorian, UTC), independent of time zone and locale. */
#include "common/data/timestamp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/digit.h"

static const int64_t day_ms = 86400000;
static const int64_t year_0_ms = -62167219200000;    /* 0000-01-01T00:00:00Z */
static const int64_t year_9999_ms = 253402300799999; /* 9999-12-31T23:59:59.999Z */

struct civil {
    int64_t year;
    int64_t month;
    int64_t day;
};

/* Days since 1970-01-01. Years begin in March here, so that the leap day is the last day. */
static int64_t days_of(struct civil date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static struct civil civil_of(int64_t days)
{
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct civil date = {
        .year = year_of_era + era * 400,
        .month = month < 10 ? month + 3 : month - 9,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
    };

    if (date.month <= 2)
        date.year++;
    return date;
}

static bool read_number(const char **at, int digits, int64_t max, int64_t *ret_value)
{
    int64_t value = 0;

    for (int i = 0; i < digits; i++, (*at)++) {
        if (!is_digit(**at))
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret_value = value;
    return value <= max;
}

static bool read_one_of(const char **at, const char *letters)
{
    if (!**at || !strchr(letters, **at))
        return false;
    (*at)++;
    return true;
}

static bool read_date(const char **at, int64_t *ret_days)
{
    struct civil date = {0};
    struct civil back = {0};

    if (!read_number(at, 4, 9999, &date.year) || !read_one_of(at, "-") ||
        !read_number(at, 2, 12, &date.month) || !read_one_of(at, "-") ||
        !read_number(at, 2, 31, &date.day) || date.month == 0 || date.day == 0)
        return false;
    /* A day that does not exist, such as April 31, is converted back to a day of the next month. */
    *ret_days = days_of(date);
    back = civil_of(*ret_days);
    return back.day == date.day;
}

static bool read_time(const char **at, int64_t *ret_ms)
{
    int64_t hour = 0;
    int64_t minute = 0;
    int64_t second = 0;
    int64_t ms = 0;

    if (!read_number(at, 2, 23, &hour) || !read_one_of(at, ":") ||
        !read_number(at, 2, 59, &minute) || !read_one_of(at, ":") ||
        !read_number(at, 2, 59, &second))
        return false;
    if (read_one_of(at, ".")) {
        if (!is_digit(**at))
            return false;
        for (int64_t place = 100; is_digit(**at); (*at)++, place /= 10)
            ms += place * (**at - '0');
    }
    *ret_ms = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
    return true;
}

static bool read_offset(const char **at, int64_t *ret_ms)
{
    int64_t hour = 0;
    int64_t minute = 0;
    bool is_west = **at == '-';

    *ret_ms = 0;
    if (read_one_of(at, "Zz"))
        return true;
    if (!read_one_of(at, "+-") || !read_number(at, 2, 23, &hour) || !read_one_of(at, ":") ||
        !read_number(at, 2, 59, &minute))
        return false;
    *ret_ms = (hour * 60 + minute) * 60000 * (is_west ? -1 : 1);
    return true;
}

int timestamp_parse(const char *text, int64_t *ret_unix_ms, struct error *err)
{
    const char *at = text;
    int64_t days = 0;
    int64_t ms = 0;
    int64_t offset_ms = 0;

    if (!read_date(&at, &days) || !read_one_of(&at, "Tt") || !read_time(&at, &ms) ||
        !read_offset(&at, &offset_ms) || *at)
        return error_set(
            err, ERROR_INVALID,
            "invalid time \"%.64s\": expected RFC 3339, such as '2006-01-02T15:04:05Z'", text);
    *ret_unix_ms = days * day_ms + ms - offset_ms;
    return 0;
}

static void format(int64_t unix_ms, bool has_micro, char ret_text[TIMESTAMP_MAX])
{
    int64_t ms = unix_ms < year_0_ms ? year_0_ms : unix_ms > year_9999_ms ? year_9999_ms : unix_ms;
    int64_t days = ms / day_ms - (ms % day_ms < 0);
    int64_t rest = ms - days * day_ms;
    struct civil date = civil_of(days);
    char fraction[12] = {0};

    if (has_micro)
        (void)snprintf(fraction, sizeof(fraction), ".%03u000", (unsigned)(rest % 1000));
    (void)snprintf(ret_text, TIMESTAMP_MAX, "%04u-%02u-%02uT%02u:%02u:%02u%sZ",
                   (unsigned)date.year % 10000, (unsigned)date.month % 100,
                   (unsigned)date.day % 100, (unsigned)(rest / 3600000) % 100,
                   (unsigned)(rest / 60000 % 60), (unsigned)(rest / 1000 % 60), fraction);
}

void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_MAX])
{
    format(unix_ms, false, ret_text);
}

void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_MAX])
{
    format(unix_ms, true, ret_text);
}
