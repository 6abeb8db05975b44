/* SPDX-License-Identifier: Apache-2.0 */
/* The Manifests of a cluster: one for each module that it gets, and no others. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/manifest_name.h"
#include "deployer/lifecycle/manifest_object.h"
#include "deployer/lifecycle/names.h"

/* ---- Writes ---- */

static void forget_failed_write(struct module *module)
{
    if (!module->has_write_failed)
        return;
    module->has_write_failed = false;
    loop_timer_stop(&module->timer);
    module_succeeded(module);
}

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;

    module->call = NULL;
    if (err->kind == ERROR_NONE) {
        module->written_generation = module->sent_generation;
        forget_failed_write(module);
        if (kept_is_there(&module->manifest))
            kept_take_answer(&module->manifest, object);
        else
            module->is_awaited = true; /* the watch shows it */
    } else if (err->kind != ERROR_NOT_FOUND && err->kind != ERROR_CONFLICT) {
        module->has_write_failed = true;
        module_fail(module, err);
        return;
    }
    kyma_touch(module->kyma);
}

static void apply_manifest(struct kyma *kyma, const json_t *wanted, int64_t generation,
                           const char *reason)
{
    struct module *module = module_get(kyma, doc_text_or(wanted, "metadata.name", ""));

    /* A timer that runs for another reason is about the content that is replaced now. */
    if (module->call || module->is_awaited ||
        (module->has_write_failed && loop_timer_is_running(&module->timer)))
        return;
    module->sent_generation = generation;
    log_info("writing a Manifest", log_text("manifest", module->name), log_text("reason", reason),
             log_text("version", doc_text_or(wanted, "spec.version", "")));
    module->call =
        control_plane_write(sender_for_kyma(kyma), KUBE_APPLY, RESOURCE_MANIFESTS, module->name,
                            NULL, wanted, KYMA_FIELD_MANAGER, on_written, module);
}

static void delete_manifest(struct module *module, const json_t *manifest)
{
    if (module->call || !manifest || doc_text(manifest, "metadata.deletionTimestamp"))
        return;
    log_info("deleting a Manifest", log_text("manifest", module->name));
    module_write(module, KUBE_DELETE, NULL, NULL, NULL);
}

static void release_manifest(struct module *module, const json_t *manifest)
{
    cleanup_json json_t *body =
        json_pack("{s:{s:{s:s}}}", "metadata", "annotations", KYMA_ANNOTATION_UNMANAGED, "true");

    if (module->call || module_view_of(manifest).is_unmanaged)
        return;
    module_write(module, KUBE_PATCH_MERGE, NULL, body, KYMA_FIELD_MANAGER);
}

/* ---- Content ---- */

static enum module_answer inline_source(const json_t *descriptor, struct module_source *ret_source,
                                        struct error *err)
{
    cleanup_descriptor struct descriptor *parsed = NULL;
    const struct manifest none = {0};

    if (descriptor_from_doc(descriptor, &parsed, err) < 0 ||
        module_source_find(parsed, &none, ret_source, err) < 0)
        return MODULE_ANSWER_FAILED;
    return MODULE_ANSWER_KNOWN;
}

enum module_answer lifecycle_find_source(struct lifecycle *lifecycle,
                                         const struct module_choice *choice,
                                         struct module_source *inlined,
                                         const struct module_source **ret_source, struct error *err)
{
    const json_t *descriptor = doc_get(choice->template, "spec.descriptor");

    if (json_is_object(doc_member(descriptor, "component")) || doc_text(descriptor, "kind")) {
        *ret_source = inlined;
        return inline_source(descriptor, inlined, err);
    }
    if (!*choice->component) {
        (void)error_set(err, ERROR_INVALID,
                        "ModuleReleaseMeta %s/%s has no spec.ocmComponentName; set it",
                        lifecycle->options.namespace_name, choice->name);
        return MODULE_ANSWER_FAILED;
    }
    return module_store_source(lifecycle->store, choice->component, choice->version, ret_source,
                               err);
}

