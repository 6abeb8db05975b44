/* SPDX-License-Identifier: Apache-2.0 */
/* exports of a provider configuration. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/configuration_parts.h"

static void check_key(const struct fields *fields, const char *key)
{
    cleanup_free char *path = field_path(fields, "key");
    struct error err = {0};

    if (key && strpbrk(key, "[]"))
        mistakes_add(fields->mistakes, MISTAKE_INVALID, path,
                     "\"%s\": must be names with dots between them, without indexes", key);
    else if (key && export_key_check(key, &err) < 0)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, path, "%s", err.text);
}

/* Only an export with a fromResource needs them. */
static void check_required(const struct fields *fields, const char *key, const char *what)
{
    cleanup_free char *path = field_path(fields, key);
    const json_t *value = field_any(fields, key);

    if (!value || (json_is_string(value) && json_string_length(value) == 0))
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path, "%s", what);
}

static void read_object_ref(const struct fields *parent, struct export_rule *rule)
{
    cleanup_free char *path = NULL;
    struct fields fields = config_section(parent, "fromObjectRef", &path);

    if (!fields.object)
        return;
    rule->reference_api_version = config_text(&fields, "apiVersion");
    rule->reference_kind = config_text(&fields, "kind");
    rule->reference_path = config_path(&fields, "jsonPath", &rule->reference_path_text);
}

void value_export_done(struct value_export *export)
{
    free(export->key);
    free(export->path_text);
    jsonpath_free(export->path);
}

static void read_value_export(const struct fields *fields, struct manifest_config *config)
{
    struct value_export export = {.key = config_text(fields, "key")};
    size_t count = config->value_export_count + 1;

    check_required(fields, "key", "key of the exported value");
    check_required(fields, "jsonPath", "JSONPath of the value");
    check_key(fields, export.key);
    export.path = config_path(fields, "jsonPath", &export.path_text);
    if (!export.key || !export.path) { /* reported */
        value_export_done(&export);
        return;
    }
    config->value_exports =
        xreallocarray(config->value_exports, count, sizeof(*config->value_exports));
    config->value_exports[config->value_export_count++] = export;
}

static void read_export(const struct fields *fields, void *data)
{
    struct manifest_config *config = data;
    cleanup_free char *from_path = NULL;
    struct fields from = config_section(fields, "fromResource", &from_path);
    struct export_rule rule = {0};

    if (!from.object && config->has_value_exports) {
        if (!field_any(fields, "fromResource"))
            read_value_export(fields, config);
        return;
    }
    /* As with Go: an export without it is skipped. */
    if (!from.object) {
        if (!field_any(fields, "fromResource"))
            mistakes_add(fields->mistakes, MISTAKE_UNKNOWN, fields->path,
                         "has no effect: an export needs fromResource");
        return;
    }
    check_required(fields, "key", "key of the exported value");
    check_required(fields, "jsonPath", "JSONPath of the value");
    rule.key = config_text(fields, "key");
    check_key(fields, rule.key);
    rule.from = config_reference(&from);
    rule.path = config_path(fields, "jsonPath", &rule.path_text);
    read_object_ref(fields, &rule);
    rule.target_name = config_target_name(fields);
    config->exports =
        xreallocarray(config->exports, config->export_count + 1, sizeof(*config->exports));
    config->exports[config->export_count++] = rule;
}

/* The Go deployer requires it of this list only: in the other one the last element counts. */
static void check_unique_keys(const struct fields *root, const char *name)
{
    const json_t *list = field_any(root, name);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *key = doc_text(json_array_get(list, i), "key");
        cleanup_free char *path = xasprintf("%s[%zu].key", name, i);

        for (size_t j = 0; key && j < i; j++) {
            if (strcmp(doc_text_or(json_array_get(list, j), "key", ""), key) != 0)
                continue;
            mistakes_add(root->mistakes, MISTAKE_DUPLICATE, path, "\"%s\"", key);
            break;
        }
    }
}

void config_read_exports(const struct fields *root, struct manifest_config *config)
{
    cleanup_free char *path = NULL;
    struct fields fields = config_section(root, "exports", &path);

    if (config->has_value_exports) {
        config_each(root, "exportsFromManifests", read_export, config);
        check_unique_keys(root, "exportsFromManifests");
    }
    config_each(&fields, "exports", read_export, config);
}
