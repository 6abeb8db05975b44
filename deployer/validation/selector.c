/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/selector.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/shared_rules.h"

enum { SELECTOR_VALUES_ANY = 1 << 20 };

enum relation {
    RELATION_NEVER, /* invalid requirement: matches nothing */
    RELATION_EQUAL,
    RELATION_NOT_EQUAL,
    RELATION_IN,
    RELATION_NOT_IN,
    RELATION_EXISTS,
    RELATION_NOT_EXISTS,
    RELATION_GREATER,
    RELATION_LESS,
};

static const struct {
    const char *word;
    enum relation relation;
    size_t values_min, values_max;
} operators[] = {
    {"=", RELATION_EQUAL, 1, 1},
    {"==", RELATION_EQUAL, 1, 1},
    {"!=", RELATION_NOT_EQUAL, 1, 1},
    {"in", RELATION_IN, 1, SELECTOR_VALUES_ANY},
    {"notin", RELATION_NOT_IN, 1, SELECTOR_VALUES_ANY},
    {"exists", RELATION_EXISTS, 0, 0},
    {"!", RELATION_NOT_EXISTS, 0, 0},
    {"gt", RELATION_GREATER, 1, 1},
    {"lt", RELATION_LESS, 1, 1},
};

static const char *const operator_words[] = {"=",      "==", "!=", "in", "notin",
                                             "exists", "!",  "gt", "lt", NULL};

static const struct field_rule requirement_fields[] = {
    {.name = "key",
     .types = RULE_TEXT,
     .format = &FORMAT_LABEL_KEY,
     .is_required = true,
     .help = "key of the label or annotation"},
    {.name = "operator",
     .types = RULE_TEXT,
     .choices = operator_words,
     .is_required = true,
     .help = "how the value is compared",
     .missing = "one of =, ==, !=, in, notin, exists, !, gt, lt"},
    {.name = "values",
     .types = RULE_LIST,
     .elements = &ELEMENT_LABEL_VALUE,
     .is_empty_allowed = true,
     .expected = "a list of strings",
     .help = "values; none for exists and !"},
    RULES_END,
};

static const struct field_rule requirement_rule = {.types = RULE_OBJECT,
                                                   .fields = requirement_fields};

static const struct field_rule target_fields[] = {
    {.name = "name", .types = RULE_TEXT, .is_required = true, .help = "name of a target"},
    {.name = "namespace",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "namespace of the target; default: any"},
    RULES_END,
};

static const struct field_rule target_rule = {.types = RULE_OBJECT, .fields = target_fields};

/* Lists are checked element by element, so that an invalid element matches nothing. */
static const struct field_rule element_fields[] = {
    {.name = "targets",
     .types = RULE_LIST,
     .elements = &target_rule,
     .is_checked_by_code = true,
     .help = "matches one of these targets"},
    {.name = "annotations",
     .types = RULE_LIST,
     .elements = &requirement_rule,
     .is_checked_by_code = true,
     .help = "requirements on annotations of the target, all of which must hold"},
    {.name = "labels",
     .types = RULE_LIST,
     .elements = &requirement_rule,
     .is_checked_by_code = true,
     .help = "requirements on labels of the target, all of which must hold"},
    RULES_END,
};

const struct field_rule SELECTOR_ELEMENT = {.types = RULE_OBJECT, .fields = element_fields};

struct requirement {
    char *key;
    enum relation relation;
    json_t *values; /* array of strings */
};

struct requirements {
    struct requirement *items;
    size_t count;
};

struct target_name {
    char *name, *namespace_name; /* namespace "": any */
};

struct element {
    struct target_name *targets;
    size_t target_count;
    struct requirements annotations, labels;
};

struct selector {
    struct element *elements;
    size_t count;
};

static void requirements_done(struct requirements *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].key);
        json_decref(list->items[i].values);
    }
    free(list->items);
}

