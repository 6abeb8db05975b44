/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/fields.h"

#include <inttypes.h>

#include "common/base/memory.h"
#include "common/data/duration.h"

char *field_path(const struct fields *fields, const char *key)
{
    return path_member(fields->path, key);
}

const json_t *field_any(const struct fields *fields, const char *key)
{
    const json_t *value = json_object_get(fields->object, key);

    return json_is_null(value) ? NULL : value;
}

/* The value, or NULL if it is absent or of the wrong type, which is a mistake. */
static const json_t *field_typed(const struct fields *fields, const char *key, const char *expected,
                                 bool (*is_type)(const json_t *value))
{
    const json_t *value = field_any(fields, key);
    cleanup_free char *path = NULL;

    if (!value || is_type(value))
        return value;
    path = field_path(fields, key);
    mistakes_add_type(fields->mistakes, path, expected, value);
    return NULL;
}

static bool is_object(const json_t *value)
{
    return json_is_object(value);
}

static bool is_array(const json_t *value)
{
    return json_is_array(value);
}

static bool is_string(const json_t *value)
{
    return json_is_string(value);
}

static bool is_boolean(const json_t *value)
{
    return json_is_boolean(value);
}

static bool is_integer(const json_t *value)
{
    return json_is_integer(value);
}

const json_t *field_object(const struct fields *fields, const char *key)
{
    return field_typed(fields, key, "an object", is_object);
}

const json_t *field_array(const struct fields *fields, const char *key)
{
    return field_typed(fields, key, "a list", is_array);
}

const char *field_text(const struct fields *fields, const char *key)
{
    return json_string_value(field_typed(fields, key, "a string", is_string));
}

char *field_text_copy(const struct fields *fields, const char *key, const char *fallback)
{
    const char *text = field_text(fields, key);

    return xstrdup_or_null(text && *text ? text : fallback);
}

bool field_bool(const struct fields *fields, const char *key, bool fallback)
{
    const json_t *value = field_typed(fields, key, "true or false", is_boolean);

    return value ? json_is_true(value) : fallback;
}

int64_t field_integer(const struct fields *fields, const char *key, int64_t fallback, int64_t min,
                      int64_t max)
{
    const json_t *value = field_typed(fields, key, "an integer", is_integer);
    cleanup_free char *path = NULL;
    int64_t number = 0;

    if (!value)
        return fallback;
    number = json_integer_value(value);
    if (number >= min && number <= max)
        return number;
    path = field_path(fields, key);
    mistakes_add(fields->mistakes, MISTAKE_INVALID, path,
                 "%" PRId64 ": must be between %" PRId64 " and %" PRId64, number, min, max);
    return fallback;
}

int64_t field_duration_ms(const struct fields *fields, const char *key, int64_t fallback,
                          int64_t min_ms)
{
    const char *text = field_text(fields, key);
    cleanup_free char *path = NULL;
    struct error err = {0};
    int64_t ns = 0;

    if (!text)
        return fallback;
    if (duration_parse(text, &ns, &err) == 0 && ns / 1000000 >= min_ms)
        return ns / 1000000;
    path = field_path(fields, key);
    mistakes_add(fields->mistakes, MISTAKE_INVALID, path,
                 "\"%s\": must be a duration such as 90s, 5m or 1h30m, at least %" PRId64 "ms",
                 text, min_ms);
    return fallback;
}

json_t *field_text_list(const struct fields *fields, const char *key)
{
    const json_t *value = field_any(fields, key);
    cleanup_free char *path = NULL;
    json_t *list = NULL;
    size_t bad = 0;

    if (!value)
        return NULL;
    if (json_is_string(value) && json_string_length(value) == 0)
        return json_array();
    path = field_path(fields, key);
    if (!json_is_array(value)) {
        mistakes_add_type(fields->mistakes, path, "a list of strings", value);
        return NULL;
    }
    list = json_array();
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *element = json_array_get(value, i);

        if (json_is_string(element)) {
            (void)json_array_append(list, element);
            continue;
        }
        cleanup_free char *where = path_index(path, i);
        mistakes_add_type(fields->mistakes, where, "a string", element);
        bad++;
    }
    if (bad == 0)
        return list;
    json_decref(list);
    return NULL;
}
