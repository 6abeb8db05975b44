/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/provider.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/suggest.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/shared_rules.h"
#include "deployer/validation/validate.h"

enum { MODE_FILE = 0555 }; /* of the files of a script */

static const struct item_type *const types[] = {&ITEM_TYPE_CONTAINER, &ITEM_TYPE_SCRIPT,
                                                &ITEM_TYPE_HELM};

const struct field_rule PROVIDER_FIELDS[] = {
    {.name = "apiVersion",
     .types = RULE_TEXT,
     .is_checked_by_code = true,
     .help = "version of the provider configuration, by the type of the item"},
    {.name = "kind",
     .types = RULE_TEXT,
     .is_checked_by_code = true,
     .help = "always " KIND_PROVIDER_CONFIGURATION},
    {.name = "image",
     ROW_IMAGE,
     .help = "image reference with a tag or digest; default: from the Configuration"},
    {.name = "command", ROW_TEXT_LIST, .help = "replaces the entrypoint of the image"},
    {.name = "args", ROW_TEXT_LIST, .help = "arguments; default: those of the image"},
    {.name = "imagePullPolicy",
     .types = RULE_TEXT,
     .choices = PULL_POLICIES,
     .fallback = "\"IfNotPresent\"",
     .help = "when the image is pulled"},
    {.name = "registryPullSecrets",
     .types = RULE_LIST,
     .elements = &ELEMENT_PULL_SECRET,
     .max = VALIDATE_LIST_MAX,
     .help = "Secrets of the Landscaper cluster with registry credentials"},
    {.name = "env",
     .types = RULE_LIST,
     .elements = &ELEMENT_ENV,
     .max = VALIDATE_ENV_MAX,
     .help = "environment variables of main"},
    {.name = "resources",
     ROW_RESOURCES,
     .help = "requests and limits of main; default: from the Configuration"},
    {.name = "runtimeClassName",
     ROW_OBJECT_NAME,
     .is_empty_allowed = true,
     .help = "RuntimeClass; must not contradict the Configuration"},
    {.name = "nodeSelector",
     ROW_NODE_SELECTOR,
     .help = "labels of nodes, added to those of the Configuration"},
    {.name = "tolerations",
     ROW_TOLERATIONS,
     .help = "tolerations, added to those of the Configuration"},
    {.name = "importValues",
     .types = RULE_ANY,
     .help = "content of the file at " ENV_IMPORTS_PATH "; null is a value, too"},
    {.name = "componentDescriptor",
     .types = RULE_OBJECT,
     .fields = FIELDS_COMPONENT_DESCRIPTOR,
     .is_not_empty = true,
     .missing = "ref or inline",
     .help = "component whose descriptors main finds at " ENV_COMPONENT_DESCRIPTOR_PATH},
    {.name = "blueprint",
     .types = RULE_OBJECT,
     .fields = FIELDS_BLUEPRINT,
     .is_not_empty = true,
     .missing = "ref or inline",
     .help = "blueprint whose files main finds at " ENV_CONTENT_PATH},
    {.name = "continuousReconcile",
     .types = RULE_OBJECT,
     .fields = FIELDS_CONTINUOUS_RECONCILE,
     .help = "checked, but has no effect"},
    {.name = "terminationGracePeriodSeconds",
     .types = RULE_INTEGER,
     .min = 1,
     .max = INT32_MAX,
     .help = "how long main may run after SIGTERM; the Configuration has default and maximum"},
    RULES_END,
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
    if (found == &ITEM_TYPE_HELM)
        return deployer->is_helm_enabled ? found : NULL;
    return deployer->is_container_enabled ? found : NULL;
}

