/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/rules.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/suggest.h"
#include "common/data/doc.h"

/* ---- tables ---- */

static const struct field_rule *skip_to_row(const struct field_rule *rule)
{
    while (!rule->name && rule->fields)
        rule = rule->fields;
    return rule->name ? rule : NULL;
}

const struct field_rule *rules_find(const struct field_rule *rules, const char *name)
{
    for (const struct field_rule *rule = skip_to_row(rules); rule; rule = skip_to_row(rule + 1)) {
        if (strcmp(rule->name, name) == 0)
            return rule;
    }
    return NULL;
}

const struct field_rule *rules_next(const struct field_rule *rules, const struct field_rule *last)
{
    const struct field_rule *rule = skip_to_row(last ? last + 1 : rules);

    while (rule && rules_find(rules, rule->name) != rule)
        rule = skip_to_row(rule + 1);
    return rule;
}

/* ---- places ---- */

/* A value in the document. Its path is only written if there is a mistake in it. */
struct spot {
    const struct spot *parent; /* NULL: key is the path itself */
    const char *key;           /* of a member; NULL: an element of a list */
    size_t index;
};

static char *spot_path(const struct spot *spot)
{
    cleanup_free char *parent = NULL;

    if (!spot->parent)
        return xstrdup(spot->key);
    parent = spot_path(spot->parent);
    return spot->key ? path_member(parent, spot->key) : path_index(parent, spot->index);
}

/* The same as mistakes_add(). */
#define add(mistakes_, kind_, spot_, ...)                                                          \
    do {                                                                                           \
        cleanup_free char *add_path = spot_path(spot_);                                            \
                                                                                                   \
        mistakes_add((mistakes_), (kind_), add_path, __VA_ARGS__);                                 \
    } while (0)

static void check_value(const json_t *value, const struct field_rule *rule, const struct spot *spot,
                        struct mistakes *mistakes);

/* ---- texts ---- */

static void add_choices(const struct field_rule *rule, const char *text, const struct spot *spot,
                        struct mistakes *mistakes)
{
    /* A single choice is named anyway. */
    const char *meant = rule->choices[1] ? suggest(text, rule->choices) : NULL;
    cleanup_buffer struct buffer list = {0};
    struct error err = {0};

    buffer_init(&list, MISTAKES_TEXT_MAX);
    for (size_t i = 0; rule->choices[i]; i++) {
        const char *separator = i == 0 ? "" : rule->choices[i + 1] ? ", " : " or ";

        if (buffer_append_text(&list, &err, "%s%s", separator, rule->choices[i]) < 0)
            break;
    }
    add(mistakes, MISTAKE_INVALID, spot, "\"%s\": must be %s%s%s%s", text,
        list.data ? list.data : "", meant ? "; did you mean \"" : "", meant ? meant : "",
        meant ? "\"?" : "");
}

static bool is_choice(const struct field_rule *rule, const char *text)
{
    for (size_t i = 0; rule->choices[i]; i++) {
        if (strcmp(rule->choices[i], text) == 0)
            return true;
    }
    return false;
}

static void check_text(const char *text, size_t size, const struct field_rule *rule,
                       const struct spot *spot, struct mistakes *mistakes)
{
    bool is_kib = rule->max % 1024 == 0;
    struct error err = {0};

    if (rule->choices && !is_choice(rule, text))
        add_choices(rule, text, spot, mistakes);
    else if (rule->max > 0 && size > (uint64_t)rule->max)
        add(mistakes, MISTAKE_TOO_LONG, spot, "must not exceed %" PRId64 " %s%s%s",
            is_kib ? rule->max / 1024 : rule->max, is_kib ? "KiB" : "bytes",
            rule->reason ? "; " : "", rule->reason ? rule->reason : "");
    else if (rule->format && rule->format->check(text, rule, &err) < 0)
        add(mistakes, MISTAKE_INVALID, spot, "%s", err.text);
}

/* ---- numbers ---- */

static void check_number(const json_t *value, const struct field_rule *rule,
                         const struct spot *spot, struct mistakes *mistakes)
{
    int64_t number = json_integer_value(value);

    if (rule->format) {
        cleanup_free char *text = doc_dump(value);

        check_text(text, strlen(text), rule, spot, mistakes);
    } else if (json_is_integer(value) && rule->max > 0 &&
               (number < rule->min || number > rule->max)) {
        add(mistakes, MISTAKE_INVALID, spot,
            "%" PRId64 ": must be between %" PRId64 " and %" PRId64, number, rule->min, rule->max);
    }
}

/* ---- lists and maps ---- */

static void check_list(const json_t *list, const struct field_rule *rule, const struct spot *spot,
                       struct mistakes *mistakes)
{
    if (rule->max > 0 && json_array_size(list) > (uint64_t)rule->max) {
        add(mistakes, MISTAKE_TOO_LONG, spot, "must not have more than %" PRId64 " elements",
            rule->max);
        return;
    }
    for (size_t i = 0; rule->elements && i < json_array_size(list); i++) {
        const struct spot element = {spot, NULL, i};

        check_value(json_array_get(list, i), rule->elements, &element, mistakes);
    }
}

static void check_map(const json_t *map, const struct field_rule *rule, const struct spot *spot,
                      struct mistakes *mistakes)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (rule->max > 0 && json_object_size(map) > (uint64_t)rule->max) {
        add(mistakes, MISTAKE_TOO_LONG, spot, "must not have more than %" PRId64 " elements",
            rule->max);
        return;
    }
    doc_foreach(map, key, value)
    {
        const struct spot element = {spot, key, 0};
        struct error err = {0};

        if (rule->keys && rule->keys->check(key, rule, &err) < 0)
            add(mistakes, MISTAKE_INVALID, &element, "%s", err.text);
        check_value(value, rule->elements, &element, mistakes);
    }
}

