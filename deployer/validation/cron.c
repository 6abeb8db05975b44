/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/cron.h"

#include <string.h>
#include <strings.h>

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

/* One element of a field: "*", "5", "1-5", each with "/step". */
static bool read_range(const char **cursor, const struct cron_field *field)
{
    uint64_t low = field->min;
    uint64_t high = field->max;

    if (**cursor == '*' || **cursor == '?') {
        (*cursor)++;
    } else {
        if (!read_value(cursor, field, &low))
            return false;
        high = low;
        if (**cursor == '-') {
            (*cursor)++;
            if (!read_value(cursor, field, &high) || high < low)
                return false;
        }
    }
    if (**cursor == '/') {
        static const struct cron_field steps = {1, 1000000, NULL};
        uint64_t step = 0;

        (*cursor)++;
        return read_value(cursor, &steps, &step);
    }
    return true;
}

static bool read_cron_field(const char **cursor, const struct cron_field *field)
{
    for (;;) {
        if (!read_range(cursor, field))
            return false;
        if (**cursor != ',')
            return **cursor == '\0' || **cursor == ' ' || **cursor == '\t';
        (*cursor)++;
    }
}

static bool is_descriptor(const char *text)
{
    static const char *const names[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                        "@daily",  "@midnight", "@hourly"};
    struct error err = {0};
    int64_t ns = 0;

    for (size_t i = 0; i < array_length(names); i++) {
        if (strcmp(names[i], text) == 0)
            return true;
    }
    return strncmp(text, "@every ", strlen("@every ")) == 0 &&
           duration_parse(text + strlen("@every "), &ns, &err) == 0 && ns > 0;
}

bool cron_is_valid(const char *text)
{
    const char *cursor = text + strspn(text, " \t");

    if (strncmp(cursor, "TZ=", 3) == 0 || strncmp(cursor, "CRON_TZ=", 8) == 0) {
        cursor += strcspn(cursor, " ");
        cursor += strspn(cursor, " \t");
    }
    if (*cursor == '@')
        return is_descriptor(cursor);
    for (size_t i = 0; i < array_length(cron_fields); i++) {
        if (!read_cron_field(&cursor, &cron_fields[i]))
            return false;
        cursor += strspn(cursor, " \t");
    }
    return *cursor == '\0';
}
