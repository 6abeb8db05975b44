/* SPDX-License-Identifier: Apache-2.0 */
/* One Manifest: the next action, and the report. */
#include "deployer/lifecycle/manager.h"

#include <string.h>

#include "common/apply/merge.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manifest_status.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/synced.h"

/* ---- The end of work ---- */

static void end_work(struct module *module)
{
    kube_cancel(module->call);
    module->call = NULL;
    planning_cancel(module->planning);
    module->planning = NULL;
    apply_cancel(module->apply);
    module->apply = NULL;
    removal_cancel(module->removal);
    module->removal = NULL;
    cluster_lookup_cancel(module->lookup);
    module->lookup = NULL;
    plan_free(module->plan);
    plan_free(module->unchanged);
    module->plan = module->unchanged = NULL;
    kymas_give_slot(module);
    inventory_done(&module->inventory);
    module->inventory = (struct inventory){0};
    json_decref(module->list);
    module->list = NULL;
    module->next_entry = 0;
    json_decref(module->event);
    module->event = NULL;
    module->is_pruning = module->is_removing_last = false;
}

void module_stop(struct module *module)
{
    end_work(module);
    loop_timer_stop(&module->timer);
    loop_timer_stop(&module->removal_timer);
    kube_cancel(module->pods_call);
    module->pods_call = NULL;
    json_decref(module->workload);
    module->workload = NULL;
    cluster_unwatch(module->resource_interest);
    cluster_unwatch(module->resources_interest);
    module->resource_interest = module->resources_interest = NULL;
    json_decref(module->created_resource);
    module->created_resource = NULL;
    json_decref(module->resources);
    accepted_done(&module->accepted);
    json_decref(module->dirty);
    module->resources = module->dirty = NULL;
    module_set_applied(module, NULL);
    free(module->problem);
    free(module->problem_ref);
    free(module->work_ref);
    free(module->owner_text);
    module->owner_text = NULL;
    module->problem = module->problem_ref = module->work_ref = NULL;
    free(module->manager);
    free(module->resource);
    module->manager = module->resource = NULL;
    module->failure = FAILURE_NONE;
    module->is_resource_looked_at = false;
    module->is_watching = module->are_resources_known = module->is_resource_deleted = false;
    module->has_applied = false;
}

void module_succeeded(struct module *module)
{
    end_work(module);
    free(module->problem);
    module->problem = NULL;
    module->failure = FAILURE_NONE;
    retry_reset(&module->retry);
    kyma_touch(module->kyma);
}

void module_fail(struct module *module, const struct error *err)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    enum failure_class class = failure_classify(err);
    struct error copy = *err;
    uint32_t first_ms = 0, max_ms = 0;

    if (module->is_pruning)
        module_set_applied(module, NULL); /* so that what is left over is removed later */
    end_work(module);
    failure_delays(class, &first_ms, &max_ms);
    if (module->failure != class)
        retry_init(&module->retry, first_ms, max_ms);
    module->failure = class;
    if (copy.kind != ERROR_CANCELLED &&
        (!module->problem || strcmp(module->problem, copy.text) != 0)) {
        module->kyma->lifecycle->failures[class]++;
        module->kyma->lifecycle->module_failures++;
        log_error("module failed", log_text("manifest", module->name),
                  log_text("class", failure_name(class)), log_text("error", copy.text));
        free(module->problem);
        module->problem = xstrdup(copy.text);
    }
    free(module->problem_ref);
    module->problem_ref = xstrdup(doc_text_or(manifest, "spec.install.source.ref", ""));
    if (first_ms > 0)
        loop_timer_start(&module->timer, retry_next_ms(&module->retry, &copy));
    kyma_touch(module->kyma);
}

bool module_end_call(struct module *module, const struct error *err)
{
    module->call = NULL;
    if (err->kind == ERROR_NONE || err->kind == ERROR_NOT_FOUND)
        return true;
    module_fail(module, err);
    return false;
}

void module_on_timer(void *data)
{
    struct module *module = data;

    kyma_touch(module->kyma);
}

void module_set_applied(struct module *module, const char *ref)
{
    text_pool_set(&module->kyma->lifecycle->texts, &module->applied_ref, ref);
}

void module_connected(struct module *module)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);

    /* What is there is compared when the watches show it; it need not be applied again. */
    if (manifest && module_view_of(manifest).is_marked)
        module_set_applied(module, doc_text_or(manifest, "spec.install.source.ref", ""));
}

/* ---- Writes to the Manifest ---- */

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *event = steal(&module->event);

    module->call = NULL;
    if (err->kind == ERROR_NONE && event)
        lifecycle_send_event(module->kyma, KIND_MANIFEST, object, event);
    if (err->kind == ERROR_NONE)
        kept_take_answer(&module->manifest, object);
    if (err->kind == ERROR_CONFLICT || err->kind == ERROR_NOT_FOUND)
        kyma_touch_later(module->kyma);
    else if (err->kind != ERROR_NONE)
        module_fail(module, err);
    else
        kyma_touch(module->kyma);
}

