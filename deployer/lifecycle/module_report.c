/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a module, and the status of its Manifest. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/manifest_status.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/state_event.h"
#include "deployer/lifecycle/synced.h"

struct judgement {
    enum module_state state;
    char *operation; /* belongs to the judgement */
};

static char *describe_deletion(const struct module *module, const struct module_view *view,
                               const json_t *manifest)
{
    char *waiting = module->removal ? removal_describe(module->removal) : NULL;

    if (waiting)
        return waiting;
    if (view->has_other_resources || (view->is_resource_ignored && view->has_default_resource))
        return xasprintf("waiting for module crs deletion: %zu of kind %s exist",
                         json_object_size(module->resources),
                         doc_text_or(manifest, "spec.resource.kind", ""));
    if (view->has_default_resource)
        return xasprintf("waiting for %s %s to be deleted",
                         doc_text_or(manifest, "spec.resource.kind", ""),
                         doc_text_or(manifest, "spec.resource.metadata.name", ""));
    return xstrdup("waiting for resources to be deleted");
}

static struct judgement judge_running(const struct module *module, const json_t *manifest)
{
    const struct lifecycle *lifecycle = module->kyma->lifecycle;
    const json_t *manager = synced_manager(doc_get(manifest, "status.synced"));
    struct judgement judgement = {.state = MODULE_READY};
    const struct module_verdict *worse = NULL;

    if (manager && lifecycle->options.state_source != STATE_RESOURCE) {
        judgement.state = module->manager->state;
        worse = module->manager;
    }
    if (module->resource && lifecycle->options.state_source != STATE_MANAGER &&
        module_state_worse(module->resource->state, judgement.state) != judgement.state) {
        judgement.state = module->resource->state;
        worse = module->resource;
    }
    if (judgement.state == MODULE_READY)
        judgement.operation = xstrdup("installation is ready and resources can be used");
    else if (worse == module->resource)
        judgement.operation =
            xasprintf("%s %s/%s: %s", doc_text_or(manifest, "spec.resource.kind", ""),
                      doc_text_or(manifest, "spec.resource.metadata.namespace", ""),
                      doc_text_or(manifest, "spec.resource.metadata.name", ""), worse->reason);
    else
        judgement.operation = xasprintf("%s %s/%s: %s", doc_text_or(manager, "kind", ""),
                                        doc_text_or(manager, "namespace", ""),
                                        doc_text_or(manager, "name", ""), worse->reason);
    return judgement;
}

/* Whether the watches have shown everything that decides the state. Until then it stays as it is,
 * so that a restart does not make modules look as if they were being installed. */
static bool is_state_known(const struct module *module, const json_t *manifest,
                           const struct module_view *view)
{
    enum state_source source = module->kyma->lifecycle->options.state_source;

    if (view->is_deleting || module->problem || !view->is_applied)
        return true;
    if (source != STATE_RESOURCE && !module->manager &&
        synced_manager(doc_get(manifest, "status.synced")))
        return false;
    return source == STATE_MANAGER || !view->wants_resource || module->is_resource_looked_at ||
           (module->manager && module->manager->state != MODULE_READY);
}

/* What is waited for while objects that the module no longer has are removed, or NULL. The caller
 * frees it. */
static char *describe_pruning(const struct module *module)
{
    return module->is_pruning && module->removal ? removal_describe(module->removal) : NULL;
}

/* pruning: see describe_pruning(). */
static struct judgement judge(const struct module *module, const json_t *manifest,
                              const struct module_view *view, const char *pruning)
{
    bool is_passing = (module->failure == FAILURE_NETWORK || module->failure == FAILURE_BUSY) &&
                      module->retry.attempts < 3;

    if (view->is_deleting)
        return (struct judgement){MODULE_DELETING, module->problem
                                                       ? xstrdup(module->problem)
                                                       : describe_deletion(module, view, manifest)};
    if (module->problem && !is_passing)
        return (struct judgement){MODULE_ERROR, xstrdup(module->problem)};
    if (pruning)
        return (struct judgement){MODULE_WARNING, xstrdup(pruning)};
    if (!view->is_applied || module->problem)
        return (struct judgement){
            MODULE_PROCESSING,
            xstrdup(module->problem ? module->problem : "waiting for resources to become ready")};
    return judge_running(module, manifest);
}

void module_report(struct module *module, const json_t *manifest, const struct module_view *view)
{
    struct judgement judgement = {0};
    cleanup_free char *operation = NULL, *pruning = describe_pruning(module);
    cleanup_json json_t *status = NULL, *old = NULL, *new = NULL, *body = NULL;
    bool is_ready = false;

    if (module->is_pruning ? !pruning : !is_state_known(module, manifest, view))
        return;
    judgement = judge(module, manifest, view, pruning);
    operation = judgement.operation;
    is_ready = judgement.state == MODULE_READY;
    status = manifest_status(&(struct manifest_observation){
        .manifest = manifest,
        .state = judgement.state,
        .operation = operation,
        .are_resources_parsed = view->is_applied || view->has_objects,
        .is_installed = is_ready,
        .has_resource = view->wants_resource,
        .is_resource_created = view->is_resource_created,
        .now_unix_ms = clock_unix_ms(loop_clock(module->kyma->lifecycle->loop)),
    });
    old = json_pack("{s:O*}", "status", doc_writable(doc_get(manifest, "status")));
    new = json_pack("{s:O}", "status", status);
    body = merge_patch_between(old, new);
    if (body && !module->call) {
        doc_set_text(body, "metadata.resourceVersion",
                     doc_text_or(manifest, "metadata.resourceVersion", ""));
        json_decref(module->event);
        module->event = state_event(KIND_MANIFEST, doc_get(manifest, "status"), status);
        module_write(module, KUBE_PATCH_MERGE, "status", body, KYMA_FIELD_MANAGER_APPLIER);
    }
}

void module_on_removal_timer(void *data)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    struct module_view view = {0};

    if (!manifest || module->kyma->phase != KYMA_STEADY || !module->removal)
        return;
    view = module_view_of(manifest);
    view.is_applied = module->applied_ref != NULL;
    loop_timer_start(&module->removal_timer, LIFECYCLE_REMOVAL_AGAIN_MS);
    if (!module->call && (view.is_deleting || module->is_pruning))
        module_report(module, manifest, &view);
}
