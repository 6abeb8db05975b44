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
    bool is_waiting; /* for content of modules */
    bool has_changes, has_failures;
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
    cleanup_kube_config struct kube_config *config = NULL;
    struct registry_options registry = {0};

    if (lifecycle_read_options(lifecycle, values, err) < 0 ||
        loop_new(clock_system(), &lifecycle->loop, err) < 0 ||
        http_client_new(lifecycle->loop, LIFECYCLE_USER_AGENT, &lifecycle->http, err) < 0 ||
        kube_config_default(values->kubeconfig, &config, err) < 0)
        return -1;
    lifecycle->own_config = kube_config_copy(config);
    if (kube_new(lifecycle->loop, lifecycle->http, config, &lifecycle->kube, err) < 0)
        return -1;
    config = NULL;
    registry.keyring = lifecycle->keyring;
    if (registry_new(lifecycle->loop, lifecycle->http, &registry, &lifecycle->registry, err) < 0)
        return -1;
    lifecycle->pool = cluster_pool_new(lifecycle->loop, LIFECYCLE_USER_AGENT);
    lifecycle->store = module_store_new(&(struct module_store_options){
        .loop = lifecycle->loop,
        .registry = lifecycle->registry,
        .repository = lifecycle->repository,
        .on_change = on_content,
        .data = program,
    });
    program->handled = json_object();
    return 0;
}

static void close_program(struct program *program)
{
    struct lifecycle *lifecycle = &program->lifecycle;

    observation_done(&program->seen);
    module_store_free(lifecycle->store);
    registry_free(lifecycle->registry);
    cluster_pool_free(lifecycle->pool);
    kube_free(lifecycle->kube);
    kube_config_free(lifecycle->own_config);
    http_client_free(lifecycle->http);
    keyring_free(lifecycle->keyring);
    repository_free(lifecycle->repository);
    maintenance_free(lifecycle->policy);
    loop_free(lifecycle->loop);
    json_decref(lifecycle->releases);
    json_decref(lifecycle->templates);
    json_decref(program->handled);
}

/* ---- Modules ---- */

/* "harbour: 1.0.0 -> 1.1.0": the version now and then. */
static void print_versions(const char *module, const char *before, const char *after)
{
    (void)printf("module %s: %s", module, *before ? before : "not installed");
    if (strcmp(before, after) != 0)
        (void)printf(" -> %s", *after ? after : "removed");
    (void)printf("\n");
}

static void print_failure(struct program *program, const char *text)
{
    (void)printf("failed     %s\n\n", text);
    program->has_failures = true;
}

static void try_module(struct program *program, const json_t *manifest, const json_t *objects)
{
    const struct trial trial = {program->lifecycle.loop, program->seen.cluster,
                                program->lifecycle.options.namespace_name,
                                program->seen.lacks_namespace};
    cleanup_json json_t *document = NULL;
    struct error err = {0};
    const char *result = NULL;

    if (trial_run(&trial, manifest, objects, &document, &err) < 0) {
        print_failure(program, err.text);
        return;
    }
    print_comparison(document);
    (void)printf("\n");
    result = doc_text_or(document, "result", "");
    program->has_changes |= strcmp(result, "different") == 0;
    program->has_failures |= strcmp(result, "failed") == 0;
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
    struct error err = {0};

    (void)json_object_set_new(program->handled, name, json_true());
    print_versions(choice->name, doc_text_or(existing, "spec.version", ""), choice->version);
    if (load_module(program, choice, is_mandatory, &manifest, &objects, &err) < 0)
        print_failure(program, err.text);
    else
        try_module(program, manifest, objects);
}

static void plan_mandatory(struct program *program)
{
    const char *name = NULL;
    json_t *release = NULL;

    doc_foreach(program->lifecycle.releases, name, release)
    {
        const char *version = doc_text(release, "spec.mandatory.version");
        cleanup_free char *template = version ? xasprintf("%s-%s", name, version) : NULL;
        const struct module_choice choice = {
            .kind = CHOICE_INSTALL,
            .name = name,
            .channel = "",
            .version = version ? version : "",
            .component = doc_text_or(release, "spec.ocmComponentName", ""),
            .template = version ? doc_member(program->lifecycle.templates, template) : NULL,
        };

        if (choice.template && !doc_text(release, "metadata.deletionTimestamp"))
            plan_install(program, &choice, true);
    }
}

/* What a choice says about the Manifests of its module that exist. */
static void keep(struct program *program, const struct module_choice *choice)
{
    const char *name = NULL;
    json_t *manifest = NULL;

    doc_foreach(program->seen.manifests, name, manifest)
    {
        const char *module = json_string_value(
            doc_member(doc_get(manifest, "metadata.labels"), KYMA_LABEL_MODULE_NAME));

        if (module && strcmp(module, choice->name) == 0)
            (void)json_object_set_new(program->handled, name, json_true());
    }
    (void)printf("module %s: stays as it is\n", choice->name);
    if (choice->kind == CHOICE_RELEASE)
        (void)printf("note: it is not managed; its objects are handed over to the user\n");
    if (*choice->message)
        (void)printf("note: %s\n", choice->message);
    (void)printf("\n");
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
        print_versions(module ? module : name, doc_text_or(manifest, "spec.version", ""), "");
        try_module(program, manifest, NULL);
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
            keep(program, choice);
    }
    plan_mandatory(program);
    plan_removals(program);
}

static int run(const struct lifecycle_values *values, const char *kyma)
{
    struct program program = {0};
    struct error err = {0};
    int code = EXIT_NOT_COMPARED;

    if (open_program(&program, values, &err) < 0 ||
        observe(&program.lifecycle, kyma, &program.seen, &err) < 0) {
        (void)fprintf(stderr, "longshore lifecycle plan: %s\n", err.text);
        code = err.kind == ERROR_INVALID ? EXIT_USAGE : EXIT_NOT_COMPARED;
    } else {
        plan_all(&program);
        if (!program.has_failures)
            code = program.has_changes ? EXIT_DIFFERENT : EXIT_SUCCESS;
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