void module_drop_call(struct module *module)
{
    kube_cancel(module->call);
    module->call = NULL;
}

void module_write(struct module *module, enum kube_verb verb, const char *subresource,
                  const json_t *body, const char *field_manager)
{
    module_drop_call(module);
    module->call =
        control_plane_write(sender_for_kyma(module->kyma), verb, RESOURCE_MANIFESTS, module->name,
                            subresource, body, field_manager, on_written, module);
}

void module_write_finalizers(struct module *module, const json_t *manifest,
                             const char *const *added, const char *const *removed)
{
    cleanup_json json_t *list = json_array();
    cleanup_json json_t *body = NULL;
    size_t i;
    json_t *one;

    json_array_foreach(doc_writable(doc_get(manifest, "metadata.finalizers")), i, one)
    {
        bool is_dropped = false;

        for (const char *const *name = added; *name; name++)
            is_dropped |= strcmp(json_string_value(one), *name) == 0;
        for (const char *const *name = removed; *name; name++)
            is_dropped |= strcmp(json_string_value(one), *name) == 0;
        if (!is_dropped)
            json_array_append(list, one);
    }
    for (const char *const *name = added; *name; name++)
        json_array_append_new(list, json_string(*name));
    body = json_pack("{s:{s:O, s:s}}", "metadata", "finalizers", list, "resourceVersion",
                     doc_text_or(manifest, "metadata.resourceVersion", ""));
    module_write(module, KUBE_PATCH_MERGE, NULL, body, KYMA_FIELD_MANAGER_APPLIER);
}

static const char *const no_finalizers[] = {NULL};

static void add_finalizers(struct module *module, const json_t *manifest, bool has_resource)
{
    const char *const added[] = {MANIFEST_FINALIZER, MANIFEST_LABEL_FINALIZER,
                                 has_resource ? MANIFEST_RESOURCE_FINALIZER : NULL, NULL};

    module_write_finalizers(module, manifest, added, no_finalizers);
}

static void drop_finalizers(struct module *module, const json_t *manifest)
{
    static const char *const ours[] = {MANIFEST_FINALIZER, MANIFEST_LABEL_FINALIZER,
                                       MANIFEST_RESOURCE_FINALIZER, NULL};

    module_write_finalizers(module, manifest, no_finalizers, ours);
}

static void drop_resource_finalizer(struct module *module, const json_t *manifest)
{
    static const char *const one[] = {MANIFEST_RESOURCE_FINALIZER, NULL};

    module_write_finalizers(module, manifest, no_finalizers, one);
}

static void mark(struct module *module, const json_t *manifest)
{
    cleanup_json json_t *body =
        json_pack("{s:{s:{s:s}, s:s}}", "metadata", "annotations", KYMA_ANNOTATION_SYNCED_REF,
                  doc_text_or(manifest, "spec.install.source.ref", ""), "resourceVersion",
                  doc_text_or(manifest, "metadata.resourceVersion", ""));

    module_write(module, KUBE_PATCH_MERGE, NULL, body, KYMA_FIELD_MANAGER_APPLIER);
}

/* ---- The step ---- */

static bool is_working(const struct module *module)
{
    return module->call || module->planning || module->apply || module->removal || module->lookup ||
           module->list;
}

static void look_at_resources(const struct module *module, const json_t *manifest,
                              struct module_view *view)
{
    cleanup_free char *key =
        xasprintf("%s/%s", doc_text_or(manifest, "spec.resource.metadata.namespace", ""),
                  doc_text_or(manifest, "spec.resource.metadata.name", ""));
    const json_t *found = doc_member(module->resources, key);

    view->are_resources_known = module->are_resources_known;
    view->has_default_resource = found != NULL;
    view->is_default_terminating = json_is_true(found) || module->is_resource_deleted;
    view->has_other_resources = json_object_size(module->resources) > (found ? 1u : 0u);
}

static struct module_view observe(struct module *module, const json_t *manifest,
                                  const json_t *object, const json_t **ret_objects,
                                  struct error *err)
{
    struct module_view view = module_view_of(manifest);
    struct kyma *kyma = module->kyma;
    const char *ref = doc_text_or(manifest, "spec.install.source.ref", "");
    enum module_answer answer = MODULE_ANSWER_WAIT;

    view.has_access = kyma->phase == KYMA_STEADY;
    view.is_forsaken =
        kyma_has_no_access(kyma) && (!object || doc_text(object, "metadata.deletionTimestamp"));
    view.is_applied = module->applied_ref && strcmp(module->applied_ref, ref) == 0;
    view.is_resource_created |= module->is_resource_made;
    if (view.is_deleting) {
        look_at_resources(module, manifest, &view);
        return view;
    }
    if (view.is_applied && !module->is_watching && !view.is_unmanaged && view.has_access)
        module_watch_kinds(module, manifest, false);
    if (view.is_applied && module->is_watching)
        module_find_missing(module, manifest);
    view.has_dirty = json_object_size(module->dirty) > 0;
    if (view.has_access && (!view.is_applied || view.has_dirty))
        answer = module_content(module, manifest, ret_objects, err);
    view.is_content_known = answer == MODULE_ANSWER_KNOWN;
    view.is_content_failed = answer == MODULE_ANSWER_FAILED;
    return view;
}