static void spoil(struct module_choice *choice, const char *message)
{
    choice->kind = CHOICE_FAIL;
    choice->has_state = true;
    choice->state = MODULE_ERROR;
    (void)snprintf(choice->message, sizeof(choice->message), "%.*s",
                   (int)sizeof(choice->message) - 1, message);
}

/* The status names a version and a template only when the Manifest has them: they decide whether an
 * update is a downgrade or needs a maintenance window, and whether the Manifest is written again
 * after a crash. */
static void describe_unwritten(struct module_choice *choice, const struct module *module,
                               const json_t *existing)
{
    const char *problem = module ? module->problem : NULL;

    if (problem && !existing) {
        spoil(choice, problem);
    } else if (choice->entry) {
        choice->kind = CHOICE_KEEP;
        choice->has_state = false;
        if (problem && module->has_write_failed) {
            spoil(choice, problem);
            choice->kind = CHOICE_KEEP;
        }
    }
}

/* The name of the Manifest is added to wanted, so that it stays. */
static void install(struct kyma *kyma, const json_t *object, struct module_choice *choice,
                    bool is_mandatory, json_t *wanted_names)
{
    struct lifecycle *lifecycle = kyma->lifecycle;
    cleanup_module_source struct module_source inlined = {0};
    const struct module_source *source = NULL;
    cleanup_free char *name = manifest_name(kyma->name, choice->component, choice->name);
    struct module *module = module_find(kyma, name);
    cleanup_json json_t *existing = module ? kept_get(&module->manifest) : NULL;
    cleanup_json json_t *wanted = NULL;
    const char *difference = NULL;
    int64_t generation = 0;
    struct error err = {0};
    enum module_answer answer = lifecycle_find_source(lifecycle, choice, &inlined, &source, &err);

    json_object_set_new(wanted_names, name, json_true());
    if (answer == MODULE_ANSWER_FAILED) {
        spoil(choice, err.text);
        return;
    }
    if (answer == MODULE_ANSWER_WAIT) {
        if (choice->entry) {
            choice->kind = CHOICE_KEEP;
            choice->has_state = false;
        }
        return;
    }
    generation = doc_integer_or(choice->template, "metadata.generation", 0);
    wanted =
        manifest_object(object, choice, is_mandatory, lifecycle->options.repository_name, source);
    difference =
        manifest_difference(existing, wanted, choice, module ? module->written_generation : 0);
    if (difference && !(existing && doc_text(existing, "metadata.deletionTimestamp")))
        apply_manifest(kyma, wanted, generation, difference);
    else if (!difference && module)
        forget_failed_write(module);
    if (difference)
        describe_unwritten(choice, module, existing);
}

/* ---- Mandatory modules ---- */

static void install_mandatory(struct kyma *kyma, const json_t *object, json_t *wanted_names)
{
    const struct lifecycle *lifecycle = kyma->lifecycle;
    const struct catalog catalog = {lifecycle->releases, lifecycle->templates,
                                    lifecycle->options.namespace_name};
    const char *name;
    json_t *release;

    doc_foreach(lifecycle->releases, name, release)
    {
        struct module_choice choice;

        if (!resolve_mandatory(&catalog, name, release, &choice))
            continue;
        if (!choice.template) { /* what is installed stays */
            cleanup_free char *kept = manifest_name(kyma->name, choice.component, name);

            json_object_set_new(wanted_names, kept, json_true());
            continue;
        }
        install(kyma, object, &choice, true, wanted_names);
        if (choice.kind == CHOICE_FAIL)
            log_debug("mandatory module cannot be installed", log_text("kyma", kyma->name),
                      log_text("module", name), log_text("error", choice.message));
    }
}

static void on_finalized(void *data, json_t *object, const struct error *err)
{
    struct lifecycle *lifecycle = data;

    if (err->kind == ERROR_NONE)
        (void)json_object_del(lifecycle->finalizing, doc_text_or(object, "metadata.name", ""));
    else
        (void)json_object_clear(lifecycle->finalizing);
}