void selector_free(struct selector *selector)
{
    if (!selector)
        return;
    for (size_t i = 0; i < selector->count; i++) {
        struct element *element = &selector->elements[i];

        for (size_t j = 0; j < element->target_count; j++) {
            free(element->targets[j].name);
            free(element->targets[j].namespace_name);
        }
        free(element->targets);
        requirements_done(&element->annotations);
        requirements_done(&element->labels);
    }
    free(selector->elements);
    free(selector);
}

static void check_integers(const json_t *values, const char *path, struct mistakes *mistakes)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *value = json_string_value(json_array_get(values, i));
        cleanup_free char *where = path_index(path, i);
        int64_t number = 0;

        if (!number_parse_signed(value, &number))
            mistakes_add(mistakes, MISTAKE_INVALID, where, "\"%s\": must be an integer", value);
    }
}

static enum relation parse_operator(const struct fields *fields, const json_t *values)
{
    const char *word = field_text(fields, "operator");
    cleanup_free char *path = field_path(fields, "operator");
    size_t count = json_array_size(values);

    for (size_t i = 0; i < array_length(operators); i++) {
        if (!word || strcmp(operators[i].word, word) != 0)
            continue;
        if (count >= operators[i].values_min && count <= operators[i].values_max)
            return operators[i].relation;
        mistakes_add(fields->mistakes, MISTAKE_INVALID, path,
                     "\"%s\": needs %s in 'values', got %zu", word,
                     operators[i].values_max == 0   ? "nothing"
                     : operators[i].values_max == 1 ? "exactly one"
                                                    : "at least one",
                     count);
        return RELATION_NEVER;
    }
    return RELATION_NEVER;
}

static struct requirement parse_requirement(const json_t *object, const char *path,
                                            struct mistakes *mistakes)
{
    const struct fields fields = {json_is_object(object) ? object : NULL, path, mistakes};
    struct requirement requirement = {.relation = RELATION_NEVER};
    cleanup_free char *values_path = path_member(path, "values");
    size_t errors = mistakes->errors;

    rule_check(object, &requirement_rule, path, mistakes);
    requirement.values = field_text_list(&fields, "values");
    if (!requirement.values)
        requirement.values = json_array();
    requirement.key = field_text_copy(&fields, "key", "");
    requirement.relation = parse_operator(&fields, requirement.values);
    if (requirement.relation == RELATION_GREATER || requirement.relation == RELATION_LESS)
        check_integers(requirement.values, values_path, mistakes);
    if (mistakes->errors > errors)
        requirement.relation = RELATION_NEVER;
    return requirement;
}

static void parse_requirements(const struct fields *element, const char *key,
                               struct requirements *ret_list)
{
    const json_t *array = field_array(element, key);
    cleanup_free char *path = field_path(element, key);
    size_t count = json_array_size(array);

    /* An invalid list must not make the element match more. */
    if (!array && field_any(element, key)) {
        ret_list->items = xcalloc(1, sizeof(*ret_list->items));
        ret_list->items[0] = (struct requirement){xstrdup(""), RELATION_NEVER, json_array()};
        ret_list->count = 1;
        return;
    }
    ret_list->items = xcalloc(count + 1, sizeof(*ret_list->items));
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *where = path_index(path, i);

        ret_list->items[ret_list->count++] =
            parse_requirement(json_array_get(array, i), where, element->mistakes);
    }
}

static void parse_targets(const struct fields *element, struct element *ret_element)
{
    const json_t *array = field_array(element, "targets");
    cleanup_free char *path = field_path(element, "targets");
    size_t count = json_array_size(array);

    /* A name that no object can have, so that an invalid list does not match everything. */
    if (!array && field_any(element, "targets"))
        count = 1;
    ret_element->targets = xcalloc(count + 1, sizeof(*ret_element->targets));
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *where = path_index(path, i);
        const json_t *object = json_array_get(array, i);
        const struct fields fields = {json_is_object(object) ? object : NULL, where,
                                      element->mistakes};
        struct target_name *target = &ret_element->targets[ret_element->target_count++];

        target->name = field_text_copy(&fields, "name", "");
        target->namespace_name = field_text_copy(&fields, "namespace", "");
        if (array)
            rule_check(object, &target_rule, where, element->mistakes);
    }
}