/* Not again when the store has tried again, nor after a restart. */
static void count_content(struct module *module, const json_t *manifest, const char *text)
{
    if (strcmp(doc_text_or(manifest, "status.lastOperation.operation", ""), text) == 0)
        return;
    module->kyma->lifecycle->failures[FAILURE_CONTENT]++;
    module->kyma->lifecycle->module_failures++;
}

static void act(struct module *module, enum module_action action, const json_t *manifest,
                const json_t *objects, const struct module_view *view, const struct error *err)
{
    switch (action) {
    case MODULE_NOTHING:
        break;
    case MODULE_ADD_FINALIZERS:
        add_finalizers(module, manifest, view->wants_resource);
        break;
    case MODULE_APPLY:
    case MODULE_APPLY_DIRTY:
        module_apply(module, manifest, objects, action == MODULE_APPLY_DIRTY);
        break;
    case MODULE_MARK:
        mark(module, manifest);
        break;
    case MODULE_CREATE_RESOURCE:
        module_create_resource(module, manifest);
        break;
    case MODULE_FAIL:
        /* The store tries again, and tells. */
        count_content(module, manifest, err->text);
        free(module->problem);
        free(module->problem_ref);
        module->problem = xstrdup(err->text);
        module->problem_ref = NULL;
        module->failure = FAILURE_CONTENT;
        module_report(module, manifest, view);
        break;
    case MODULE_REPORT:
        module_watch_kinds(module, manifest, true);
        module_watch_resource(module, manifest);
        module_report(module, manifest, view);
        break;
    case MODULE_DESCRIBE:
        module_report(module, manifest, view);
        break;
    case MODULE_HAND_OVER:
        module_hand_over(module, manifest);
        break;
    case MODULE_DELETE_MANIFEST:
        module_write(module, KUBE_DELETE, NULL, NULL, NULL);
        break;
    case MODULE_WATCH_RESOURCES:
        module_watch_resources(module, manifest);
        module_report(module, manifest, view);
        break;
    case MODULE_DELETE_RESOURCE:
        module_delete_resource(module, manifest);
        break;
    case MODULE_DROP_RESOURCE_FINALIZER:
        drop_resource_finalizer(module, manifest);
        break;
    case MODULE_REMOVE_OBJECTS:
        module_remove_objects(module, doc_get(manifest, "status.synced"));
        break;
    case MODULE_DROP_FINALIZERS:
        drop_finalizers(module, manifest);
        break;
    case MODULE_ACTION_COUNT:
        break;
    }
}

/* What was begun for the life of the module is of no use any more, and neither is its back-off. */
static void begin_deletion(struct module *module)
{
    module->is_deletion_seen = true;
    end_work(module);
    loop_timer_stop(&module->timer);
    free(module->problem);
    module->problem = NULL;
    module->failure = FAILURE_NONE;
}

void module_step(struct module *module, const json_t *object)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const char *ref = doc_text_or(manifest, "spec.install.source.ref", "");
    const json_t *objects = NULL;
    struct module_view view = {0};
    const char *rule = NULL;
    struct error err = {0};

    if (!manifest)
        return;
    if (doc_text(manifest, "metadata.deletionTimestamp") && !module->is_deletion_seen)
        begin_deletion(module);
    if (module->removal && module->is_pruning && strcmp(module->work_ref, ref) != 0)
        end_work(module); /* another version leaves other objects behind */
    if (is_working(module))
        return;
    if (module->problem && module->problem_ref && strcmp(module->problem_ref, ref) != 0) {
        loop_timer_stop(&module->timer); /* another version is another chance */
        free(module->problem);
        module->problem = NULL;
        module->failure = FAILURE_NONE;
    }
    if (module->failure == FAILURE_CONTENT && !module->problem_ref) {
        free(module->problem); /* of the store: it may know more by now */
        module->problem = NULL;
        module->failure = FAILURE_NONE;
    }
    view = observe(module, manifest, object, &objects, &err);
    if (loop_timer_is_running(&module->timer) || module->failure == FAILURE_CONTENT) {
        if (view.has_access && !view.is_forsaken && !view.is_skipped) {
            module_report(module, manifest, &view);
            return;
        }
        if (!view.is_forsaken)
            return;
    }
    module->action = module_decide(&view, &rule);
    /* Objects that somebody else has changed are few, and are corrected at once. */
    if (module->action == MODULE_APPLY && !kymas_take_slot(module))
        return;
    module->kyma->lifecycle->actions[module->action]++;
    if (module->action != MODULE_NOTHING && module->action != MODULE_REPORT)
        log_debug("module", log_text("manifest", module->name), log_text("rule", rule));
    act(module, module->action, manifest, objects, &view, &err);
}
