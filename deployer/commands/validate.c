/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore validate`: lists mistakes in DeployItems, Targets and Configurations. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/item/bundle.h"
#include "deployer/item/provider.h"
#include "deployer/item/target.h"
#include "deployer/manifest/configuration.h"
#include "deployer/offline/offline.h"
#include "deployer/validation/validate.h"

struct validation {
    const struct deployer_config *config;
    const char *file;
    json_t *findings; /* array of {file, object, path, message, severity} */
    size_t objects, errors, warnings;
};

static void add_finding(struct validation *validation, const char *object, const char *path,
                        const char *text, bool is_warning)
{
    json_t *finding =
        json_pack("{s:s,s:s,s:s,s:s,s:s}", "file", validation->file, "object", object, "path", path,
                  "message", text, "severity", is_warning ? "warning" : "error");

    (void)json_array_append_new(validation->findings, finding);
    *(is_warning ? &validation->warnings : &validation->errors) += 1;
}

static void add_mistakes(struct validation *validation, const char *object,
                         const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct mistake *mistake = &mistakes->items[i];

        add_finding(validation, object, mistake->path, mistake->text,
                    mistake->kind == MISTAKE_UNKNOWN);
    }
}

/* Checks that are the API server's in a cluster. */
static void check_object(struct validation *validation, const char *object, const json_t *doc)
{
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};
    const json_t *version = doc_member(doc, "apiVersion");
    const json_t *name = doc_get(doc, "metadata.name");

    if (!json_is_string(version) || strcmp(json_string_value(version), LANDSCAPER_API_VERSION) != 0)
        mistakes_add(&mistakes, MISTAKE_INVALID, "apiVersion",
                     "\"%s\": must be " LANDSCAPER_API_VERSION,
                     json_is_string(version) ? json_string_value(version) : "");
    if (name)
        validate_object_name(name, "metadata.name", &mistakes);
    add_mistakes(validation, object, &mistakes);
}

static void check_spec(struct validation *validation, const char *object, const json_t *doc)
{
    static const char *const root_known[] = {"apiVersion", "kind",   "metadata",
                                             "spec",       "status", NULL};
    static const char *const known[] = {
        "type", "target", "context", "config", "timeout", "onDelete", "updateOnChangeOnly", NULL};
    static const char *const target_known[] = {"name", "namespace", NULL};
    static const char *const delete_known[] = {"skipUninstallIfClusterRemoved", NULL};
    const json_t *spec = doc_member(doc, "spec");
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    mistakes_add_unknown(&mistakes, "", doc, root_known);
    mistakes_add_unknown(&mistakes, "spec", spec, known);
    mistakes_add_unknown(&mistakes, "spec.target", doc_member(spec, "target"), target_known);
    mistakes_add_unknown(&mistakes, "spec.onDelete", doc_member(spec, "onDelete"), delete_known);
    add_mistakes(validation, object, &mistakes);
}

/* The target file that main would get if the Target is among the documents. Mistakes in the Target
 * are reported by validate_target(). The caller frees. */
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
static void check_objects(struct validation *validation, const char *name, const struct item *item,
                          const struct run_spec *run, const struct bundle *bundle)
{
    cleanup_wipe char *target_file = target_file_of(item, bundle);
    cleanup_pod_objects struct pod_objects objects = {0};
    struct object_names names = {0};
    struct error err = {0};
    struct pod_request request = {
        .config = validation->config,
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
        add_finding(validation, name, "spec.config", err.text, false);
    object_names_done(&names);
}

static void validate_manifest_config(const struct item *item, struct mistakes *mistakes)
{
    cleanup_manifest_config struct manifest_config *config = NULL;

    if (!item->config)
        mistakes_add(mistakes, MISTAKE_REQUIRED, "", "provider configuration missing");
    else
        (void)!manifest_config_parse(item->config, &config, mistakes);
}

static void validate_item(struct validation *validation, const char *name, const json_t *object,
                          const struct bundle *bundle)
{
    cleanup_json json_t *complete = offline_complete(object);
    cleanup_item struct item *item = NULL;
    cleanup_run_spec struct run_spec *run = NULL;
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};
    struct error err = {0};

    check_object(validation, name, object);
    check_spec(validation, name, object);
    if (item_parse(complete, &item, &err) < 0) {
        add_finding(validation, name, "metadata", err.text, false);
        return;
    }
    add_mistakes(validation, name, &item->mistakes);
    if (!*item->type) /* reported by item_parse() */
        return;
    if (strcmp(item_effective_type(item), DEPLOY_ITEM_TYPE_MANIFEST) == 0)
        validate_manifest_config(item, &mistakes);
    else if (run_spec_parse(item, validation->config, &run, &mistakes) == 0)
        check_objects(validation, name, item, run, bundle);
    offline_complete_paths(&mistakes);
    add_mistakes(validation, name, &mistakes);
}

static void validate_target(struct validation *validation, const char *name, const json_t *target,
                            const struct bundle *bundle)
{
    const char *secret_name = target_secret_name(target);
    const json_t *secret =
        secret_name
            ? bundle_find(bundle, "Secret", doc_text(target, "metadata.namespace"), secret_name)
            : NULL;
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    check_object(validation, name, target);
    if (secret_name && !secret)
        return; /* may exist in the cluster */
    buffer_init(&content, BUNDLE_BYTES_MAX);
    if (target_content(target, secret, &content, &err) < 0 ||
        target_validate(content.data, content.size, &err) < 0)
        add_finding(validation, name, secret_name ? "spec.secretRef" : "spec.config", err.text,
                    false);
}

static void validate_configuration(struct validation *validation, const char *name,
                                   const json_t *object)
{
    cleanup_config struct deployer_config *config = NULL;
    cleanup_mistakes struct mistakes mistakes = {.is_unbounded = true};

    (void)!config_parse(object, &config, &mistakes);
    add_mistakes(validation, name, &mistakes);
}

static void validate_object(struct validation *validation, const json_t *object,
                            const struct bundle *bundle)
{
    const char *kind = doc_text_or(object, "kind", "");
    cleanup_free char *name =
        xasprintf("%s %s/%s", kind, doc_text_or(object, "metadata.namespace", "default"),
                  doc_text_or(object, "metadata.name", ""));

    if (strcmp(kind, KIND_DEPLOY_ITEM) == 0)
        validate_item(validation, name, object, bundle);
    else if (strcmp(kind, KIND_TARGET) == 0)
        validate_target(validation, name, object, bundle);
    else if (strcmp(kind, KIND_CONFIGURATION) == 0)
        validate_configuration(validation, kind, object);
    else
        return;
    validation->objects++;
}

static int validate_file(struct validation *validation, const char *path, struct error *err)
{
    cleanup_bundle struct bundle bundle = {0};
    size_t objects = validation->objects;

    bundle_init(&bundle);
    if (bundle_load(&bundle, path, err) < 0)
        return -1;
    validation->file = path;
    for (size_t i = 0; i < json_array_size(bundle.objects); i++)
        validate_object(validation, json_array_get(bundle.objects, i), &bundle);
    if (validation->objects == objects)
        return error_set(err, ERROR_INVALID,
                         "\"%s\" contains no " KIND_DEPLOY_ITEM ", " KIND_TARGET
                         " or " KIND_CONFIGURATION,
                         path);
    return 0;
}

static void print_text(const struct validation *validation)
{
    for (size_t i = 0; i < json_array_size(validation->findings); i++) {
        const json_t *finding = json_array_get(validation->findings, i);
        const char *path = doc_text_or(finding, "path", "");

        (void)printf("%s: %s: %s%s%s%s\n", doc_text(finding, "file"), doc_text(finding, "object"),
                     strcmp(doc_text(finding, "severity"), "warning") == 0 ? "warning: " : "", path,
                     *path ? ": " : "", doc_text(finding, "message"));
    }
}

static void print_json(const struct validation *validation)
{
    cleanup_json json_t *doc =
        json_pack("{s:O,s:I,s:I,s:I}", "findings", validation->findings, "objects",
                  (json_int_t)validation->objects, "errors", (json_int_t)validation->errors,
                  "warnings", (json_int_t)validation->warnings);
    cleanup_free char *text = doc_dump(doc);

    (void)printf("%s\n", text);
}

int validate_main(int argc, char **argv)
{
    struct validate_values values = {0};
    cleanup_config struct deployer_config *config = NULL;
    cleanup_json json_t *findings = json_array();
    struct validation validation = {.findings = findings};
    struct error err = {0};
    int first = 0;
    int result = options_parse(&COMMAND_VALIDATE, argc, argv, &values, &first, &err);

    if (result == 0 && values.is_help) {
        options_print_help(&COMMAND_VALIDATE, stdout);
        return EXIT_SUCCESS;
    }
    if (result == 0 && first == argc)
        result = error_set(&err, ERROR_INVALID, "no file given; see 'longshore validate --help'");
    if (result == 0)
        result = offline_config(values.config, &config, &err);
    validation.config = config;
    for (int i = first; result == 0 && i < argc; i++)
        result = validate_file(&validation, argv[i], &err);
    if (result == 0 && strcmp(values.output, "json") == 0)
        print_json(&validation);
    else
        print_text(&validation);
    if (result < 0)
        (void)fprintf(stderr, "longshore validate: %s\n", err.text);
    if (fflush(stdout) != 0)
        return EXIT_FAILURE;
    return result < 0 || validation.errors > 0 || (values.is_strict && validation.warnings > 0)
               ? EXIT_USAGE
               : EXIT_SUCCESS;
}