void releases_finalize(struct lifecycle *lifecycle)
{
    const char *name;
    json_t *release;

    doc_foreach(lifecycle->releases, name, release)
    {
        bool is_deleting = doc_text(release, "metadata.deletionTimestamp") != NULL;
        bool is_wanted = !is_deleting || doc_member(lifecycle->mandatory_counts, name);
        const json_t *finalizers = doc_get(release, "metadata.finalizers");
        cleanup_json json_t *changed = json_array();
        cleanup_json json_t *body = NULL;
        bool has = false;
        size_t i;
        json_t *one;

        json_array_foreach(doc_writable(finalizers), i, one)
        {
            bool is_ours = strcmp(json_string_value(one), RELEASE_FINALIZER) == 0;

            has |= is_ours;
            if (!is_ours)
                json_array_append(changed, one);
        }
        if (has == is_wanted || (!has && !doc_get(release, "spec.mandatory")) ||
            json_object_get(lifecycle->finalizing, name))
            continue;
        if (is_wanted)
            json_array_append_new(changed, json_string(RELEASE_FINALIZER));
        body = json_pack("{s:{s:O, s:s}}", "metadata", "finalizers", changed, "resourceVersion",
                         doc_text_or(release, "metadata.resourceVersion", ""));
        json_object_set_new(lifecycle->finalizing, name, json_true());
        (void)control_plane_write(sender_for_all(lifecycle), KUBE_PATCH_MERGE, RESOURCE_RELEASES,
                                  name, NULL, body, KYMA_FIELD_MANAGER, on_finalized, lifecycle);
    }
}

/* ---- All of them ---- */

static const char *module_name_of(const json_t *manifest)
{
    const char *name =
        json_string_value(doc_member(doc_get(manifest, "metadata.labels"), KYMA_LABEL_MODULE_NAME));

    return name ? name : "";
}

static const struct module_choice *find_choice(const struct choices *choices, const char *name)
{
    for (size_t i = 0; i < choices->count; i++) {
        if (strcmp(choices->choices[i].name, name) == 0)
            return &choices->choices[i];
    }
    return NULL;
}

/* A Manifest that could not be written, and is not wanted any more. */
static void forget_unwritten(struct module *module)
{
    if (!kept_is_there(&module->manifest) && !module->call && !module->is_awaited)
        module_free(module);
}

/* Whatever is not chosen goes, whether or not the status has ever listed it. */
static void sort_out(struct module *module, const struct choices *choices,
                     const json_t *wanted_names)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    bool is_mandatory =
        doc_member(doc_get(manifest, "metadata.labels"), KYMA_LABEL_MANDATORY) != NULL;
    const struct module_choice *choice =
        is_mandatory ? NULL : find_choice(choices, module_name_of(manifest));

    if (doc_member(wanted_names, module->name))
        return;
    if (!manifest) {
        forget_unwritten(module);
        return;
    }
    if (!choice) {
        delete_manifest(module, manifest);
        return;
    }
    switch (choice->kind) {
    case CHOICE_INSTALL: /* of another component */
    case CHOICE_REVOKE:
    case CHOICE_REMOVE:
        delete_manifest(module, manifest);
        break;
    case CHOICE_RELEASE:
        release_manifest(module, manifest);
        break;
    case CHOICE_KEEP:
    case CHOICE_FAIL:
        break;
    }
}

void kyma_sync_manifests(struct kyma *kyma, const json_t *object, struct choices *choices)
{
    cleanup_json json_t *wanted_names = json_object();
    struct module *next = NULL;

    for (size_t i = 0; i < choices->count; i++) {
        if (choices->choices[i].kind == CHOICE_INSTALL)
            install(kyma, object, &choices->choices[i], false, wanted_names);
    }
    install_mandatory(kyma, object, wanted_names);
    for (struct module *module = kyma->modules; module; module = next) {
        next = module->next;
        sort_out(module, choices, wanted_names);
    }
}

void kyma_delete_manifests(struct kyma *kyma)
{
    struct module *next = NULL;

    for (struct module *module = kyma->modules; module; module = next) {
        cleanup_json json_t *manifest = kept_get(&module->manifest);

        next = module->next;
        delete_manifest(module, manifest);
        forget_unwritten(module);
    }
}
