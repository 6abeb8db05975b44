/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/validate_object.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/suggest.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/kinds.h"
#include "deployer/item/provider.h"
#include "deployer/item/target.h"
#include "deployer/lifecycle/kinds.h"
#include "deployer/lifecycle/names.h"
#include "deployer/objects/configuration.h"
#include "deployer/offline/offline.h"
#include "deployer/pod/names.h"
#include "deployer/pod/run_objects.h"
#include "deployer/registrations/kinds.h"
#include "deployer/validation/validate.h"

/* What is being checked. */
struct subject {
    const struct object_check *check;
    const json_t *object;
    struct origin origin;
    const char *name; /* "DeployItem team/job" */
};

static void add(const struct subject *subject, const char *path, const char *text, bool is_warning)
{
    findings_add(subject->check->findings, subject->origin, subject->name, path, text, is_warning);
}

/* Adds the mistakes and returns whether there was no error. */
static bool add_mistakes(const struct subject *subject, const struct mistakes *mistakes)
{
    findings_add_mistakes(subject->check->findings, subject->origin, subject->name, mistakes);
    return mistakes->errors == 0;
}

static bool check_rules(const struct subject *subject, const struct field_rule *fields)
{
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    rules_check(subject->object, fields, "", &mistakes);
    return add_mistakes(subject, &mistakes);
}

/* ---- DeployItem ---- */

/* The target file that main would get if the Target is among the documents. Mistakes in the Target
 * are reported by check_target(). The caller frees. */
static char *target_file_of(const struct item *item, const struct bundle *bundle)
{
    const char *name = item_effective_target(item);
    const json_t *target =
        name ? bundle_find(bundle, KIND_TARGET, item->namespace_name, name) : NULL;
    const char *secret_name = target ? target_secret_name(target) : NULL;
    const json_t *secret =
        secret_name ? bundle_find(bundle, "Secret", item->namespace_name, secret_name) : NULL;
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    buffer_init(&content, BUNDLE_BYTES_MAX);
    if (!target || (secret_name && !secret) || target_content(target, secret, &content, &err) < 0)
        return target_document(NULL, "", 0);
    return target_document(target, content.data, content.size);
}

/* Creates the objects of a run, which fails if one exceeds a size limit. */
static void check_objects(const struct subject *subject, const struct item *item,
                          const struct run_spec *run)
{
    cleanup_wipe char *target_file = target_file_of(item, subject->check->bundle);
    cleanup_pod_objects struct pod_objects objects = {0};
    struct object_names names = {0};
    struct error err = {0};
    struct pod_request request = {
        .config = subject->check->config,
        .item = item,
        .run = run,
        .names = &names,
        .job = item->job,
        .operation = OPERATION_RECONCILE,
        .target_file = target_file,
        .target_file_size = strlen(target_file),
        .next_sequence = 1,
        .deadline_unix_ms = item->timeout_ms,
    };

    object_names_init(&names, item->namespace_name, item->name, item->job);
    request.export_name = names.host_export;
    if (pod_objects_make(&request, &objects, &err) < 0)
        add(subject, "spec.config", err.text, false);
    object_names_done(&names);
}

/* spec.config is an embedded resource, in which the API server requires both. */
static void check_embedded(const struct subject *subject, const char *key)
{
    cleanup_free char *path = xasprintf("spec.config.%s", key);
    const json_t *value = doc_get(subject->object, path);

    if (!value || json_is_null(value))
        add(subject, path, "Required value: the API server rejects items without it", false);
}

/* The image of an item without one is a matter of the deployer's configuration. */
static void check_image(const struct subject *subject, const struct item *item,
                        const struct run_spec *run)
{
    cleanup_free char *text = NULL;

    if (run->type != &ITEM_TYPE_CONTAINER || subject->check->is_config_given ||
        *doc_text_or(item->config, "image", ""))
        return;
    text = xasprintf("not set: main runs in the deployer's defaultImage, which is %s unless the "
                     "operator changed it; check with --config",
                     run->image);
    add(subject, "spec.config.image", text, true);
}

/* A Target of this name in another namespace is not found by the deployer. */
static void check_target_reference(const struct subject *subject, const struct item *item)
{
    const struct bundle *bundle = subject->check->bundle;
    const char *name = item_effective_target(item);
    const json_t *other = name ? bundle_find(bundle, KIND_TARGET, NULL, name) : NULL;
    cleanup_free char *text = NULL;

    if (!other || bundle_find(bundle, KIND_TARGET, item->namespace_name, name))
        return;
    text =
        xasprintf("target \"%s/%s\" not found in the files; \"%s/%s\" is in another namespace",
                  item->namespace_name, name, doc_text_or(other, "metadata.namespace", ""), name);
    add(subject, "spec.target.name", text, true);
}

