/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/schema.h"

#include <regex.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/reply.h"

static bool keeps_unknown(const json_t *schema)
{
    return doc_bool_or(schema, "x-kubernetes-preserve-unknown-fields", false);
}

/* The schema of a member; NULL: it is not declared. */
static const json_t *member_schema(const json_t *schema, const char *key)
{
    const json_t *declared = doc_member(doc_member(schema, "properties"), key);
    const json_t *additional = doc_member(schema, "additionalProperties");

    if (declared)
        return declared;
    return json_is_object(additional) ? additional : NULL;
}

static bool is_type_meta(const char *key)
{
    return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
           strcmp(key, "metadata") == 0;
}

static void prune(const json_t *schema, json_t *value, bool is_root)
{
    const char *key = NULL;
    json_t *member = NULL;
    void *next = NULL;

    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++)
            prune(doc_member(schema, "items"), json_array_get(value, i), false);
        return;
    }
    json_object_foreach_safe(value, next, key, member)
    {
        const json_t *inner = member_schema(schema, key);

        if (is_root && is_type_meta(key))
            continue;
        if (inner)
            prune(inner, member, false);
        else if (!keeps_unknown(schema) &&
                 !json_is_true(doc_member(schema, "additionalProperties")))
            (void)json_object_del(value, key);
    }
}

void schema_prune(const json_t *schema, json_t *object)
{
    if (schema)
        prune(schema, object, true);
}

void schema_default(const json_t *schema, json_t *object)
{
    const char *key = NULL;
    json_t *inner = NULL;

    if (!schema)
        return;
    if (json_is_array(object)) {
        for (size_t i = 0; i < json_array_size(object); i++)
            schema_default(doc_member(schema, "items"), json_array_get(object, i));
        return;
    }
    if (!json_is_object(object))
        return;
    doc_foreach(doc_member(schema, "properties"), key, inner)
    {
        const json_t *fallback = doc_member(inner, "default");

        if (fallback && !doc_member(object, key))
            (void)json_object_set_new(object, key, json_deep_copy(fallback));
    }
    doc_foreach(object, key, inner) schema_default(member_schema(schema, key), inner);
}

static const char *type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "";
}

static bool has_type(const json_t *schema, const json_t *value)
{
    const char *type = doc_text(schema, "type");

    if (doc_bool_or(schema, "x-kubernetes-int-or-string", false))
        return json_is_integer(value) || json_is_string(value);
    if (!type || (json_is_null(value) && doc_bool_or(schema, "nullable", false)))
        return true;
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    return strcmp(type, type_of(value)) == 0;
}

static void check_enum(const json_t *choices, const json_t *value, const char *path, json_t *causes)
{
    cleanup_free char *text = NULL;

    if (!choices)
        return;
    for (size_t i = 0; i < json_array_size(choices); i++) {
        if (json_equal(json_array_get(choices, i), doc_writable(value)))
            return;
    }
    text = doc_dump(value);
    reply_add_cause(causes, "FieldValueNotSupported", path, "Unsupported value: %s", text);
}

static bool matches(const char *pattern, const char *text)
{
    regex_t regex;
    bool is_match = false;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return true; /* a feature of RE2 that POSIX does not have */
    is_match = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return is_match;
}

static void check_text(const json_t *schema, const json_t *value, const char *path, json_t *causes)
{
    const char *text = json_string_value(value);
    const char *pattern = doc_text(schema, "pattern");
    int64_t size = (int64_t)json_string_length(value);
    int64_t max = doc_integer_or(schema, "maxLength", INT64_MAX);
    int64_t min = doc_integer_or(schema, "minLength", 0);

    if (size > max)
        reply_add_cause(causes, "FieldValueTooLong", path,
                        "Too long: may not be more than %lld bytes", (long long)max);
    else if (size < min)
        reply_add_cause(causes, "FieldValueInvalid", path,
                        "Invalid value: \"%s\": %s in body should be at least %lld chars long",
                        text, path, (long long)min);
    else if (pattern && !matches(pattern, text))
        reply_add_cause(causes, "FieldValueInvalid", path,
                        "Invalid value: \"%s\": %s in body should match '%s'", text, path, pattern);
}

static void check(const json_t *schema, const json_t *value, const char *path, json_t *causes);

static void check_object(const json_t *schema, const json_t *value, const char *path,
                         json_t *causes)
{
    const json_t *required = doc_member(schema, "required");
    const char *key = NULL;
    json_t *member = NULL;

    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        cleanup_free char *inner = xasprintf("%s%s%s", path, path[0] ? "." : "", name);

        if (!doc_member(value, name))
            reply_add_cause(causes, "FieldValueRequired", inner, "Required value");
    }
    doc_foreach(value, key, member)
    {
        cleanup_free char *inner = xasprintf("%s%s%s", path, path[0] ? "." : "", key);
        const json_t *inner_schema = member_schema(schema, key);

        if (inner_schema && strcmp(inner, "metadata") != 0)
            check(inner_schema, member, inner, causes);
    }
}

static void check(const json_t *schema, const json_t *value, const char *path, json_t *causes)
{
    if (!has_type(schema, value)) {
        reply_add_cause(causes, "FieldValueTypeInvalid", path,
                        "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"",
                        type_of(value), path, doc_text_or(schema, "type", ""), type_of(value));
        return;
    }
    check_enum(doc_member(schema, "enum"), value, path, causes);
    if (json_is_string(value))
        check_text(schema, value, path, causes);
    if (json_is_object(value))
        check_object(schema, value, path, causes);
    for (size_t i = 0; i < json_array_size(value); i++) {
        cleanup_free char *inner = xasprintf("%s[%zu]", path, i);
        const json_t *items = doc_member(schema, "items");

        if (items)
            check(items, json_array_get(value, i), inner, causes);
    }
}

json_t *schema_check(const json_t *schema, const json_t *object)
{
    json_t *causes = json_array();

    if (schema)
        check(schema, object, "", causes);
    return causes;
}
