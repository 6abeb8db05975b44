/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/provider.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/validate.h"

static const struct item_type *const types[] = {&ITEM_TYPE_CONTAINER, &ITEM_TYPE_SCRIPT};

/* Fields of all types; struct item_type has those of one type. */
static const char *const common_fields[] = {
    "apiVersion",
    "kind",
    "image",
    "command",
    "args",
    "imagePullPolicy",
    "registryPullSecrets",
    "env",
    "resources",
    "runtimeClassName",
    "nodeSelector",
    "tolerations",
    "importValues",
    "componentDescriptor",
    "blueprint",
    "continuousReconcile",
    "terminationGracePeriodSeconds",
};

const struct item_type *item_type_at(size_t index)
{
    return index < array_length(types) ? types[index] : NULL;
}

const struct item_type *item_type_find(const char *type)
{
    for (size_t i = 0; i < array_length(types); i++) {
        if (strcmp(types[i]->type, type) == 0)
            return types[i];
    }
    return NULL;
}

const struct item_type *item_type_served(const struct deployer_config *deployer, const char *type)
{
    const struct item_type *found = item_type_find(type);

    if (found == &ITEM_TYPE_SCRIPT && !deployer->is_script_enabled)
        return NULL;
    return deployer->is_container_enabled ? found : NULL;
}

void run_spec_free(struct run_spec *run)
{
    if (!run)
        return;
    free(run->image);
    json_decref(run->command);
    json_decref(run->args);
    free(run->image_pull_policy);
    json_decref(run->env);
    json_decref(run->resources);
    free(run->runtime_class);
    json_decref(run->node_selector);
    json_decref(run->tolerations);
    json_decref(run->pull_secrets);
    json_decref(run->component_descriptor);
    json_decref(run->blueprint);
    json_decref(run->configuration);
    for (size_t i = 0; i < run->file_count; i++) {
        free(run->files[i].name);
        free(run->files[i].data);
    }
    free(run->files);
    free(run);
}

static void check_unknown(const json_t *config, const struct item_type *type,
                          struct mistakes *mistakes)
{
    const char *known[array_length(common_fields) + ITEM_TYPE_FIELDS_MAX + 1] = {0};
    size_t count = 0;

    for (size_t i = 0; i < array_length(common_fields); i++)
        known[count++] = common_fields[i];
    for (size_t i = 0; i < ITEM_TYPE_FIELDS_MAX && type->fields[i]; i++)
        known[count++] = type->fields[i];
    mistakes_add_unknown(mistakes, "", config, known);
}

static void check_kind(const struct fields *fields, const struct item_type *type)
{
    const char *api_version = field_text(fields, "apiVersion");
    const char *kind = field_text(fields, "kind");

    if (api_version && strcmp(api_version, type->api_version) != 0)
        mistakes_add(fields->mistakes, MISTAKE_TYPE, "apiVersion",
                     "\"%s\": a %s item has a provider configuration of %s", api_version,
                     type->type, type->api_version);
    if (kind && strcmp(kind, KIND_PROVIDER_CONFIGURATION) != 0)
        mistakes_add(fields->mistakes, MISTAKE_TYPE, "kind",
                     "\"%s\": must be " KIND_PROVIDER_CONFIGURATION, kind);
}

static json_t *checked_copy(const struct fields *fields, const char *key,
                            void (*check)(const json_t *value, const char *path,
                                          struct mistakes *mistakes))
{
    const json_t *value = field_any(fields, key);
    size_t errors = fields->mistakes->errors;

    check(value, key, fields->mistakes);
    return value && fields->mistakes->errors == errors ? json_deep_copy(value) : NULL;
}

/* A new object with only these fields, so that nothing else the user wrote reaches the pod. */
static json_t *pick(const json_t *object, const char *const *keys, size_t count)
{
    json_t *picked = json_object();

    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(object, keys[i]);

        if (value)
            (void)json_object_set(picked, keys[i], value);
    }
    return picked;
}

/* The operator's runtime class and nodes can be security settings (a sandbox, a dedicated pool): an
 * item can add to them, but not change them. */
static void read_runtime_class(const struct fields *fields, const struct deployer_config *deployer,
                               struct run_spec *run)
{
    const char *wanted = field_text(fields, "runtimeClassName");

    if (wanted && *wanted) {
        validate_object_name(field_any(fields, "runtimeClassName"), "runtimeClassName",
                             fields->mistakes);
        if (deployer->runtime_class && strcmp(deployer->runtime_class, wanted) != 0)
            mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, "runtimeClassName",
                         "the deployer's configuration sets \"%s\"", deployer->runtime_class);
    } else {
        wanted = deployer->runtime_class;
    }
    run->runtime_class = xstrdup_or_null(wanted);
}