/* Also for an item without a name, so that everything else is checked, too. */
static json_t *complete_copy(const json_t *object)
{
    json_t *complete = offline_complete(object);

    if (!*doc_text_or(complete, "metadata.name", ""))
        doc_set_text(complete, "metadata.name", "unnamed");
    return complete;
}

static void check_manifests(const struct item *item, struct mistakes *mistakes)
{
    cleanup_manifest_config struct manifest_config *config = NULL;

    if (!item->config)
        mistakes_add(mistakes, MISTAKE_REQUIRED, "", "provider configuration missing");
    else
        (void)!manifest_config_parse(item->config, &config, mistakes);
}

static void check_provider(const struct subject *subject, const struct item *item, bool is_alone)
{
    cleanup_run_spec struct run_spec *run = NULL;
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    if (strcmp(item_effective_type(item), DEPLOY_ITEM_TYPE_MANIFEST) == 0) {
        check_manifests(item, &mistakes);
    } else if (run_spec_parse(item, subject->check->config, &run, &mistakes) == 0 && !is_alone) {
        check_objects(subject, item, run);
        check_image(subject, item, run);
    }
    if (!is_alone)
        offline_complete_paths(&mistakes);
    (void)add_mistakes(subject, &mistakes);
}

static void check_item(const struct subject *subject)
{
    const json_t *config = doc_get(subject->object, "spec.config");
    cleanup_json json_t *complete = NULL;
    cleanup_item struct item *item = NULL;
    struct error err = {0};

    (void)check_rules(subject, ITEM_FIELDS);
    if (!doc_text(subject->object, "spec.type") ||
        (config && !json_is_null(config) && !json_is_object(config)))
        return; /* reported */
    complete = complete_copy(subject->object);
    if (item_parse(complete, &item, &err) < 0) {
        add(subject, "", err.text, false);
        return;
    }
    if (json_object_size(config) > 0) {
        check_embedded(subject, "apiVersion");
        check_embedded(subject, "kind");
    }
    check_target_reference(subject, item);
    check_provider(subject, item, false);
}

/* ---- ProviderConfiguration ---- */

static void check_provider_configuration(const struct subject *subject)
{
    const char *api_version = doc_text_or(subject->object, "apiVersion", "");
    const char *type = strcmp(api_version, MANIFEST_API_VERSION) == 0 ||
                               strcmp(api_version, MANIFEST_API_VERSION_OLD) == 0
                           ? DEPLOY_ITEM_TYPE_MANIFEST
                           : NULL;
    cleanup_json json_t *object = NULL;
    cleanup_item struct item *item = NULL;
    struct error err = {0};

    for (size_t i = 0; !type && item_type_at(i); i++) {
        if (strcmp(item_type_at(i)->api_version, api_version) == 0)
            type = item_type_at(i)->type;
    }
    if (!type) {
        add(subject, "apiVersion", "Invalid value: no item type has such a provider configuration",
            false);
        return;
    }
    object = json_pack("{s:{s:s,s:s},s:{s:s,s:O}}", "metadata", "name", "item", "namespace",
                       "default", "spec", "type", type, "config", subject->object);
    if (item_parse(object, &item, &err) == 0)
        check_provider(subject, item, true);
}

/* ---- Target, Context, Configuration ---- */

static void check_target(const struct subject *subject)
{
    const char *secret_name = target_secret_name(subject->object);
    const json_t *config = doc_get(subject->object, "spec.config");
    const json_t *secret =
        secret_name ? bundle_find(subject->check->bundle, "Secret",
                                  doc_text(subject->object, "metadata.namespace"), secret_name)
                    : NULL;
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    if (!check_rules(subject, TARGET_FIELDS))
        return;
    if (secret_name && config && !json_is_null(config))
        add(subject, "spec.config", "has no effect: secretRef takes precedence", true);
    if (secret_name && !secret)
        return; /* may exist in the cluster */
    buffer_init(&content, BUNDLE_BYTES_MAX);
    if (target_content(subject->object, secret, &content, &err) < 0 ||
        target_validate(content.data, content.size, &err) < 0)
        add(subject, secret_name ? "spec.secretRef" : "spec.config", err.text, false);
}

static void check_context(const struct subject *subject)
{
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    (void)check_rules(subject, CONTEXT_FIELDS);
    /* Only Landscaper reads it, which may know more types. */
    validate_repository_context(doc_member(subject->object, "repositoryContext"),
                                "repositoryContext", MISTAKE_UNKNOWN, &mistakes);
    (void)add_mistakes(subject, &mistakes);
}