static void parse_element(const json_t *object, const char *path, struct mistakes *mistakes,
                          struct element *ret_element)
{
    const struct fields fields = {object, path, mistakes};

    rule_check(object, &SELECTOR_ELEMENT, path, mistakes);
    if (!json_is_object(object)) {
        ret_element->labels.items = xcalloc(1, sizeof(*ret_element->labels.items));
        ret_element->labels.items[0] =
            (struct requirement){xstrdup(""), RELATION_NEVER, json_array()};
        ret_element->labels.count = 1;
        return;
    }
    parse_targets(&fields, ret_element);
    parse_requirements(&fields, "annotations", &ret_element->annotations);
    parse_requirements(&fields, "labels", &ret_element->labels);
}

struct selector *selector_parse(const json_t *list, const char *path, struct mistakes *mistakes)
{
    struct selector *selector = xcalloc(1, sizeof(*selector));

    if (!list || json_is_null(list))
        return selector;
    /* The documentation of the Go deployer shows a map where its code expects a list. */
    selector->count = json_is_array(list) ? json_array_size(list) : 1;
    selector->elements = xcalloc(selector->count + 1, sizeof(*selector->elements));
    for (size_t i = 0; i < selector->count; i++) {
        cleanup_free char *where = json_is_array(list) ? path_index(path, i) : xstrdup(path);

        parse_element(json_is_array(list) ? json_array_get(list, i) : list, where, mistakes,
                      &selector->elements[i]);
    }
    return selector;
}

static bool is_among(const json_t *values, const char *value)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (strcmp(json_string_value(json_array_get(values, i)), value) == 0)
            return true;
    }
    return false;
}

static bool compares(const struct requirement *requirement, const char *value)
{
    int64_t have = 0;
    int64_t limit = 0;

    if (!value || !number_parse_signed(value, &have) ||
        !number_parse_signed(json_string_value(json_array_get(requirement->values, 0)), &limit))
        return false;
    return requirement->relation == RELATION_GREATER ? have > limit : have < limit;
}

static bool requirement_holds(const struct requirement *requirement, const json_t *map)
{
    const char *value = json_string_value(json_object_get(map, requirement->key));

    switch (requirement->relation) {
    case RELATION_EQUAL:
    case RELATION_IN:
        return value && is_among(requirement->values, value);
    case RELATION_NOT_EQUAL:
    case RELATION_NOT_IN:
        return !value || !is_among(requirement->values, value);
    case RELATION_EXISTS:
        return value;
    case RELATION_NOT_EXISTS:
        return !value;
    case RELATION_GREATER:
    case RELATION_LESS:
        return compares(requirement, value);
    case RELATION_NEVER:
        break;
    }
    return false;
}

static bool requirements_hold(const struct requirements *list, const json_t *map)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!requirement_holds(&list->items[i], map))
            return false;
    }
    return true;
}

static bool is_named(const struct element *element, const json_t *target)
{
    const char *name = doc_text_or(target, "metadata.name", "");
    const char *namespace_name = doc_text_or(target, "metadata.namespace", "");

    for (size_t i = 0; i < element->target_count; i++) {
        const struct target_name *wanted = &element->targets[i];

        if (*wanted->name && strcmp(wanted->name, name) == 0 &&
            (!*wanted->namespace_name || strcmp(wanted->namespace_name, namespace_name) == 0))
            return true;
    }
    return element->target_count == 0;
}

bool selector_is_empty(const struct selector *selector)
{
    return selector->count == 0;
}

bool selector_matches(const struct selector *selector, const json_t *target)
{
    if (!target || selector_is_empty(selector))
        return true;
    for (size_t i = 0; i < selector->count; i++) {
        const struct element *element = &selector->elements[i];

        if (is_named(element, target) &&
            requirements_hold(&element->annotations, doc_get(target, "metadata.annotations")) &&
            requirements_hold(&element->labels, doc_get(target, "metadata.labels")))
            return true;
    }
    return false;
}
