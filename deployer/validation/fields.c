/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/fields.h"

#include "common/base/memory.h"
#include "common/data/duration.h"

enum { NS_PER_MS = 1000000 };

char *field_path(const struct fields *fields, const char *key)
{
    return path_member(fields->path, key);
}

const json_t *field_any(const struct fields *fields, const char *key)
{
    const json_t *value = json_object_get(fields->object, key);

    return json_is_null(value) ? NULL : value;
}

const json_t *field_object(const struct fields *fields, const char *key)
{
    const json_t *value = field_any(fields, key);

    return json_is_object(value) ? value : NULL;
}

const json_t *field_array(const struct fields *fields, const char *key)
{
    const json_t *value = field_any(fields, key);

    return json_is_array(value) ? value : NULL;
}

const char *field_text(const struct fields *fields, const char *key)
{
    return json_string_value(field_any(fields, key));
}

json_t *field_copy(const struct fields *fields, const char *key)
{
    const json_t *value = field_any(fields, key);

    return value ? json_deep_copy(value) : NULL;
}

char *field_text_copy(const struct fields *fields, const char *key, const char *fallback)
{
    const char *text = field_text(fields, key);

    return xstrdup_or_null(text && *text ? text : fallback);
}

bool field_bool(const struct fields *fields, const char *key, bool fallback)
{
    const json_t *value = field_any(fields, key);

    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

int64_t field_integer(const struct fields *fields, const char *key, int64_t fallback)
{
    const json_t *value = field_any(fields, key);

    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

int64_t field_duration_ms(const struct fields *fields, const char *key, int64_t fallback)
{
    const char *text = field_text(fields, key);
    struct error err = {0};
    int64_t ns = 0;

    return text && duration_parse(text, &ns, &err) == 0 ? ns / NS_PER_MS : fallback;
}

json_t *field_text_list(const struct fields *fields, const char *key)
{
    const json_t *value = field_any(fields, key);

    if (json_is_string(value) && json_string_length(value) == 0)
        return json_array();
    if (!json_is_array(value))
        return NULL;
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (!json_is_string(json_array_get(value, i)))
            return NULL;
    }
    return json_copy(field_each(value));
}
