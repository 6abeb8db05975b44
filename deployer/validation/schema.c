/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/schema.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

#define SCHEMA_DRAFT "http://json-schema.org/draft-07/schema#"

static json_t *schema_of(const struct field_rule *rule, bool is_null_allowed);

static void set(json_t *schema, const char *key, json_t *value)
{
    (void)json_object_set_new(schema, key, value);
}

static void add_types(json_t *schema, const struct field_rule *rule, bool is_null_allowed)
{
    static const struct {
        unsigned type;
        const char *name;
    } names[] = {
        {RULE_TEXT, "string"},   {RULE_BOOL, "boolean"},  {RULE_INTEGER, "integer"},
        {RULE_NUMBER, "number"}, {RULE_OBJECT, "object"}, {RULE_LIST, "array"},
    };
    json_t *list = json_array();

    for (size_t i = 0; i < array_length(names); i++) {
        if (rule->types & names[i].type)
            (void)json_array_append_new(list, json_string(names[i].name));
    }
    if (is_null_allowed)
        (void)json_array_append_new(list, json_string("null"));
    if (json_array_size(list) == 1)
        set(schema, "type", json_incref(json_array_get(list, 0)));
    else
        set(schema, "type", json_incref(list));
    json_decref(list);
}

static json_t *texts(const char *const *list)
{
    json_t *array = json_array();

    for (size_t i = 0; list && list[i]; i++)
        (void)json_array_append_new(array, json_string(list[i]));
    return array;
}

static void add_choices(json_t *schema, const struct field_rule *rule, bool is_null_allowed)
{
    json_t *list = texts(rule->choices);

    if (rule->is_empty_allowed)
        (void)json_array_append_new(list, json_string(""));
    if (is_null_allowed)
        (void)json_array_append_new(list, json_null());
    set(schema, "enum", list);
}

static void add_format(json_t *schema, const struct text_format *format, bool is_empty_allowed)
{
    cleanup_free char *pattern = xasprintf("%s%s", is_empty_allowed ? "^$|" : "", format->pattern);

    set(schema, "pattern", json_string(pattern));
    if (format->reserved)
        set(schema, "not", json_pack("{s:o}", "enum", texts(format->reserved)));
}

static void add_text(json_t *schema, const struct field_rule *rule)
{
    if (rule->format)
        add_format(schema, rule->format, rule->is_empty_allowed);
    else if (rule->is_required && !rule->is_empty_allowed)
        set(schema, "minLength", json_integer(1));
    if (rule->max > 0)
        set(schema, "maxLength", json_integer(rule->max));
}

static void add_range(json_t *schema, const struct field_rule *rule)
{
    if (rule->max > 0 || rule->types & RULE_NUMBER)
        set(schema, "minimum", json_integer(rule->min));
    if (rule->max > 0)
        set(schema, "maximum", json_integer(rule->max));
}

static void add_list(json_t *schema, const struct field_rule *rule)
{
    if (rule->elements)
        set(schema, "items", schema_of(rule->elements, false));
    if (rule->max > 0)
        set(schema, "maxItems", json_integer(rule->max));
}

static void add_map(json_t *schema, const struct field_rule *rule)
{
    if (rule->keys) {
        json_t *names = json_object();

        add_format(names, rule->keys, false);
        set(schema, "propertyNames", names);
    }
    set(schema, "additionalProperties", schema_of(rule->elements, false));
    if (rule->max > 0)
        set(schema, "maxProperties", json_integer(rule->max));
}

static void add_fields(json_t *schema, const struct field_rule *fields, bool is_open)
{
    json_t *properties = json_object();
    json_t *required = json_array();

    for (const struct field_rule *rule = NULL; (rule = rules_next(fields, rule));) {
        set(properties, rule->name, schema_of(rule, !rule->is_required));
        if (rule->is_required)
            (void)json_array_append_new(required, json_string(rule->name));
    }
    set(schema, "properties", properties);
    if (json_array_size(required) > 0)
        set(schema, "required", json_incref(required));
    json_decref(required);
    if (!is_open)
        set(schema, "additionalProperties", json_false());
}

/* Everything but the type. */
static void add_content(json_t *schema, const struct field_rule *rule, bool is_null_allowed)
{
    if (rule->choices)
        add_choices(schema, rule, is_null_allowed);
    else if (rule->types & RULE_TEXT)
        add_text(schema, rule);
    if (rule->types & (RULE_INTEGER | RULE_NUMBER))
        add_range(schema, rule);
    if (rule->types & RULE_LIST)
        add_list(schema, rule);
    if (rule->types & RULE_OBJECT && rule->fields)
        add_fields(schema, rule->fields, rule->is_open);
    else if (rule->types & RULE_OBJECT && rule->elements)
        add_map(schema, rule);
    if (rule->is_not_empty)
        set(schema, "minProperties", json_integer(1));
}

static void describe(json_t *schema, const struct field_rule *rule)
{
    cleanup_json json_t *fallback = NULL;
    struct error err = {0};

    if (rule->is_unused) {
        set(schema, "description", json_pack("s++", rule->help, "; has no effect: ", rule->reason));
        set(schema, "deprecated", json_true());
    } else if (rule->help) {
        set(schema, "description", json_string(rule->help));
    }
    if (rule->fallback &&
        doc_parse_json(rule->fallback, strlen(rule->fallback), SIZE_MAX, &fallback, &err) == 0)
        set(schema, "default", json_incref(fallback));
}

static json_t *schema_of(const struct field_rule *rule, bool is_null_allowed)
{
    json_t *schema = json_object();
    json_t *content = schema;

    describe(schema, rule);
    if (rule->is_forbidden) {
        /* Accepts only what counts as absent. */
        set(schema, "type", json_string("null"));
        return schema;
    }
    if (rule->types == RULE_ANY)
        return schema;
    /* "" and an object in place of a list are further alternatives. */
    if ((rule->is_empty_allowed && !(rule->types & RULE_TEXT)) || rule->is_single_allowed) {
        json_t *other = rule->is_single_allowed ? schema_of(rule->elements, false)
                                                : json_pack("{s:s}", "const", "");

        content = json_object();
        set(schema, "anyOf", json_pack("[oo]", content, other));
    }
    add_types(content, rule, is_null_allowed);
    add_content(content, rule, is_null_allowed);
    return schema;
}

json_t *schema_of_fields(const struct field_rule *fields)
{
    json_t *schema = json_pack("{s:s}", "type", "object");

    add_fields(schema, fields, false);
    return schema;
}

json_t *schema_document(const char *title, const struct field_rule *fields)
{
    json_t *schema = json_pack("{s:s,s:s}", "$schema", SCHEMA_DRAFT, "title", title);
    cleanup_json json_t *object = schema_of_fields(fields);

    (void)json_object_update(schema, object);
    return schema;
}

void schema_fix(json_t *schema, const char *property, const char *text)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *value = json_object_get(properties, property);
    json_t *required = json_object_get(schema, "required");

    (void)json_object_del(value, "type");
    set(value, "const", json_string(text));
    if (!required) {
        required = json_array();
        set(schema, "required", required);
    }
    (void)json_array_append_new(required, json_string(property));
}