/* ---- objects ---- */

static void add_unknown(const json_t *object, const struct field_rule *rules, const char *others,
                        const struct spot *spot, struct mistakes *mistakes)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(object, key, value)
    {
        struct suggestion suggestion = {.given = key};
        const struct spot field = {spot, key, 0};

        if (json_is_null(value) || rules_find(rules, key))
            continue;
        for (const struct field_rule *rule = NULL; (rule = rules_next(rules, rule));)
            suggestion_offer(&suggestion, rule->name);
        add(mistakes, others ? MISTAKE_FORBIDDEN : MISTAKE_UNKNOWN, &field, "%s%s%s%s",
            others ? others : "unknown field", suggestion.best ? "; did you mean \"" : "",
            suggestion.best ? suggestion.best : "", suggestion.best ? "\"?" : "");
    }
}

static const json_t *member(const json_t *object, const struct field_rule *rule)
{
    const json_t *value = json_object_get(object, rule->name);

    return json_is_null(value) ? NULL : value;
}

static void check_fields(const json_t *object, const struct field_rule *rules,
                         const struct spot *spot, struct mistakes *mistakes)
{
    for (const struct field_rule *rule = NULL; (rule = rules_next(rules, rule));) {
        const struct spot field = {spot, rule->name, 0};

        check_value(member(object, rule), rule, &field, mistakes);
    }
}

void rules_check(const json_t *object, const struct field_rule *rules, const char *path,
                 struct mistakes *mistakes)
{
    const struct spot spot = {NULL, path, 0};

    add_unknown(object, rules, NULL, &spot, mistakes);
    check_fields(object, rules, &spot, mistakes);
}

static bool has_field(const json_t *object, const struct field_rule *rules)
{
    for (const struct field_rule *rule = NULL; (rule = rules_next(rules, rule));) {
        if (member(object, rule))
            return true;
    }
    return false;
}

static void check_object(const json_t *object, const struct field_rule *rule,
                         const struct spot *spot, struct mistakes *mistakes)
{
    if (!rule->is_open)
        add_unknown(object, rule->fields, rule->others, spot, mistakes);
    check_fields(object, rule->fields, spot, mistakes);
    if (rule->is_not_empty && !has_field(object, rule->fields))
        add(mistakes, MISTAKE_REQUIRED, spot, "%s", rule->missing);
}

/* ---- values ---- */

static unsigned type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return RULE_TEXT;
    case JSON_TRUE:
    case JSON_FALSE:
        return RULE_BOOL;
    case JSON_INTEGER:
        return RULE_INTEGER | RULE_NUMBER;
    case JSON_REAL:
        return RULE_NUMBER;
    case JSON_OBJECT:
        return RULE_OBJECT;
    case JSON_ARRAY:
        return RULE_LIST;
    case JSON_NULL:
        break;
    }
    return 0;
}

static const char *expected_of(const struct field_rule *rule)
{
    static const struct {
        unsigned types;
        const char *text;
    } texts[] = {
        {RULE_TEXT, "a string"},   {RULE_BOOL, "true or false"}, {RULE_INTEGER, "an integer"},
        {RULE_NUMBER, "a number"}, {RULE_OBJECT, "an object"},   {RULE_LIST, "a list"},
    };

    if (rule->expected)
        return rule->expected;
    for (size_t i = 0; i < array_length(texts); i++) {
        if (rule->types == texts[i].types)
            return texts[i].text;
    }
    return "a value of another type";
}

static void check_content(const json_t *value, const struct field_rule *rule,
                          const struct spot *spot, struct mistakes *mistakes)
{
    if (rule->is_checked_by_code)
        return;
    if (json_is_string(value))
        check_text(json_string_value(value), json_string_length(value), rule, spot, mistakes);
    else if (json_is_number(value))
        check_number(value, rule, spot, mistakes);
    else if (json_is_array(value))
        check_list(value, rule, spot, mistakes);
    else if (json_is_object(value) && rule->fields)
        check_object(value, rule, spot, mistakes);
    else if (json_is_object(value) && rule->elements)
        check_map(value, rule, spot, mistakes);
}

static void check_value(const json_t *value, const struct field_rule *rule, const struct spot *spot,
                        struct mistakes *mistakes)
{
    bool is_empty = json_is_string(value) && json_string_length(value) == 0;

    if (is_empty && rule->is_empty_allowed)
        return;
    if (rule->is_required && (!value || is_empty)) {
        add(mistakes, MISTAKE_REQUIRED, spot, "%s", rule->missing ? rule->missing : rule->help);
        return;
    }
    if (!value)
        return;
    if (rule->is_forbidden) {
        add(mistakes, MISTAKE_FORBIDDEN, spot, "%s", rule->reason);
        return;
    }
    if (rule->types != RULE_ANY && !(type_of(value) & rule->types) &&
        !(rule->is_single_allowed && json_is_object(value))) {
        add(mistakes, MISTAKE_TYPE, spot, "expected %s, got %s", expected_of(rule),
            doc_type_name(value));
        return;
    }
    check_content(value, rule, spot, mistakes);
    if (rule->is_unused)
        add(mistakes, MISTAKE_UNKNOWN, spot, "has no effect: %s", rule->reason);
}

void rule_check(const json_t *value, const struct field_rule *rule, const char *path,
                struct mistakes *mistakes)
{
    const struct spot spot = {NULL, path, 0};

    check_value(value, rule, &spot, mistakes);
}
