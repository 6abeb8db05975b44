/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/configuration.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/objects/configuration_parts.h"
#include "deployer/validation/validate.h"

void manifest_config_free(struct manifest_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->input_count; i++)
        free(config->sources[i]);
    for (size_t i = 0; i < config->check_count; i++)
        custom_check_done(&config->checks[i]);
    for (size_t i = 0; i < config->export_count; i++)
        export_rule_done(&config->exports[i]);
    for (size_t i = 0; i < config->group_count; i++)
        removal_group_done(&config->groups[i]);
    for (size_t i = 0; i < config->update_group_count; i++)
        removal_group_done(&config->update_groups[i]);
    for (size_t i = 0; i < config->value_export_count; i++)
        value_export_done(&config->value_exports[i]);
    free(config->value_exports);
    free(config->sources);
    free(config->inputs);
    free(config->checks);
    free(config->exports);
    free(config->groups);
    free(config->update_groups);
    json_decref(config->document);
    free(config);
}

/* ---- Manifests ---- */

static const json_t *read_annotations(const struct fields *fields, const char *key)
{
    const json_t *annotations = field_object(fields, key);

    return json_object_size(annotations) > 0 ? annotations : NULL;
}

static enum apply_policy read_policy(const struct fields *fields)
{
    const char *word = field_text(fields, "policy");
    enum apply_policy policy = POLICY_MANAGE;
    struct error err = {0};

    if (word && *word)
        (void)!policy_parse(word, &policy, &err); /* an unknown one was reported */
    return policy;
}

static void add_input(struct manifest_config *config, struct plan_input input, const char *source)
{
    size_t count = config->input_count + 1;

    config->inputs = xreallocarray(config->inputs, count, sizeof(*config->inputs));
    config->sources = xreallocarray(config->sources, count, sizeof(*config->sources));
    input.source = config->sources[count - 1] = xstrdup(source);
    config->inputs[count - 1] = input;
    config->input_count = count;
}

/* An empty object counts as a missing one. */
static bool check_manifest(const json_t *manifest, const char *path, struct mistakes *mistakes)
{
    if (!json_is_object(manifest))
        return false; /* reported */
    if (json_object_size(manifest) == 0)
        mistakes_add(mistakes, MISTAKE_REQUIRED, path, "the object to be applied");
    return json_object_size(manifest) > 0;
}

static void read_manifest(const struct fields *fields, void *data)
{
    struct manifest_config *config = data;
    cleanup_free char *path = field_path(fields, "manifest");
    struct plan_input input = {
        .manifest = json_object_get(fields->object, "manifest"),
        .policy = read_policy(fields),
        .annotate_before_create = read_annotations(fields, "annotateBeforeCreate"),
        .annotate_before_delete = read_annotations(fields, "annotateBeforeDelete"),
        .patch_after = field_object(fields, "patchAfterDeployment"),
        .patch_before_delete = field_object(fields, "patchBeforeDelete"),
    };

    if (check_manifest(input.manifest, path, fields->mistakes))
        add_input(config, input, path);
}

static void read_old_manifest(const struct fields *fields, void *data)
{
    if (check_manifest(fields->object, fields->path, fields->mistakes))
        add_input(data, (struct plan_input){.manifest = fields->object}, fields->path);
}

static void on_problem(void *data, const char *field, const char *message)
{
    mistakes_add(data, MISTAKE_INVALID, field, "%s", message);
}

/* ---- The document ---- */

/* Returns whether the document is of this kind; *ret_is_old: of v1alpha1. */
static bool check_kind(const struct fields *root, bool *ret_is_old)
{
    const char *api_version = field_text(root, "apiVersion");
    const char *kind = field_text(root, "kind");
    bool is_ok = true;

    *ret_is_old = api_version && strcmp(api_version, MANIFEST_API_VERSION_OLD) == 0;
    if (!*ret_is_old && (!api_version || strcmp(api_version, MANIFEST_API_VERSION) != 0)) {
        mistakes_add(root->mistakes, MISTAKE_TYPE, "apiVersion",
                     "\"%s\": must be " MANIFEST_API_VERSION " or " MANIFEST_API_VERSION_OLD,
                     api_version ? api_version : "");
        is_ok = false;
    }
    if (!kind || strcmp(kind, KIND_PROVIDER_CONFIGURATION) != 0) {
        mistakes_add(root->mistakes, MISTAKE_TYPE, "kind",
                     "\"%s\": must be " KIND_PROVIDER_CONFIGURATION, kind ? kind : "");
        is_ok = false;
    }
    return is_ok;
}

