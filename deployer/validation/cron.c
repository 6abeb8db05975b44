/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/cron.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/base/number.h"
#include "common/data/duration.h"

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct cron_field {
    uint64_t min, max;
    const char *const *names; /* of min, min + 1, ...; or NULL */
} cron_fields[] = {{0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, months}, {0, 6, days}};

/* Parses a number or name and moves *cursor past it. */
static bool read_value(const char **cursor, const struct cron_field *field, uint64_t *ret_value)
{
    size_t digits = number_scan(*cursor, field->max, ret_value);

    for (uint64_t i = 0; digits == 0 && field->names && field->names[i]; i++) {
        if (strncasecmp(*cursor, field->names[i], 3) == 0) {
            *ret_value = field->min + i;
            *cursor += 3;
            return true;
        }
    }
    *cursor += digits;
    return digits > 0 && *ret_value >= field->min;
}

/* One element of a field: "*", "5", "1-5", each with "/step". Adds its values to *set; *ret_is_any:
 * it has a star. */
static bool read_range(const char **cursor, const struct cron_field *field, uint64_t *set,
                       bool *ret_is_any)
{
    static const struct cron_field steps = {1, 1000000, NULL};
    uint64_t low = field->min;
    uint64_t high = field->max;
    uint64_t step = 1;
    bool is_single = false;

    *ret_is_any = **cursor == '*' || **cursor == '?';
    if (*ret_is_any) {
        (*cursor)++;
    } else {
        if (!read_value(cursor, field, &low))
            return false;
        high = low;
        is_single = **cursor != '-';
        if (!is_single) {
            (*cursor)++;
            if (!read_value(cursor, field, &high) || high < low)
                return false;
        }
    }
    if (**cursor == '/') {
        (*cursor)++;
        if (!read_value(cursor, &steps, &step))
            return false;
        if (is_single)
            high = field->max;
        *ret_is_any = *ret_is_any && step == 1;
    }
    for (uint64_t value = low; value <= high; value += step)
        *set |= UINT64_C(1) << value;
    return true;
}

static bool read_cron_field(const char **cursor, const struct cron_field *field, uint64_t *set,
                            bool *is_any)
{
    *set = 0;
    *is_any = false;
    for (;;) {
        bool is_any_range = false;

        if (!read_range(cursor, field, set, &is_any_range))
            return false;
        *is_any = *is_any || is_any_range;
        if (**cursor != ',')
            return **cursor == '\0' || **cursor == ' ' || **cursor == '\t';
        (*cursor)++;
    }
}

/* ---- Expressions ---- */

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

struct cron {
    int64_t every_ms; /* @every; 0: the fields count */
    uint64_t sets[FIELD_COUNT];
    bool is_any[FIELD_COUNT];
    bool is_zoned; /* in another time zone than UTC */
};

static bool read_fields(const char *cursor, struct cron *cron)
{
    for (size_t i = 0; i < array_length(cron_fields); i++) {
        if (!read_cron_field(&cursor, &cron_fields[i], &cron->sets[i], &cron->is_any[i]))
            return false;
        cursor += strspn(cursor, " \t");
    }
    return *cursor == '\0';
}

static bool read_descriptor(const char *text, struct cron *cron)
{
    static const struct {
        const char *name, *fields;
    } descriptors[] = {{"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"},
                       {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
                       {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
                       {"@hourly", "0 * * * *"}};
    struct error err = {0};
    int64_t ns = 0;

    for (size_t i = 0; i < array_length(descriptors); i++) {
        if (strcmp(descriptors[i].name, text) == 0)
            return read_fields(descriptors[i].fields, cron);
    }
    if (strncmp(text, "@every ", strlen("@every ")) != 0 ||
        duration_parse(text + strlen("@every "), &ns, &err) < 0 || ns <= 0)
        return false;
    cron->every_ms = ns / 1000000 > 0 ? ns / 1000000 : 1;
    return true;
}

static bool cron_parse(const char *text, struct cron *cron)
{
    const char *cursor = text + strspn(text, " \t");

    if (strncmp(cursor, "TZ=", 3) == 0 || strncmp(cursor, "CRON_TZ=", 8) == 0) {
        const char *zone = strchr(cursor, '=') + 1;

        cron->is_zoned = strcspn(zone, " ") != 3 || strncmp(zone, "UTC", 3) != 0;
        cursor += strcspn(cursor, " ");
        cursor += strspn(cursor, " \t");
    }
    return *cursor == '@' ? read_descriptor(cursor, cron) : read_fields(cursor, cron);
}

bool cron_is_valid(const char *text)
{
    struct cron cron = {0};

    return cron_parse(text, &cron);
}

bool cron_is_utc(const char *text)
{
    struct cron cron = {0};

    return cron_parse(text, &cron) && !cron.is_zoned;
}

/* ---- Times ---- */

enum { DAY_SECONDS = 24 * 60 * 60, SEARCH_DAYS = 5 * 366 };

static bool has(const struct cron *cron, int field, int value)
{
    return cron->sets[field] >> value & 1;
}

/* If both the day of the month and the day of the week are restricted, one of them has to match. */
static bool is_day(const struct cron *cron, const struct tm *time)
{
    bool is_date = has(cron, DAY, time->tm_mday);
    bool is_weekday = has(cron, WEEKDAY, time->tm_wday);

    if (!has(cron, MONTH, time->tm_mon + 1))
        return false;
    return cron->is_any[DAY] || cron->is_any[WEEKDAY] ? is_date && is_weekday
                                                      : is_date || is_weekday;
}

/* The first minute of the day that matches, from first on; -1: none. */
static int find_minute(const struct cron *cron, int first)
{
    for (int minute = first; minute < DAY_SECONDS / 60; minute++) {
        if (has(cron, HOUR, minute / 60) && has(cron, MINUTE, minute % 60))
            return minute;
    }
    return -1;
}

int64_t cron_next(const char *text, int64_t after_unix_ms)
{
    struct cron cron = {0};
    int64_t minute = after_unix_ms / 1000 / 60 + 1;
    int64_t first_day = minute * 60 / DAY_SECONDS;
    int first = (int)(minute % (DAY_SECONDS / 60));

    if (after_unix_ms < 0 || !cron_parse(text, &cron))
        return -1;
    if (cron.every_ms)
        return after_unix_ms + cron.every_ms;
    for (int64_t day = first_day; day < first_day + SEARCH_DAYS; day++) {
        time_t seconds = (time_t)(day * DAY_SECONDS);
        struct tm time = {0};
        int found = -1;

        if (gmtime_r(&seconds, &time) && is_day(&cron, &time))
            found = find_minute(&cron, day == first_day ? first : 0);
        if (found >= 0)
            return (day * DAY_SECONDS + (int64_t)found * 60) * 1000;
    }
    return -1;
}
