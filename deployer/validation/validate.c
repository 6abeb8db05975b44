/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/validate.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/reference.h"
#include "deployer/validation/fields.h"

#define RESERVED_PREFIX "LONGSHORE_"

void validate_image(const char *image, const char *path, struct mistakes *mistakes)
{
    cleanup_reference struct reference *reference = NULL;
    struct error err = {0};

    if (image && *image && reference_parse(image, &reference, &err) < 0)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "%s", err.text);
}

void validate_pull_policy(const json_t *value, const char *path, struct mistakes *mistakes)
{
    const char *policy = json_string_value(value);

    if (!value)
        return;
    if (!policy)
        mistakes_add_type(mistakes, path, "a string", value);
    else if (strcmp(policy, "Always") != 0 && strcmp(policy, "IfNotPresent") != 0 &&
             strcmp(policy, "Never") != 0)
        mistakes_add(mistakes, MISTAKE_INVALID, path,
                     "\"%s\": must be Always, IfNotPresent or Never", policy);
}

bool validate_is_reserved_env(const char *name)
{
    static const char *const reserved[] = {
        ENV_IMPORTS_PATH,       ENV_EXPORTS_PATH,
        ENV_TARGET_PATH,        ENV_COMPONENT_DESCRIPTOR_PATH,
        ENV_CONTENT_PATH,       ENV_STATE_PATH,
        ENV_POD_NAME,           ENV_POD_NAMESPACE,
        ENV_CONFIGURATION_PATH, ENV_DEPLOY_ITEM_NAME,
        ENV_OPERATION,          ENV_DEPLOY_ITEM_NAMESPACE,
        ENV_EXPORT_PATH_OLD,    ENV_REGISTRY_SECRETS_DIR,
        ENV_STATE_OLD,          ENV_OCM_CONFIGURATION_PATH,
    };

    for (size_t i = 0; i < array_length(reserved); i++) {
        if (strcmp(reserved[i], name) == 0)
            return true;
    }
    return strncmp(name, RESERVED_PREFIX, strlen(RESERVED_PREFIX)) == 0;
}

static bool is_env_name(const char *name)
{
    if (!*name || isdigit((unsigned char)*name) || strlen(name) > NAME_MAX_SUBDOMAIN)
        return false;
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && !strchr("-._", *name))
            return false;
    }
    return true;
}

static void check_env_name(const json_t *list, size_t index, const char *name, const char *path,
                           struct mistakes *mistakes)
{
    if (!is_env_name(name)) {
        mistakes_add(mistakes, MISTAKE_INVALID, path,
                     "\"%s\": must be letters, digits, '_', '-' or '.', not starting with a digit",
                     name);
        return;
    }
    if (validate_is_reserved_env(name))
        mistakes_add(mistakes, MISTAKE_FORBIDDEN, path, "\"%s\" is set by the deployer", name);
    for (size_t i = 0; i < index; i++) {
        const char *other = doc_text(json_array_get(list, i), "name");

        if (other && strcmp(other, name) == 0) {
            mistakes_add(mistakes, MISTAKE_DUPLICATE, path, "\"%s\"", name);
            return;
        }
    }
}

static void check_env_entry(const json_t *list, size_t index, const char *path,
                            struct mistakes *mistakes)
{
    const json_t *entry = json_array_get(list, index);
    const struct fields fields = {entry, path, mistakes};
    cleanup_free char *name_path = field_path(&fields, "name");
    cleanup_free char *value_path = field_path(&fields, "value");
    cleanup_free char *from_path = field_path(&fields, "valueFrom");
    static const char *const known[] = {"name", "value", "valueFrom", NULL};
    const char *name = NULL;
    const char *value = NULL;

    if (!json_is_object(entry)) {
        mistakes_add_type(mistakes, path, "an object with name and value", entry);
        return;
    }
    mistakes_add_unknown(mistakes, path, entry, known);
    /* valueFrom could read any Secret of the host namespace. */
    if (field_any(&fields, "valueFrom"))
        mistakes_add(mistakes, MISTAKE_FORBIDDEN, from_path,
                     "values can't be taken from other objects; use importValues");
    name = field_text(&fields, "name");
    value = field_text(&fields, "value");
    if (name)
        check_env_name(list, index, name, name_path, mistakes);
    else if (!field_any(&fields, "name"))
        mistakes_add(mistakes, MISTAKE_REQUIRED, name_path, "name of the variable");
    if (value && strlen(value) > VALIDATE_ENV_VALUE_MAX)
        mistakes_add(mistakes, MISTAKE_TOO_LONG, value_path, "must not exceed %d bytes",
                     VALIDATE_ENV_VALUE_MAX);
}

