/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore lifecycle plan KYMA`: what would change in a cluster. Decides by the functions of the
 * lifecycle manager, and lets the server of the cluster evaluate every write as a dry run. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "deployer/diff/print.h"
#include "deployer/exit_codes.h"
#include "deployer/lifecycle/manifest_name.h"
#include "deployer/lifecycle/manifest_object.h"
#include "deployer/lifecycle/names.h"
#include "deployer/module_plan/module_plan.h"
#include "deployer/module_plan/observe.h"
#include "deployer/module_plan/trial.h"

struct program {
    struct lifecycle lifecycle;
    struct observation seen;
    json_t *handled; /* names of Manifests that were planned or stay */
    json_t *modules; /* the plan: see docs/lifecycle.md */
    bool is_waiting; /* for content of modules */
};

/* ---- Connections ---- */

static void on_content(void *data, const char *component)
{
    struct program *program = data;

    (void)component;
    if (program->is_waiting)
        loop_stop(program->lifecycle.loop);
}

static int open_program(struct program *program, const struct lifecycle_values *values,
                        struct error *err)
{
    struct lifecycle *lifecycle = &program->lifecycle;

    program->handled = json_object();
    program->modules = json_array();
    return lifecycle_read_options(lifecycle, values, err) < 0 ||
                   loop_new(clock_system(), &lifecycle->loop, err) < 0 ||
                   lifecycle_open_clients(lifecycle, values->kubeconfig, on_content, program, err) <
                       0
               ? -1
               : 0;
}

static void close_program(struct program *program)
{
    struct lifecycle *lifecycle = &program->lifecycle;

    observation_done(&program->seen);
    lifecycle_close_clients(lifecycle);
    json_decref(lifecycle->releases);
    json_decref(lifecycle->templates);
    json_decref(program->handled);
    json_decref(program->modules);
}

/* ---- Modules ---- */

/* The entry of one module, borrowed from the plan. before and after: versions, "" for none. */
static json_t *add_entry(struct program *program, const char *module, const char *before,
                         const char *after)
{
    json_t *entry = json_pack("{s:s, s:s, s:s, s:s}", "name", module, "before", before, "after",
                              after, "result", "same");

    (void)json_array_append_new(program->modules, entry);
    return entry;
}

static void set_failure(json_t *entry, const char *text)
{
    doc_set_text(entry, "result", "failed");
    doc_set_text(entry, "error", text);
}

static void try_module(struct program *program, json_t *entry, const json_t *manifest,
                       const json_t *objects)
{
    const struct trial trial = {program->lifecycle.loop, program->seen.cluster,
                                program->lifecycle.options.namespace_name,
                                program->seen.lacks_namespace};
    json_t *document = NULL;
    struct error err = {0};

    if (trial_run(&trial, manifest, objects, &document, &err) < 0) {
        set_failure(entry, err.text);
        return;
    }
    doc_set_text(entry, "result", doc_text_or(document, "result", ""));
    (void)json_object_set_new(entry, "changes", document);
}

static int wait_for_content(struct program *program, struct error *err)
{
    int result = 0;

    program->is_waiting = true;
    result = loop_run(program->lifecycle.loop, err);
    program->is_waiting = false;
    return result;
}

/* The Manifest that the module would have, with the record of the one that it has. */
static int load_module(struct program *program, const struct module_choice *choice,
                       bool is_mandatory, json_t **ret_manifest, const json_t **ret_objects,
                       struct error *err)
{
    struct lifecycle *lifecycle = &program->lifecycle;
    cleanup_module_source struct module_source inlined = {0};
    const struct module_source *source = NULL;
    enum module_answer answer = MODULE_ANSWER_WAIT;
    const json_t *existing = NULL;

    while ((answer = lifecycle_find_source(lifecycle, choice, &inlined, &source, err)) ==
           MODULE_ANSWER_WAIT) {
        if (wait_for_content(program, err) < 0)
            return -1;
    }
    if (answer == MODULE_ANSWER_FAILED)
        return -1;
    *ret_manifest = manifest_object(program->seen.kyma, choice, is_mandatory,
                                    lifecycle->options.repository_name, source);
    existing = doc_member(program->seen.manifests, doc_text_or(*ret_manifest, "metadata.name", ""));
    if (doc_get(existing, "status.synced"))
        doc_set_new(*ret_manifest, "status.synced",
                    json_deep_copy(doc_get(existing, "status.synced")));
    while ((answer = module_store_objects(lifecycle->store, choice->component, source->digest,
                                          source->is_archive, ret_objects, err)) ==
           MODULE_ANSWER_WAIT) {
        if (wait_for_content(program, err) < 0)
            return -1;
    }
    return answer == MODULE_ANSWER_FAILED ? -1 : 0;
}

static void plan_install(struct program *program, const struct module_choice *choice,
                         bool is_mandatory)
{
    cleanup_free char *name = manifest_name(doc_text_or(program->seen.kyma, "metadata.name", ""),
                                            choice->component, choice->name);
    const json_t *existing = doc_member(program->seen.manifests, name);
    cleanup_json json_t *manifest = NULL;
    const json_t *objects = NULL;
    json_t *entry = add_entry(program, choice->name, doc_text_or(existing, "spec.version", ""),
                              choice->version);
    struct error err = {0};

    (void)json_object_set_new(program->handled, name, json_true());
    if (is_mandatory)
        doc_set_new(entry, "mandatory", json_true());
    if (load_module(program, choice, is_mandatory, &manifest, &objects, &err) < 0)
        set_failure(entry, err.text);
    else
        try_module(program, entry, manifest, objects);
}

/* What stays as it is, with the reason. */
static void keep(struct program *program, const char *module, const char *manifest_name,
                 const char *note)
{
    json_t *entry = NULL;
    const char *name = NULL;
    const char *version = "";
    json_t *manifest = NULL;

    doc_foreach(program->seen.manifests, name, manifest)
    {
        const char *owner = json_string_value(
            doc_member(doc_get(manifest, "metadata.labels"), KYMA_LABEL_MODULE_NAME));

        if (manifest_name ? strcmp(name, manifest_name) != 0 : !owner || strcmp(owner, module) != 0)
            continue;
        (void)json_object_set_new(program->handled, name, json_true());
        version = doc_text_or(manifest, "spec.version", "");
    }
    entry = add_entry(program, module, version, version);
    doc_set_new(entry, "stays", json_true());
    if (*note)
        doc_set_text(entry, "note", note);
}

static void plan_mandatory(struct program *program)
{
    const struct lifecycle *lifecycle = &program->lifecycle;
    const struct catalog catalog = {lifecycle->releases, lifecycle->templates,
                                    lifecycle->options.namespace_name};
    const char *name = NULL;
    json_t *release = NULL;

    doc_foreach(lifecycle->releases, name, release)
    {
        struct module_choice choice;
        cleanup_free char *manifest = NULL;

        if (!resolve_mandatory(&catalog, name, release, &choice))
            continue;
        manifest = manifest_name(doc_text_or(program->seen.kyma, "metadata.name", ""),
                                 choice.component, name);
        if (choice.template)
            plan_install(program, &choice, true);
        else
            keep(program, name, manifest, "its ModuleTemplate is missing in the catalog");
    }
}

/* Whatever is not chosen goes. */
static void plan_removals(struct program *program)
{
    const char *name = NULL;
    json_t *manifest = NULL;

    doc_foreach(program->seen.manifests, name, manifest)
    {
        const char *module = json_string_value(
            doc_member(doc_get(manifest, "metadata.labels"), KYMA_LABEL_MODULE_NAME));

        if (json_object_get(program->handled, name))
            continue;
        try_module(program,
                   add_entry(program, module ? module : name,
                             doc_text_or(manifest, "spec.version", ""), ""),
                   manifest, NULL);
    }
}

static void plan_all(struct program *program)
{
    const struct lifecycle *lifecycle = &program->lifecycle;
    const struct observation *seen = &program->seen;
    cleanup_choices struct choices choices = resolve_modules(&(struct resolve_input){
        .kyma = seen->kyma,
        .spec = doc_get(seen->remote ? seen->remote : seen->kyma, "spec"),
        .catalog = {lifecycle->releases, lifecycle->templates, lifecycle->options.namespace_name},
        .policy = lifecycle->policy,
        .now_unix_ms = clock_unix_ms(loop_clock(lifecycle->loop)),
        .window_least_ms = lifecycle->options.window_least_ms,
    });

    for (size_t i = 0; i < choices.count; i++) {
        const struct module_choice *choice = &choices.choices[i];

        if (choice->kind == CHOICE_INSTALL)
            plan_install(program, choice, false);
        else if (choice->kind != CHOICE_REMOVE && choice->kind != CHOICE_REVOKE)
            keep(program, choice->name, NULL,
                 choice->kind == CHOICE_RELEASE
                     ? "it is not managed; its objects are handed over to the user"
                     : choice->message);
    }
    plan_mandatory(program);
    plan_removals(program);
}

/* ---- Output ---- */

/* The worst result of all modules. */
static const char *result_of(const json_t *modules)
{
    const char *worst = "same";
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(modules), i, entry)
    {
        const char *result = doc_text_or(entry, "result", "");

        if (strcmp(result, "failed") == 0 || strcmp(worst, "same") == 0)
            worst = result;
    }
    return worst;
}

/* "module harbour: 1.0.0 -> 1.1.0": the version now and then; and what changes with it. */
static void print_module(const json_t *entry)
{
    const char *before = doc_text_or(entry, "before", ""), *after = doc_text_or(entry, "after", "");

    (void)printf("module %s: ", doc_text_or(entry, "name", ""));
    if (doc_bool_or(entry, "stays", false))
        (void)printf("stays as it is");
    else if (strcmp(before, after) == 0)
        (void)printf("%s", before);
    else
        (void)printf("%s -> %s", *before ? before : "not installed", *after ? after : "removed");
    (void)printf("%s\n", doc_bool_or(entry, "mandatory", false) ? " (mandatory)" : "");
    if (doc_text(entry, "note"))
        (void)printf("note: %s\n", doc_text(entry, "note"));
    if (doc_text(entry, "error"))
        (void)printf("failed     %s\n", doc_text(entry, "error"));
    if (doc_get(entry, "changes"))
        print_comparison(doc_get(entry, "changes"));
    (void)printf("\n");
}

static void print_plan(const struct program *program, const char *kyma, bool is_json)
{
    cleanup_free char *text = NULL;
    cleanup_json json_t *document = NULL;
    size_t i;
    json_t *entry;

    if (is_json) {
        document = json_pack("{s:s, s:s, s:O}", "kyma", kyma, "result", result_of(program->modules),
                             "modules", program->modules);
        text = doc_dump(document);
        (void)printf("%s\n", text);
        return;
    }
    json_array_foreach(program->modules, i, entry) print_module(entry);
}

static int run(const struct lifecycle_values *values, const char *kyma)
{
    struct program program = {0};
    struct error err = {0};
    const char *result = NULL;
    int code = EXIT_NOT_COMPARED;

    if (open_program(&program, values, &err) < 0 ||
        observe(&program.lifecycle, kyma, &program.seen, &err) < 0) {
        (void)fprintf(stderr, "longshore lifecycle plan: %s\n", err.text);
        code = err.kind == ERROR_INVALID ? EXIT_USAGE : EXIT_NOT_COMPARED;
    } else {
        plan_all(&program);
        print_plan(&program, kyma, strcmp(values->output, "json") == 0);
        result = result_of(program.modules);
        if (strcmp(result, "failed") != 0)
            code = strcmp(result, "different") == 0 ? EXIT_DIFFERENT : EXIT_SUCCESS;
    }
    close_program(&program);
    return fflush(stdout) == 0 ? code : EXIT_NOT_COMPARED;
}

int module_plan_main(int argc, char **argv)
{
    struct lifecycle_values values = {0};
    struct error err = {0};
    int first = 0;

    if (options_parse(&COMMAND_LIFECYCLE, argc, argv, &values, &first, &err) == 0 &&
        !values.is_help && argc - first != 2)
        (void)error_set(&err, ERROR_INVALID, "expected the name of one Kyma");
    if (err.kind != ERROR_NONE) {
        (void)fprintf(stderr, "longshore lifecycle plan: %s; see 'longshore lifecycle --help'\n",
                      err.text);
        return EXIT_USAGE;
    }
    if (values.is_help) {
        options_print_help(&COMMAND_LIFECYCLE, stdout);
        return EXIT_SUCCESS;
    }
    return run(&values, argv[first + 1]);
}
