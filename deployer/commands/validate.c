/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore validate`: lists mistakes in DeployItems and what they refer to, and in
 * registrations of deployers and modules of clusters. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/commands/findings.h"
#include "deployer/commands/validate_graph.h"
#include "deployer/commands/validate_modules.h"
#include "deployer/commands/validate_object.h"
#include "deployer/item/bundle.h"
#include "deployer/offline/offline.h"

struct validation {
    struct bundle bundle;
    struct origin *origins; /* of the objects of the bundle */
    struct findings findings;
    json_t *checked; /* kind -> number of objects */
    size_t others;   /* objects that were not checked */
};

static void validation_done(struct validation *validation)
{
    bundle_done(&validation->bundle);
    free(validation->origins);
    findings_done(&validation->findings);
    json_decref(validation->checked);
}

/* ---- reading ---- */

static void add_document(struct validation *validation, size_t file, size_t document, json_t *doc)
{
    size_t before = json_array_size(validation->bundle.objects);
    bool is_list = strcmp(doc_text_or(doc, "kind", ""), "List") == 0;
    struct error err = {0};
    size_t after = 0;

    if (bundle_add_document(&validation->bundle, doc, &err) < 0)
        findings_add(&validation->findings, (struct origin){file, document, -1}, "", "", err.text,
                     false);
    after = json_array_size(validation->bundle.objects);
    validation->origins =
        xreallocarray(validation->origins, after + 1, sizeof(*validation->origins));
    for (size_t i = before; i < after; i++)
        validation->origins[i] = (struct origin){file, document, is_list ? (long)(i - before) : -1};
}

static void read_file(struct validation *validation, const char *path)
{
    size_t file = validation->findings.file_count;
    bool is_standard_input = strcmp(path, "-") == 0;
    struct buffer *text = findings_add_file(
        &validation->findings, is_standard_input ? "standard input" : path, BUNDLE_BYTES_MAX);
    cleanup_json json_t *docs = NULL;
    struct error err = {0};
    int result = is_standard_input ? file_read_all(STDIN_FILENO, "standard input", text, &err)
                                   : doc_read_file(path, BUNDLE_BYTES_MAX, text, &err);

    if (result < 0) {
        buffer_done(text);
        findings_add(&validation->findings, (struct origin){file, 0, -1}, "", "", err.text, false);
        return;
    }
    if (doc_parse_yaml_stream(text->data ? text->data : "", text->size, BUNDLE_BYTES_MAX, &docs,
                              &err) < 0) {
        findings_add_syntax(&validation->findings, file, err.text);
        return;
    }
    for (size_t i = 0; i < json_array_size(docs); i++)
        add_document(validation, file, i, json_array_get(docs, i));
}

/* ---- checking ---- */

static void check_all(struct validation *validation, const struct deployer_config *config,
                      bool is_config_given)
{
    const struct object_check check = {
        .config = config,
        .is_config_given = is_config_given,
        .bundle = &validation->bundle,
        .findings = &validation->findings,
    };

    for (size_t i = 0; i < json_array_size(validation->bundle.objects); i++) {
        const json_t *object = json_array_get(validation->bundle.objects, i);
        const char *kind = object_check(&check, object, validation->origins[i]);

        if (!kind) {
            validation->others++;
            continue;
        }
        (void)json_object_set_new(validation->checked, kind,
                                  json_integer(doc_integer_or(validation->checked, kind, 0) + 1));
    }
}

static size_t checked_count(const struct validation *validation)
{
    const char *kind = NULL;
    json_t *number = NULL;
    size_t count = 0;

    doc_foreach(validation->checked, kind, number)
    {
        count += (size_t)json_integer_value(number);
    }
    return count;
}

/* Files in which there is nothing to check are a mistake, unless another one explains it. */
static void check_not_empty(struct validation *validation)
{
    const char *kind = doc_text(json_array_get(validation->bundle.objects, 0), "kind");
    cleanup_free char *found = kind ? xasprintf("; found kind \"%s\"", kind) : xstrdup("");
    cleanup_free char *text = xasprintf("no %s in the files%s", OBJECT_CHECK_KINDS, found);

    if (checked_count(validation) == 0 && validation->findings.errors == 0)
        findings_add(&validation->findings, (struct origin){0, 0, -1}, "", "", text, false);
}

/* ---- output ---- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* "1 DeployItem, 2 Targets: 1 error, 0 warnings". */
static void print_summary(const struct validation *validation)
{
    const struct findings *findings = &validation->findings;
    const char *kind = NULL;
    json_t *number = NULL;
    const char *separator = "";

    doc_foreach(validation->checked, kind, number)
    {
        size_t count = (size_t)json_integer_value(number);

        (void)printf("%s%zu %s%s", separator, count, kind, plural(count));
        separator = ", ";
    }
    if (validation->others > 0) {
        (void)printf("%s%zu other object%s not checked", separator, validation->others,
                     plural(validation->others));
        separator = ", ";
    }
    if (findings->count == 0)
        (void)printf("%sno problems found\n", separator);
    else
        (void)printf("%s%zu error%s, %zu warning%s\n", *separator ? ": " : "", findings->errors,
                     plural(findings->errors), findings->warnings, plural(findings->warnings));
}

static void print_json(const struct validation *validation)
{
    const struct findings *findings = &validation->findings;
    cleanup_json json_t *doc = json_pack(
        "{s:o,s:I,s:I,s:I,s:I}", "findings", findings_json(findings), "objects",
        (json_int_t)checked_count(validation), "others", (json_int_t)validation->others, "errors",
        (json_int_t)findings->errors, "warnings", (json_int_t)findings->warnings);
    cleanup_free char *text = doc_dump(doc);

    (void)printf("%s\n", text);
}

static int run(const struct validate_values *values, int count, char **files)
{
    struct validation validation = {.findings.is_strict = values->is_strict,
                                    .checked = json_object()};
    cleanup_config struct deployer_config *config = NULL;
    struct error err = {0};
    bool has_errors = false;

    if (offline_config(values->config, &config, &err) < 0) {
        (void)fprintf(stderr, "longshore validate: %s\n", err.text);
        validation_done(&validation);
        return EXIT_USAGE;
    }
    bundle_init(&validation.bundle);
    for (int i = 0; i < count; i++)
        read_file(&validation, files[i]);
    check_all(&validation, config, values->config);
    graph_check(&validation.bundle, validation.origins, &validation.findings);
    modules_check(&validation.bundle, validation.origins, &validation.findings);
    check_not_empty(&validation);
    findings_locate(&validation.findings);
    if (strcmp(values->output, "json") == 0) {
        print_json(&validation);
    } else {
        findings_print(&validation.findings);
        print_summary(&validation);
    }
    has_errors = validation.findings.errors > 0;
    validation_done(&validation);
    return has_errors ? EXIT_USAGE : EXIT_SUCCESS;
}

int validate_main(int argc, char **argv)
{
    struct validate_values values = {0};
    struct error err = {0};
    int first = 0;
    int code = EXIT_SUCCESS;
    int result = options_parse(&COMMAND_VALIDATE, argc, argv, &values, &first, &err);

    if (result == 0 && values.is_help) {
        options_print_help(&COMMAND_VALIDATE, stdout);
        return EXIT_SUCCESS;
    }
    if (result == 0 && first == argc)
        result = error_set(&err, ERROR_INVALID, "no file given; see 'longshore validate --help'");
    if (result < 0) {
        (void)fprintf(stderr, "longshore validate: %s\n", err.text);
        return EXIT_USAGE;
    }
    code = run(&values, argc - first, argv + first);
    return fflush(stdout) == 0 ? code : EXIT_FAILURE;
}