static void check_configuration(const struct subject *subject)
{
    cleanup_config struct deployer_config *config = NULL;
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    (void)!config_parse(subject->object, &config, &mistakes);
    (void)add_mistakes(subject, &mistakes);
}

/* ---- kinds ---- */

static const struct checked_kind {
    const char *kind;
    void (*check)(const struct subject *subject);
    /* In place of check: finds everything in the document alone. Neither: not checked. */
    void (*find)(const json_t *object, struct mistakes *mistakes);
} kinds[] = {
    {KIND_DEPLOY_ITEM, check_item, NULL},
    {KIND_TARGET, check_target, NULL},
    {KIND_CONTEXT, check_context, NULL},
    {KIND_CONFIGURATION, check_configuration, NULL},
    {KIND_PROVIDER_CONFIGURATION, check_provider_configuration, NULL},
    {KIND_ENVIRONMENT, NULL, environment_check},
    {KIND_DEPLOYER_REGISTRATION, NULL, registration_check},
    {KIND_KYMA, NULL, kyma_check},
    {KIND_MODULE_TEMPLATE, NULL, module_template_check},
    {KIND_MODULE_RELEASE_META, NULL, module_release_meta_check},
    {KIND_MANIFEST, NULL, manifest_check},
    /* Used by items, but without rules of our own. */
    {"Secret", NULL, NULL},
    {"ConfigMap", NULL, NULL},
    /* Other kinds of Landscaper. */
    {KIND_INSTALLATION, NULL, NULL},
    {"Execution", NULL, NULL},
    {"DataObject", NULL, NULL},
    {"TargetSync", NULL, NULL},
    {"ComponentVersionOverwrites", NULL, NULL},
    {"LsHealthCheck", NULL, NULL},
    {"Blueprint", NULL, NULL},
    {"InstallationTemplate", NULL, NULL},
    {KIND_SYNC_OBJECT, NULL, NULL},
    {"CriticalProblems", NULL, NULL},
};

/* Whether objects of this API can be ones that we check: Landscaper's, the deployers', the
 * lifecycle manager's or the core API's (Secrets), or it is missing. The other versions of the
 * lifecycle manager's group belong to modules. */
static bool is_near(const char *api_version)
{
    return !*api_version || strstr(api_version, LANDSCAPER_GROUP) ||
           strcmp(api_version, KYMA_API_VERSION) == 0 || strcmp(api_version, "v1") == 0;
}

static void check_kind(const struct subject *subject, const struct checked_kind *kind)
{
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    if (kind->check)
        kind->check(subject);
    if (kind->find)
        kind->find(subject->object, &mistakes);
    (void)add_mistakes(subject, &mistakes);
}

static void check_unknown_kind(const struct subject *subject, const char *kind)
{
    const char *api_version = doc_text_or(subject->object, "apiVersion", "");
    struct suggestion suggestion = {.given = kind};
    cleanup_free char *text = NULL;

    for (size_t i = 0; i < array_length(kinds); i++)
        suggestion_offer(&suggestion, kinds[i].kind);
    if (!is_near(api_version) || (!suggestion.best && !strstr(api_version, LANDSCAPER_GROUP)))
        return; /* another API */
    text = xasprintf("Invalid value: \"%s\": unknown kind, expected %s%s%s%s", kind,
                     OBJECT_CHECK_KINDS, suggestion.best ? "; did you mean \"" : "",
                     suggestion.best ? suggestion.best : "", suggestion.best ? "\"?" : "");
    add(subject, "kind", text, false);
}

/* Environments and registrations have no namespace. */
char *object_title(const json_t *object)
{
    const char *kind = doc_text_or(object, "kind", "");
    const char *name = doc_text_or(object, "metadata.name", "");

    if (!*name)
        return xstrdup(kind);
    if (strcmp(kind, KIND_ENVIRONMENT) == 0 || strcmp(kind, KIND_DEPLOYER_REGISTRATION) == 0)
        return xasprintf("%s %s", kind, name);
    return xasprintf("%s %s/%s", kind, doc_text_or(object, "metadata.namespace", "default"), name);
}

const char *object_check(const struct object_check *check, const json_t *object,
                         struct origin origin)
{
    const char *kind = doc_text_or(object, "kind", "");
    cleanup_free char *title = object_title(object);
    const struct subject subject = {check, object, origin, title};

    for (size_t i = 0; i < array_length(kinds); i++) {
        if (strcmp(kinds[i].kind, kind) != 0)
            continue;
        check_kind(&subject, &kinds[i]);
        return kinds[i].check || kinds[i].find ? kinds[i].kind : NULL;
    }
    check_unknown_kind(&subject, kind);
    return NULL;
}
