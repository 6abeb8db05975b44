/* SPDX-License-Identifier: Apache-2.0 */
/* exports of a provider configuration. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/manifest/configuration_parts.h"

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

static void read_object_ref(const struct fields *parent, struct export_rule *rule)
{
    static const char *const known[] = {"apiVersion", "kind", "jsonPath", NULL};
    cleanup_free char *path = NULL;
    struct fields fields = config_section(parent, "fromObjectRef", known, &path);

    if (!fields.object)
        return;
    rule->reference_api_version =
        config_required(&fields, "apiVersion", "apiVersion of the object that is referred to");
    rule->reference_kind =
        config_required(&fields, "kind", "kind of the object that is referred to");
    rule->reference_path = config_path(&fields, "jsonPath", &rule->reference_path_text);
}

static void read_export(const struct fields *fields, void *data)
{
    struct manifest_config *config = data;
    cleanup_free char *from_path = NULL;
    struct fields from =
        config_section(fields, "fromResource", CONFIG_REFERENCE_FIELDS, &from_path);
    struct export_rule rule = {0};

    config_warn_unused(fields, "timeout", "the item's timeout applies");
    /* As with Go: an export without it is skipped. */
    if (!from.object) {
        if (!field_any(fields, "fromResource"))
            mistakes_add(fields->mistakes, MISTAKE_UNKNOWN, fields->path,
                         "has no effect: an export needs fromResource");
        return;
    }
    rule.key = config_required(fields, "key", "key of the exported value");
    check_key(fields, rule.key);
    rule.from = config_reference(&from);
    rule.path = config_path(fields, "jsonPath", &rule.path_text);
    read_object_ref(fields, &rule);
    rule.target_name = config_target_name(fields);
    config->exports =
        xreallocarray(config->exports, config->export_count + 1, sizeof(*config->exports));
    config->exports[config->export_count++] = rule;
}

void config_read_exports(const struct fields *root, struct manifest_config *config)
{
    static const char *const known[] = {"exports", "defaultTimeout", NULL};
    static const char *const export_known[] = {
        "key", "jsonPath", "fromResource", "fromObjectRef", "targetName", "timeout", NULL};
    cleanup_free char *path = NULL;
    struct fields fields = config_section(root, "exports", known, &path);

    config_each(&fields, "exports", export_known, read_export, config);
    config_warn_unused(&fields, "defaultTimeout", "the item's timeout applies");
}