static void read_node_selector(const struct fields *fields, const struct deployer_config *deployer,
                               struct run_spec *run)
{
    cleanup_json json_t *own = checked_copy(fields, "nodeSelector", validate_node_selector);
    json_t *merged = own ? json_incref(own) : json_object();
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(deployer->node_selector, key, value)
    {
        json_t *wanted = json_object_get(merged, key);
        cleanup_free char *path = path_member("nodeSelector", key);

        if (wanted && !json_equal(wanted, value))
            mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, path,
                         "the deployer's configuration sets \"%s\"", json_string_value(value));
        (void)json_object_set(merged, key, value);
    }
    if (json_object_size(merged) > 0)
        run->node_selector = json_incref(merged);
    json_decref(merged);
}

static void read_tolerations(const struct fields *fields, const struct deployer_config *deployer,
                             struct run_spec *run)
{
    static const char *const known[] = {"key", "operator", "value", "effect", "tolerationSeconds"};
    cleanup_json json_t *own = checked_copy(fields, "tolerations", validate_tolerations);
    json_t *all = deployer->tolerations ? json_deep_copy(deployer->tolerations) : json_array();

    for (size_t i = 0; i < json_array_size(own); i++)
        (void)json_array_append_new(all, pick(json_array_get(own, i), known, array_length(known)));
    if (json_array_size(all) > 0)
        run->tolerations = json_incref(all);
    json_decref(all);
}

static void read_grace(const struct fields *fields, const struct deployer_config *deployer,
                       struct run_spec *run)
{
    static const char key[] = "terminationGracePeriodSeconds";

    run->grace_seconds = field_integer(fields, key, deployer->grace_seconds, 1, INT32_MAX);
    if (run->grace_seconds > deployer->max_grace_seconds)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, key,
                     "%" PRId64 ": must not be above %" PRId64
                     " (pod.maxTerminationGracePeriodSeconds in the deployer's configuration)",
                     run->grace_seconds, deployer->max_grace_seconds);
}

static json_t *read_env(const struct fields *fields)
{
    static const char *const known[] = {"name", "value"};
    cleanup_json json_t *env = checked_copy(fields, "env", validate_env);
    json_t *clean = json_array();

    for (size_t i = 0; i < json_array_size(env); i++)
        (void)json_array_append_new(clean,
                                    pick(json_array_get(env, i), known, array_length(known)));
    return clean;
}

static void read_common(const struct fields *fields, const struct deployer_config *deployer,
                        struct run_spec *run)
{
    struct mistakes *mistakes = fields->mistakes;
    const json_t *blueprint = field_any(fields, "blueprint");

    run->image = field_text_copy(fields, "image", NULL);
    validate_image(run->image, "image", mistakes);
    run->command = field_text_list(fields, "command");
    run->args = field_text_list(fields, "args");
    validate_pull_policy(field_any(fields, "imagePullPolicy"), "imagePullPolicy", mistakes);
    run->image_pull_policy = field_text_copy(fields, "imagePullPolicy", NULL);
    run->env = read_env(fields);
    run->resources = checked_copy(fields, "resources", validate_resources);
    if (!run->resources)
        run->resources = json_deep_copy(deployer->main_resources);
    read_runtime_class(fields, deployer, run);
    read_node_selector(fields, deployer, run);
    read_tolerations(fields, deployer, run);
    read_grace(fields, deployer, run);
    run->pull_secrets = checked_copy(fields, "registryPullSecrets", validate_pull_secrets);
    if (!run->pull_secrets)
        run->pull_secrets = json_array();
    run->component_descriptor =
        checked_copy(fields, "componentDescriptor", validate_component_descriptor);
    validate_blueprint(blueprint, "blueprint", field_any(fields, "componentDescriptor"), mistakes);
    run->blueprint = blueprint ? json_deep_copy(blueprint) : NULL;
    run->has_import_values = json_object_get(fields->object, "importValues");
    run->is_continuous = validate_continuous_reconcile(field_any(fields, "continuousReconcile"),
                                                       "continuousReconcile", mistakes);
}

int run_spec_parse(const struct item *item, const struct deployer_config *deployer,
                   struct run_spec **ret_run, struct mistakes *mistakes)
{
    cleanup_run_spec struct run_spec *run = xcalloc(1, sizeof(*run));
    const struct fields fields = {item->config, "", mistakes};
    size_t errors = mistakes->errors;

    run->type = item_type_find(item_effective_type(item));
    if (!run->type) {
        mistakes_add(mistakes, MISTAKE_INVALID, "spec.type",
                     "\"%s\": unsupported type, must be " DEPLOY_ITEM_TYPE_CONTAINER
                     ", " DEPLOY_ITEM_TYPE_SCRIPT " or " DEPLOY_ITEM_TYPE_MANIFEST,
                     item_effective_type(item));
        return -1;
    }
    if (!item->config) {
        mistakes_add(mistakes, MISTAKE_REQUIRED, "spec.config", "provider configuration missing");
        return -1;
    }
    check_kind(&fields, run->type);
    check_unknown(item->config, run->type, mistakes);
    read_common(&fields, deployer, run);
    run->type->parse(item->config, deployer, run, mistakes);
    if (mistakes->errors > errors)
        return -1;
    *ret_run = steal(&run);
    return 0;
}
