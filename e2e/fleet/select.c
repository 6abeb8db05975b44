/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/select.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

enum operation { IS_IN, IS_NOT_IN, EXISTS, IS_MISSING };

struct requirement {
    enum operation operation;
    char *key;
    char **values;
    size_t value_count;
};

struct selection {
    struct requirement *labels;
    size_t label_count;
    struct requirement *fields;
    size_t field_count;
};

static void free_requirements(struct requirement *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < rows[i].value_count; k++)
            free(rows[i].values[k]);
        free((void *)rows[i].values);
        free(rows[i].key);
    }
    free(rows);
}

void selection_free(struct selection *selection)
{
    if (!selection)
        return;
    free_requirements(selection->labels, selection->label_count);
    free_requirements(selection->fields, selection->field_count);
    free(selection);
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static void add_value(struct requirement *requirement, const char *text, size_t size)
{
    requirement->values = (char **)xreallocarray((void *)requirement->values,
                                                 requirement->value_count + 1, sizeof(char *));
    requirement->values[requirement->value_count++] = xstrndup(text, size);
}

/* Reads "(a, b)"; NULL if it is something else. */
static const char *parse_values(struct requirement *requirement, const char *at)
{
    at = skip_blanks(at);
    if (*at++ != '(')
        return NULL;
    for (;;) {
        size_t size = 0;

        at = skip_blanks(at);
        size = strcspn(at, ",) \t");
        add_value(requirement, at, size);
        at = skip_blanks(at + size);
        if (*at == ')')
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static bool starts_with_word(const char *at, const char *word)
{
    size_t size = strlen(word);

    return strncmp(at, word, size) == 0 && strchr(" \t(", at[size]);
}

/* Reads what comes after the key; returns where it ends, or NULL. */
static const char *parse_operation(struct requirement *requirement, const char *at)
{
    size_t size = 0;

    at = skip_blanks(at);
    if (*at == ',' || *at == '\0') {
        requirement->operation = EXISTS;
        return at;
    }
    if (starts_with_word(at, "in") || starts_with_word(at, "notin")) {
        requirement->operation = *at == 'i' ? IS_IN : IS_NOT_IN;
        return parse_values(requirement, at + (*at == 'i' ? 2 : 5));
    }
    if (*at != '=' && strncmp(at, "!=", 2) != 0)
        return NULL;
    requirement->operation = *at == '=' ? IS_IN : IS_NOT_IN;
    at = skip_blanks(at + (at[1] == '=' ? 2 : 1));
    size = strcspn(at, ", \t");
    add_value(requirement, at, size);
    return skip_blanks(at + size);
}

static const char *parse_one(struct requirement *requirement, const char *at)
{
    size_t size = 0;

    at = skip_blanks(at);
    if (*at == '!') {
        requirement->operation = IS_MISSING;
        at = skip_blanks(at + 1);
        size = strcspn(at, ", \t");
        requirement->key = xstrndup(at, size);
        return size > 0 ? skip_blanks(at + size) : NULL;
    }
    size = strcspn(at, "=!, \t(");
    requirement->key = xstrndup(at, size);
    return size > 0 ? parse_operation(requirement, at + size) : NULL;
}

static int parse(const char *text, struct requirement **rows, size_t *count, struct error *err)
{
    const char *at = text ? skip_blanks(text) : "";

    while (*at) {
        *rows = xreallocarray(*rows, *count + 1, sizeof(**rows));
        (*rows)[*count] = (struct requirement){0};
        at = parse_one(&(*rows)[(*count)++], at);
        if (!at || (*at && *at != ','))
            return error_set(err, ERROR_INVALID, "unable to parse requirement: found \"%s\"",
                             at ? at : text);
        at += *at == ',';
    }
    return 0;
}

int selection_parse(const char *labels, const char *fields, struct selection **ret_selection,
                    struct error *err)
{
    cleanup_selection struct selection *selection = xcalloc(1, sizeof(*selection));

    if (parse(labels, &selection->labels, &selection->label_count, err) < 0 ||
        parse(fields, &selection->fields, &selection->field_count, err) < 0)
        return -1;
    for (size_t i = 0; i < selection->field_count; i++) {
        const struct requirement *row = &selection->fields[i];

        if ((strcmp(row->key, "metadata.name") != 0 &&
             strcmp(row->key, "metadata.namespace") != 0) ||
            row->value_count != 1)
            return error_set(err, ERROR_INVALID, "field label not supported: %s", row->key);
    }
    *ret_selection = steal(&selection);
    return 0;
}

static bool fits(const struct requirement *requirement, const char *value)
{
    bool is_listed = false;

    for (size_t i = 0; value && i < requirement->value_count; i++)
        is_listed = is_listed || strcmp(requirement->values[i], value) == 0;
    switch (requirement->operation) {
    case IS_IN:
        return is_listed;
    case IS_NOT_IN:
        return !is_listed;
    case EXISTS:
        return value != NULL;
    case IS_MISSING:
        return !value;
    }
    return false;
}

bool selection_matches(const struct selection *selection, const struct record *record)
{
    cleanup_json json_t *labels = NULL;

    if (!selection)
        return true;
    for (size_t i = 0; i < selection->field_count; i++) {
        const struct requirement *row = &selection->fields[i];
        bool is_name = strcmp(row->key, "metadata.name") == 0;

        if (!fits(row, (is_name ? record->name : record->namespace_name)->bytes))
            return false;
    }
    if (selection->label_count > 0)
        labels = record_metadata_json(record, "labels");
    for (size_t i = 0; i < selection->label_count; i++) {
        const char *value = json_string_value(doc_member(labels, selection->labels[i].key));

        if (!fits(&selection->labels[i], value))
            return false;
    }
    return true;
}

bool selection_is_empty(const struct selection *selection)
{
    return !selection || selection->label_count + selection->field_count == 0;
}