/* Whether value is a list whose elements can be checked. */
static bool is_list(const json_t *value, const char *path, size_t max, struct mistakes *mistakes)
{
    if (!value)
        return false;
    if (!json_is_array(value)) {
        mistakes_add_type(mistakes, path, "a list", value);
        return false;
    }
    if (json_array_size(value) > max) {
        mistakes_add(mistakes, MISTAKE_TOO_LONG, path, "must not have more than %zu elements", max);
        return false;
    }
    return true;
}

void validate_env(const json_t *value, const char *path, struct mistakes *mistakes)
{
    if (!is_list(value, path, VALIDATE_ENV_MAX, mistakes))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        cleanup_free char *where = path_index(path, i);

        check_env_entry(value, i, where, mistakes);
    }
}

void validate_node_selector(const json_t *value, const char *path, struct mistakes *mistakes)
{
    const char *key = NULL;
    json_t *member = NULL;

    if (!value)
        return;
    if (!json_is_object(value)) {
        mistakes_add_type(mistakes, path, "an object", value);
        return;
    }
    json_object_foreach(field_each(value), key, member)
    {
        const char *label = json_string_value(member);
        cleanup_free char *where = path_member(path, key);

        if (!name_is_label_key(key))
            mistakes_add(mistakes, MISTAKE_INVALID, where, "\"%s\": must be a valid label key",
                         key);
        if (!label)
            mistakes_add_type(mistakes, where, "a string", member);
        else if (!name_is_label_value(label))
            mistakes_add(mistakes, MISTAKE_INVALID, where, "\"%s\": must be a valid label value",
                         label);
    }
}

/* The field must be absent, empty or one of the allowed values, which list names for people. */
static void check_choice(const struct fields *fields, const char *key, const char *const *allowed,
                         const char *list)
{
    const char *value = field_text(fields, key);
    cleanup_free char *path = NULL;

    if (!value || !*value)
        return;
    for (size_t i = 0; allowed[i]; i++) {
        if (strcmp(allowed[i], value) == 0)
            return;
    }
    path = field_path(fields, key);
    mistakes_add(fields->mistakes, MISTAKE_INVALID, path, "\"%s\": must be %s", value, list);
}

static void check_toleration(const struct fields *fields)
{
    static const char *const known[] = {"key",    "operator",          "value",
                                        "effect", "tolerationSeconds", NULL};
    static const char *const operators[] = {"Equal", "Exists", NULL};
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    const char *key = field_text(fields, "key");
    const char *value = field_text(fields, "value");
    const char *operator_word = field_text(fields, "operator");
    cleanup_free char *key_path = field_path(fields, "key");
    cleanup_free char *value_path = field_path(fields, "value");
    cleanup_free char *effect_path = field_path(fields, "effect");
    bool is_exists = operator_word && strcmp(operator_word, "Exists") == 0;

    mistakes_add_unknown(fields->mistakes, fields->path, fields->object, known);
    check_choice(fields, "operator", operators, "Equal or Exists");
    check_choice(fields, "effect", effects, "NoSchedule, PreferNoSchedule or NoExecute");
    (void)field_integer(fields, "tolerationSeconds", 0, INT64_MIN, INT64_MAX);
    if (field_any(fields, "tolerationSeconds") &&
        strcmp(doc_text_or(fields->object, "effect", ""), "NoExecute") != 0)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, effect_path,
                     "must be NoExecute where tolerationSeconds is set");
    if (key && *key && !name_is_label_key(key))
        mistakes_add(fields->mistakes, MISTAKE_INVALID, key_path,
                     "\"%s\": must be a valid label key", key);
    if ((!key || !*key) && !is_exists)
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, key_path,
                     "a toleration without a key needs the operator Exists");
    if (value && is_exists && *value)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, value_path,
                     "must be empty with the operator Exists");
    else if (value && !name_is_label_value(value))
        mistakes_add(fields->mistakes, MISTAKE_INVALID, value_path,
                     "\"%s\": must be a valid label value", value);
}

void validate_tolerations(const json_t *value, const char *path, struct mistakes *mistakes)
{
    if (!is_list(value, path, VALIDATE_LIST_MAX, mistakes))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        cleanup_free char *where = path_index(path, i);
        const struct fields fields = {json_array_get(value, i), where, mistakes};

        if (json_is_object(fields.object))
            check_toleration(&fields);
        else
            mistakes_add_type(mistakes, where, "an object", fields.object);
    }
}

void validate_name(const char *name, const char *path, struct mistakes *mistakes)
{
    if (name && !name_is_dns_subdomain(name))
        mistakes_add(mistakes, MISTAKE_INVALID, path,
                     "\"%s\": must be lower-case letters, digits, '-' and '.'", name);
}

void validate_object_name(const json_t *value, const char *path, struct mistakes *mistakes)
{
    if (value && !json_is_string(value))
        mistakes_add_type(mistakes, path, "a string", value);
    else
        validate_name(json_string_value(value), path, mistakes);
}

