/* SPDX-License-Identifier: Apache-2.0 */
/* Converts scalars, by their tag or by their form. */
#include <string.h>

#include "common/data/base64.h"
#include "common/data/scalar.h"
#include "common/data/yaml_composer.h"

#define NUL_REFUSED "NUL characters are not allowed"

static const char tag_prefix[] = "tag:yaml.org,2002:";

int composer_fail_at(struct composer *composer, yaml_mark_t mark, enum error_kind kind,
                     const char *text)
{
    return error_set(composer->err, kind, "line %zu, column %zu: %s", mark.line + 1,
                     mark.column + 1, text);
}

int composer_fail(struct composer *composer, const char *text)
{
    return composer_fail_at(composer, composer->event.start_mark, ERROR_INVALID, text);
}

/* "str" for "tag:yaml.org,2002:str", "" without a tag, else the tag itself. */
const char *composer_short_tag(const yaml_char_t *tag)
{
    const char *text = (const char *)tag;

    if (!text)
        return "";
    return strncmp(text, tag_prefix, strlen(tag_prefix)) == 0 ? text + strlen(tag_prefix) : text;
}

/* libyaml gives well-formed UTF-8 only. */
static int compose_text(struct composer *composer, const char *text, size_t length,
                        json_t **ret_value)
{
    if (memchr(text, '\0', length))
        return composer_fail(composer, NUL_REFUSED);
    *ret_value = string_cache_get(&composer->strings, text, length);
    return 0;
}

static int compose_binary(struct composer *composer, const char *text, size_t length,
                          json_t **ret_value)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error ignored = {0};

    buffer_init(&bytes, length);
    if (base64_decode(text, length, &bytes, &ignored) < 0)
        return composer_fail(composer, "!!binary is not base64");
    if (bytes.size > 0 && memchr(bytes.data, '\0', bytes.size))
        return composer_fail(composer, NUL_REFUSED);
    *ret_value = json_stringn(bytes.data ? bytes.data : "", bytes.size);
    return *ret_value ? 0 : composer_fail(composer, "invalid UTF-8");
}

static int compose_resolved(struct composer *composer, const struct scalar *scalar,
                            json_t **ret_value)
{
    switch (scalar->type) {
    case SCALAR_NULL:
        *ret_value = json_null();
        return 0;
    case SCALAR_BOOLEAN:
        *ret_value = json_boolean(scalar->boolean);
        return 0;
    case SCALAR_INTEGER:
        *ret_value = json_integer(scalar->integer);
        return 0;
    case SCALAR_REAL:
        *ret_value = json_real(scalar->real);
        return 0;
    case SCALAR_NOT_FINITE:
        return composer_fail(composer, "JSON has no infinity and no not-a-number");
    case SCALAR_STRING:
        break;
    }
    return compose_text(composer, (const char *)composer->event.data.scalar.value,
                        composer->event.data.scalar.length, ret_value);
}

static bool fits_tag(const char *tag, struct scalar *scalar)
{
    if (strcmp(tag, "null") == 0)
        return scalar->type == SCALAR_NULL;
    if (strcmp(tag, "bool") == 0)
        return scalar->type == SCALAR_BOOLEAN;
    if (strcmp(tag, "int") == 0)
        return scalar->type == SCALAR_INTEGER;
    if (scalar->type == SCALAR_INTEGER)
        *scalar = (struct scalar){.type = SCALAR_REAL, .real = (double)scalar->integer};
    return scalar->type == SCALAR_REAL || scalar->type == SCALAR_NOT_FINITE;
}

int composer_scalar(struct composer *composer, json_t **ret_value)
{
    const char *text = (const char *)composer->event.data.scalar.value;
    size_t length = composer->event.data.scalar.length;
    const char *tag = composer_short_tag(composer->event.data.scalar.tag);
    struct scalar scalar = {.type = SCALAR_STRING};

    if (strcmp(tag, "binary") == 0)
        return compose_binary(composer, text, length, ret_value);
    if (strcmp(tag, "null") == 0 || strcmp(tag, "bool") == 0 || strcmp(tag, "int") == 0 ||
        strcmp(tag, "float") == 0) {
        scalar = scalar_resolve(text, length);
        if (!fits_tag(tag, &scalar))
            return composer_fail(composer, "the value does not fit its tag");
    } else if (!*tag) {
        if (composer->event.data.scalar.plain_implicit)
            scalar = scalar_resolve(text, length);
    } else if (strcmp(tag, "str") != 0 && strcmp(tag, "timestamp") != 0 && strcmp(tag, "!") != 0) {
        return composer_fail(composer, "unknown tag; supported are !!str, !!int, !!float, !!bool, "
                                       "!!null, !!binary, !!timestamp, !!map, !!seq");
    }
    return compose_resolved(composer, &scalar, ret_value);
}
