/* SPDX-License-Identifier: Apache-2.0 */
/* continuousReconcile: a cron expression in the five standard fields, or an interval. */
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/duration.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/validate.h"

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

static bool is_cron(const char *text)
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

bool validate_continuous_reconcile(const json_t *value, const char *path, struct mistakes *mistakes)
{
    static const char *const known[] = {"cron", "every", NULL};
    const struct fields fields = {value, path, mistakes};
    const char *cron = NULL;
    const char *every = NULL;
    cleanup_free char *cron_path = field_path(&fields, "cron");
    cleanup_free char *every_path = field_path(&fields, "every");
    struct error err = {0};
    int64_t ns = 0;

    if (!value)
        return false;
    if (!json_is_object(value)) {
        mistakes_add_type(mistakes, path, "an object", value);
        return false;
    }
    mistakes_add_unknown(mistakes, path, value, known);
    cron = field_text(&fields, "cron");
    every = field_text(&fields, "every");
    if (cron && !*cron)
        cron = NULL;
    if (cron && every)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "only one of cron and every can be set");
    else if (cron && !is_cron(cron))
        mistakes_add(mistakes, MISTAKE_INVALID, cron_path,
                     "\"%s\": must be a cron expression of five fields", cron);
    else if (every && (duration_parse(every, &ns, &err) < 0 || ns <= 0))
        mistakes_add(mistakes, MISTAKE_INVALID, every_path,
                     "\"%s\": must be a duration greater than zero", every);
    return cron || every;
}