/* Part of a reference to a Secret. The messages are those of the Go deployer. */
static void check_name_part(const struct fields *fields, const char *key)
{
    const char *name = field_text(fields, key);
    cleanup_free char *path = field_path(fields, key);

    if (!name && field_any(fields, key))
        return; /* wrong type, already reported */
    if (!name || !*name)
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path, "%s must not be empty", key);
    else
        validate_object_name(field_any(fields, key), path, fields->mistakes);
}

void validate_pull_secrets(const json_t *value, const char *path, struct mistakes *mistakes)
{
    static const char *const known[] = {"name", "namespace", NULL};

    if (!is_list(value, path, VALIDATE_LIST_MAX, mistakes))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        cleanup_free char *where = path_index(path, i);
        const struct fields fields = {json_array_get(value, i), where, mistakes};

        if (!json_is_object(fields.object)) {
            mistakes_add_type(mistakes, where, "an object", fields.object);
            continue;
        }
        mistakes_add_unknown(mistakes, where, fields.object, known);
        check_name_part(&fields, "name");
        check_name_part(&fields, "namespace");
    }
}

static void require_text(const struct fields *fields, const char *key, const char *what)
{
    const char *text = field_text(fields, key);
    cleanup_free char *path = field_path(fields, key);

    if ((!text && !field_any(fields, key)) || (text && !*text))
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path, "%s", what);
}

void validate_component_descriptor(const json_t *value, const char *path, struct mistakes *mistakes)
{
    static const char *const known[] = {"ref", "inline", NULL};
    static const char *const ref_known[] = {"repositoryContext", "componentName", "version", NULL};
    const struct fields fields = {value, path, mistakes};
    cleanup_free char *ref_path = field_path(&fields, "ref");
    struct fields ref = {NULL, ref_path, mistakes};
    const json_t *inlined = NULL;

    if (!value)
        return;
    if (!json_is_object(value)) {
        mistakes_add_type(mistakes, path, "an object", value);
        return;
    }
    mistakes_add_unknown(mistakes, path, value, known);
    inlined = field_object(&fields, "inline");
    ref.object = field_object(&fields, "ref");
    if (!field_any(&fields, "inline") && !field_any(&fields, "ref"))
        mistakes_add(mistakes, MISTAKE_REQUIRED, path, "ref or inline");
    if (!ref.object)
        return;
    mistakes_add_unknown(mistakes, ref_path, ref.object, ref_known);
    (void)field_object(&ref, "repositoryContext");
    if (inlined)
        return; /* takes precedence over the reference */
    require_text(&ref, "componentName", "name of the component");
    require_text(&ref, "version", "version of the component");
}

static void validate_blueprint_files(const struct fields *inlined)
{
    const json_t *files = field_any(inlined, "filesystem");
    cleanup_free char *path = field_path(inlined, "filesystem");

    if (!files)
        mistakes_add(inlined->mistakes, MISTAKE_REQUIRED, path, "files of the blueprint");
    else if (!json_is_object(files) && !json_is_string(files))
        mistakes_add_type(inlined->mistakes, path, "an object of file names, or its text", files);
}

void validate_blueprint(const json_t *value, const char *path, bool has_descriptor,
                        struct mistakes *mistakes)
{
    static const char *const known[] = {"ref", "inline", NULL};
    static const char *const ref_known[] = {"resourceName", NULL};
    static const char *const inline_known[] = {"filesystem", NULL};
    const struct fields fields = {value, path, mistakes};
    cleanup_free char *ref_path = field_path(&fields, "ref");
    cleanup_free char *inline_path = field_path(&fields, "inline");
    struct fields ref = {NULL, ref_path, mistakes};
    struct fields inlined = {NULL, inline_path, mistakes};

    if (!value)
        return;
    if (!json_is_object(value)) {
        mistakes_add_type(mistakes, path, "an object", value);
        return;
    }
    mistakes_add_unknown(mistakes, path, value, known);
    ref.object = field_object(&fields, "ref");
    inlined.object = field_object(&fields, "inline");
    if (!field_any(&fields, "inline") && !field_any(&fields, "ref"))
        mistakes_add(mistakes, MISTAKE_REQUIRED, path, "ref or inline");
    mistakes_add_unknown(mistakes, ref_path, ref.object, ref_known);
    mistakes_add_unknown(mistakes, inline_path, inlined.object, inline_known);
    if (ref.object) {
        require_text(&ref, "resourceName", "name of the blueprint's resource");
        if (!has_descriptor)
            mistakes_add(mistakes, MISTAKE_REQUIRED, "componentDescriptor",
                         "needed because %s names a resource of the component", ref_path);
    }
    if (inlined.object)
        validate_blueprint_files(&inlined);
    if (ref.object && inlined.object)
        mistakes_add(mistakes, MISTAKE_UNKNOWN, ref_path, "has no effect: inline takes precedence");
}