void run_spec_free(struct run_spec *run)
{
    if (!run)
        return;
    if (run->data)
        run->type->free_data(run->data);
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

void run_spec_add_file(struct run_spec *run, const char *name, const char *data, size_t size)
{
    run->files = xreallocarray(run->files, run->file_count + 1, sizeof(*run->files));
    run->files[run->file_count++] =
        (struct run_file){.name = xstrdup(name), .data = xmemdup(data, size + 1), .size = size};
}

/* Another type that has this field, or NULL. */
static const struct item_type *type_with(const struct item_type *type, const char *field)
{
    for (size_t i = 0; i < array_length(types); i++) {
        if (types[i] != type && rules_find(types[i]->fields, field))
            return types[i];
    }
    return NULL;
}

/* Says where fields of another type belong. */
static void explain_unknown(const struct item_type *type, size_t first, struct mistakes *mistakes)
{
    for (size_t i = first; i < mistakes->count; i++) {
        struct mistake *mistake = &mistakes->items[i];
        const struct item_type *other =
            mistake->kind == MISTAKE_UNKNOWN && !rules_find(type->fields, mistake->path)
                ? type_with(type, mistake->path)
                : NULL;

        if (!other)
            continue;
        free(mistake->text);
        mistake->text = xasprintf("unknown field; only items of type %s have it", other->type);
    }
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
    cleanup_json json_t *own = field_copy(fields, "nodeSelector");
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
    cleanup_json json_t *own = field_copy(fields, "tolerations");
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

    run->grace_seconds = field_integer(fields, key, deployer->grace_seconds);
    if (run->grace_seconds > deployer->max_grace_seconds)
        mistakes_add(fields->mistakes, MISTAKE_INVALID, key,
                     "%" PRId64 ": must not be above %" PRId64
                     " (pod.maxTerminationGracePeriodSeconds in the deployer's configuration)",
                     run->grace_seconds, deployer->max_grace_seconds);
}

static json_t *read_env(const struct fields *fields)
{
    static const char *const known[] = {"name", "value"};
    cleanup_json json_t *env = field_copy(fields, "env");
    json_t *clean = json_array();

    for (size_t i = 0; i < json_array_size(env); i++)
        (void)json_array_append_new(clean,
                                    pick(json_array_get(env, i), known, array_length(known)));
    return clean;
}

static void read_common(const struct fields *fields, const struct deployer_config *deployer,
                        struct run_spec *run)
{
    run->image = field_text_copy(fields, "image", NULL);
    run->command = field_text_list(fields, "command");
    run->args = field_text_list(fields, "args");
    run->image_pull_policy = field_text_copy(fields, "imagePullPolicy", NULL);
    run->env = read_env(fields);
    run->resources = field_copy(fields, "resources");
    if (!run->resources)
        run->resources = json_deep_copy(deployer->main_resources);
    read_runtime_class(fields, deployer, run);
    read_node_selector(fields, deployer, run);
    read_tolerations(fields, deployer, run);
    read_grace(fields, deployer, run);
    run->pull_secrets = field_copy(fields, "registryPullSecrets");
    if (!run->pull_secrets)
        run->pull_secrets = json_array();
    run->component_descriptor = field_copy(fields, "componentDescriptor");
    run->has_registry_access = run->component_descriptor != NULL;
    run->file_mode = MODE_FILE;
    run->blueprint = field_copy(fields, "blueprint");
    run->has_import_values = json_object_get(fields->object, "importValues");
}

/* What depends on more than one field, or on the deployer. */
static void check_relations(const struct fields *fields, const struct deployer_config *deployer,
                            struct run_spec *run)
{
    struct mistakes *mistakes = fields->mistakes;
    const json_t *descriptor = field_any(fields, "componentDescriptor");

    validate_env(field_any(fields, "env"), "env", mistakes);
    validate_resources(field_any(fields, "resources"), "resources", mistakes);
    validate_tolerations(field_any(fields, "tolerations"), "tolerations", mistakes);
    validate_component_descriptor(descriptor, "componentDescriptor", deployer->init.is_go_image,
                                  mistakes);
    validate_blueprint(field_any(fields, "blueprint"), "blueprint", descriptor, mistakes);
    run->is_continuous = validate_continuous_reconcile(field_any(fields, "continuousReconcile"),
                                                       "continuousReconcile", mistakes);
}

/* The part after the last '/', in which types differ. */
static const char *short_name(const char *type)
{
    const char *slash = strrchr(type, '/');

    return slash ? slash + 1 : type;
}

static void refuse_type(const char *type, struct mistakes *mistakes)
{
    static const char *const known[] = {DEPLOY_ITEM_TYPE_CONTAINER, DEPLOY_ITEM_TYPE_SCRIPT,
                                        DEPLOY_ITEM_TYPE_HELM, DEPLOY_ITEM_TYPE_MANIFEST};
    struct suggestion suggestion = {.given = short_name(type)};
    cleanup_buffer struct buffer list = {0};
    const char *meant = NULL;
    struct error err = {0};

    if (strcmp(type, DEPLOY_ITEM_TYPE_MANIFEST) == 0) {
        mistakes_add(mistakes, MISTAKE_INVALID, "spec.type",
                     "\"%s\": such items do not run as a pod; check them with 'longshore validate' "
                     "or 'longshore render', or create them in a cluster",
                     type);
        return;
    }
    buffer_init(&list, MISTAKES_TEXT_MAX);
    for (size_t i = 0; i < array_length(known); i++) {
        const char *separator = i == 0 ? "" : i + 1 < array_length(known) ? ", " : " or ";
        const char *name = short_name(known[i]);

        suggestion_offer(&suggestion, name);
        if (suggestion.best == name)
            meant = known[i];
        if (buffer_append_text(&list, &err, "%s%s", separator, known[i]) < 0)
            break;
    }
    mistakes_add(mistakes, MISTAKE_INVALID, "spec.type",
                 "\"%s\": unsupported type, must be %s%s%s%s", type, list.data,
                 meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

int run_spec_parse(const struct item *item, const struct deployer_config *deployer,
                   struct run_spec **ret_run, struct mistakes *mistakes)
{
    cleanup_run_spec struct run_spec *run = xcalloc(1, sizeof(*run));
    struct fields fields = {item->config, "", mistakes};
    size_t errors = mistakes->errors;
    size_t first = mistakes->count;

    run->type = item_type_find(item_effective_type(item));
    if (!run->type) {
        refuse_type(item_effective_type(item), mistakes);
        return -1;
    }
    if (!item->config) {
        mistakes_add(mistakes, MISTAKE_REQUIRED, "spec.config", "provider configuration missing");
        return -1;
    }
    check_kind(&fields, run->type);
    rules_check(item->config, run->type->fields, "", mistakes);
    explain_unknown(run->type, first, mistakes);
    run->is_delete = item->is_deleting;
    if (run->type->is_configuration_own)
        fields.object = NULL;
    read_common(&fields, deployer, run);
    check_relations(&fields, deployer, run);
    run->type->parse(item->config, deployer, run, mistakes);
    if (mistakes->errors > errors)
        return -1;
    *ret_run = steal(&run);
    return 0;
}