static void read_strategy(const struct fields *root, struct manifest_config *config)
{
    const char *word = field_text(root, "updateStrategy");
    struct error err = {0};

    config->strategy = STRATEGY_UPDATE;
    if (word && *word)
        (void)!strategy_parse(word, &config->strategy, &err); /* an unknown one was reported */
}

static void read_root(const struct fields *root, bool is_old, struct manifest_config *config)
{
    rules_check(root->object, is_old ? MANIFEST_OLD_FIELDS : MANIFEST_FIELDS, "", root->mistakes);
    read_strategy(root, config);
    config_each(root, "manifests", is_old ? read_old_manifest : read_manifest, config);
    (void)plan_check(config->inputs, config->input_count, on_problem, root->mistakes);
    config_read_readiness(root, config);
    config_read_exports(root, config);
    (void)validate_continuous_reconcile(field_any(root, "continuousReconcile"),
                                        "continuousReconcile", root->mistakes);
    config_read_watch(root, config);
    config_read_groups(root, "deletionGroups", &config->groups, &config->group_count);
    config_read_groups(root, "deletionGroupsDuringUpdate", &config->update_groups,
                       &config->update_group_count);
}

int manifest_config_parse(const json_t *document, struct manifest_config **ret_config,
                          struct mistakes *mistakes)
{
    cleanup_manifest_config struct manifest_config *config = xcalloc(1, sizeof(*config));
    const struct fields root = {document, "", mistakes};
    size_t errors = mistakes->errors;
    bool is_old = false;

    if (!json_is_object(document)) {
        mistakes_add_type(mistakes, "", "an object", document);
        return -1;
    }
    config->document = json_incref(doc_writable(document));
    if (!check_kind(&root, &is_old))
        return -1;
    read_root(&root, is_old, config);
    if (mistakes->errors > errors)
        return -1;
    *ret_config = steal(&config);
    return 0;
}

/* ---- Parts of it ---- */

struct manifest_config *manifest_config_for_chart(const json_t *document, struct mistakes *mistakes)
{
    struct manifest_config *config = xcalloc(1, sizeof(*config));
    const struct fields root = {document, "", mistakes};

    config->document = json_pack("[O]", document);
    config->has_value_exports = true;
    read_strategy(&root, config);
    config_read_readiness(&root, config);
    config_read_exports(&root, config);
    config_read_groups(&root, "deletionGroups", &config->groups, &config->group_count);
    config_read_groups(&root, "deletionGroupsDuringUpdate", &config->update_groups,
                       &config->update_group_count);
    return config;
}

void manifest_config_add(struct manifest_config *config, json_t *manifest, enum apply_policy policy,
                         const char *source)
{
    (void)json_array_append_new(config->document, manifest);
    add_input(config, (struct plan_input){.manifest = manifest, .policy = policy}, source);
}

struct manifest_config *manifest_config_for_deletion(const json_t *document, bool *ret_is_valid)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    const struct fields root = {json_is_object(document) ? document : NULL, "", &mistakes};
    struct manifest_config *config = xcalloc(1, sizeof(*config));

    rule_check(field_any(&root, "deletionGroups"), &MANIFEST_GROUPS_RULE, "deletionGroups",
               &mistakes);
    config_read_groups(&root, "deletionGroups", &config->groups, &config->group_count);
    *ret_is_valid = mistakes.errors == 0;
    if (*ret_is_valid)
        return config;
    manifest_config_free(config);
    return xcalloc(1, sizeof(*config));
}

static void add_target(json_t *names, const char *name)
{
    for (size_t i = 0; name && i < json_array_size(names); i++) {
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
            return;
    }
    if (name)
        (void)json_array_append_new(names, json_string(name));
}

static void add_group_targets(json_t *names, const struct removal_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_target(names, groups[i].target_name);
}

json_t *manifest_config_targets(const struct manifest_config *config, bool is_delete)
{
    json_t *names = json_array();

    if (is_delete) {
        add_group_targets(names, config->groups, config->group_count);
        return names;
    }
    for (size_t i = 0; i < config->check_count; i++) {
        const struct custom_check *check = &config->checks[i];

        if (check->is_disabled)
            continue;
        add_target(names, check->target_name);
        for (size_t j = 0; j < check->requirement_count; j++) {
            const struct check_value_from *from = check->requirements[j].value_from;

            add_target(names, from ? from->target_name : NULL);
        }
    }
    for (size_t i = 0; i < config->export_count; i++)
        add_target(names, config->exports[i].target_name);
    add_group_targets(names, config->update_groups, config->update_group_count);
    return names;
}

bool manifest_config_has_open_groups(const struct manifest_config *config)
{
    for (size_t i = 0; i < config->group_count; i++) {
        if (config->groups[i].type == REMOVAL_ALL || config->groups[i].type == REMOVAL_SELECTED)
            return true;
    }
    return false;
}
