/* SPDX-License-Identifier: Apache-2.0 */
/* readinessChecks of a provider configuration. */
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/configuration_parts.h"

/* ---- Requirements ---- */

/* values[] are objects with the one key "value". New reference. */
static json_t *read_values(const struct fields *fields)
{
    const json_t *list = field_array(fields, "values");
    cleanup_free char *path = field_path(fields, "values");
    json_t *values = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);
        json_t *value = json_object_get(element, "value");
        cleanup_free char *where = path_index(path, i);

        if (json_is_object(element) && !value)
            mistakes_add(fields->mistakes, MISTAKE_REQUIRED, where,
                         "value (an object with the key 'value')");
        else if (value)
            (void)json_array_append(values, value);
    }
    return values;
}

static struct check_value_from *read_value_from(const struct fields *parent)
{
    cleanup_free char *path = NULL;
    struct fields fields = config_section(parent, "valueFrom", &path);
    struct check_value_from *from = NULL;

    if (!fields.object)
        return NULL;
    from = xcalloc(1, sizeof(*from));
    from->ref = config_reference(&fields);
    from->path = config_path(&fields, "jsonPath", &from->path_text);
    from->target_name = config_target_name(&fields);
    return from;
}

/* The relation compares with something, so that values or valueFrom are needed. */
static bool is_comparison(enum requirement_operator relation)
{
    return relation != REQUIREMENT_EXISTS && relation != REQUIREMENT_MISSING;
}

static void check_values(const struct fields *fields, const struct check_requirement *requirement)
{
    cleanup_free char *values = field_path(fields, "values");
    cleanup_free char *from = field_path(fields, "valueFrom");
    size_t count = json_array_size(requirement->values);
    struct error err = {0};

    if (requirement->value_from && count > 0)
        mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, from, "must not be used with values");
    else if (requirement->value_from && !is_comparison(requirement->relation))
        mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, from,
                     "the operators exists and ! compare with nothing");
    if (requirement->value_from)
        return;
    if (requirement_check_count(requirement->relation, count, &err) < 0)
        mistakes_add(fields->mistakes, count == 0 ? MISTAKE_REQUIRED : MISTAKE_INVALID, values,
                     "%s", err.text);
}

static void read_requirement(const struct fields *fields, void *data)
{
    struct custom_check *check = data;
    cleanup_free char *word = config_text(fields, "operator");
    struct check_requirement *requirement = NULL;
    size_t errors = fields->mistakes->errors;
    struct error err = {0};

    check->requirements = xreallocarray(check->requirements, check->requirement_count + 1,
                                        sizeof(*check->requirements));
    requirement = &check->requirements[check->requirement_count++];
    *requirement = (struct check_requirement){0};
    requirement->path = config_path(fields, "jsonPath", &requirement->path_text);
    requirement->values = read_values(fields);
    requirement->value_from = read_value_from(fields);
    if (!word)
        return;
    if (requirement_parse_operator(word, &requirement->relation, &err) == 0 &&
        fields->mistakes->errors == errors)
        check_values(fields, requirement);
}

/* ---- Selectors ---- */

static void read_object(const struct fields *fields, void *data)
{
    struct custom_check *check = data;

    check->objects =
        xreallocarray(check->objects, check->object_count + 1, sizeof(*check->objects));
    check->objects[check->object_count++] = config_reference(fields);
}

static void read_label_selector(const struct fields *parent, struct custom_check *check)
{
    cleanup_free char *path = NULL;
    cleanup_free char *labels_path = NULL;
    struct fields fields = config_section(parent, "labelSelector", &path);
    const json_t *labels = NULL;

    if (!fields.object)
        return;
    check->label_api_version = config_text(&fields, "apiVersion");
    check->label_kind = config_text(&fields, "kind");
    labels = field_object(&fields, "matchLabels");
    labels_path = field_path(&fields, "matchLabels");
    if (json_object_size(labels) == 0)
        mistakes_add(fields.mistakes, MISTAKE_REQUIRED, labels_path, "at least one label");
    check->label_selector = label_selector_text(labels);
    check->label_namespaces = config_names(&fields, "namespaces");
    check->label_min = (size_t)field_integer(&fields, "min", 1);
}

/* ---- Checks ---- */

static void check_requirements(const struct fields *fields, const struct custom_check *check)
{
    cleanup_free char *path = field_path(fields, "requirements");

    if (check->is_default && check->requirement_count > 0)
        mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, path,
                     "the check has 'default: true', which replaces them");
    else if (!check->is_default && check->requirement_count == 0 &&
             json_array_size(field_any(fields, "requirements")) == 0)
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path, "at least one requirement");
}

static void read_check(const struct fields *fields, void *data)
{
    struct manifest_config *config = data;
    struct custom_check *check = NULL;

    config->checks =
        xreallocarray(config->checks, config->check_count + 1, sizeof(*config->checks));
    check = &config->checks[config->check_count++];
    *check = (struct custom_check){.label_min = 1};
    check->name = config_text(fields, "name");
    check->is_disabled = field_bool(fields, "disabled", false);
    check->is_default = field_bool(fields, "default", false);
    check->target_name = config_target_name(fields);
    config_each(fields, "resourceSelector", read_object, check);
    read_label_selector(fields, check);
    if (check->object_count == 0 && !field_any(fields, "labelSelector") &&
        json_array_size(field_any(fields, "resourceSelector")) == 0) {
        cleanup_free char *path = field_path(fields, "resourceSelector");

        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path,
                     "resourceSelector or labelSelector must select objects");
    }
    config_each(fields, "requirements", read_requirement, check);
    check_requirements(fields, check);
}

void config_read_readiness(const struct fields *root, struct manifest_config *config)
{
    cleanup_free char *path = NULL;
    struct fields fields = config_section(root, "readinessChecks", &path);

    config->is_default_check = !field_bool(&fields, "disableDefault", false);
    config->rules = field_bool(&fields, "strict", false) ? READINESS_STRICT : READINESS_DEFAULT;
    config_each(&fields, "custom", read_check, config);
}
