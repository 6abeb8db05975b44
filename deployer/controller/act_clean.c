/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an item: every object of it goes, then its finalizer, and last the pod of the DELETE
 * run, which until then is the proof that the run was done. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/report.h"

static void next_collection(struct task *task);

char *act_item_selector(const struct task *task)
{
    cleanup_free char *name = name_label_value(task->record->name);
    cleanup_free char *namespace_name = name_label_value(task->record->namespace_name);

    return xasprintf(LABEL_ITEM_NAME "=%s," LABEL_ITEM_NAMESPACE "=%s", name, namespace_name);
}

/* Told to the user, and tried again until the job's time is over. */
static void clean_failed(struct task *task, const char *operation, const char *reason,
                         const struct error *err)
{
    struct error cause = *err;

    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, operation, reason, &cause, NULL);
}

/* ---- The finalizer ---- */

static void on_told(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    act_note_end(task, task->item->status);
    task_done(task);
}

static void on_finalizer(struct task *task, json_t *object, const struct error *err)
{
    json_t *status = NULL;

    task->is_last = false;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        clean_failed(task, "delete", "RemoveFinalizer", err);
        return;
    }
    log_info("item cleaned up", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name),
             log_text("jobID", doc_text_or(task->ending, "jobID", "")));
    /* The watch may have told of the end before the answer did. */
    if (!task->item || err->kind == ERROR_NOT_FOUND ||
        !json_array_size(doc_get(object, "metadata.finalizers"))) {
        act_note_end(task, task->ending);
        /* The watch tells that the item is gone; its pod goes then. */
        task->is_cleaned = task->item != NULL;
        task_done(task);
        return;
    }
    /* Somebody else still holds the item: our part of the job is finished all the same. */
    task_take_item(task, object);
    status = report_base(task);
    status_clear_error(status);
    report_finish(task, status, PHASE_SUCCEEDED);
    report_write(task, status, on_told);
}

static void drop_finalizer(struct task *task)
{
    task->has_run_objects = false;
    task->ending = report_base(task);
    report_finish(task, task->ending, PHASE_SUCCEEDED);
    act_set_finalizer(task, false, on_finalizer);
}

/* ---- The objects ---- */

/* Kinds that carry the item's labels. The ServiceAccount goes last: it alone tells the garbage
 * collector whose the rest is. */
static const struct kube_resource *const kinds[] = {
    &KUBE_SECRETS, &KUBE_CONFIG_MAPS, &KUBE_ROLE_BINDINGS, &KUBE_ROLES, &KUBE_SERVICE_ACCOUNTS};

static void on_collection(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        bool is_access = task->step < array_length(kinds) && kinds[task->step] != &KUBE_SECRETS &&
                         kinds[task->step] != &KUBE_CONFIG_MAPS;

        clean_failed(task, "Delete", is_access ? "CleanupRBAC" : "CleanupDeployItem", err);
        return;
    }
    task->step++;
    next_collection(task);
}

/* The Go deployer's export has no label but the name, and a name that two items can share. */
static void remove_go_export(struct task *task)
{
    cleanup_free char *name = name_label_value(task->record->name);
    cleanup_free char *label = xasprintf(LABEL_NAME "=%s", name);
    cleanup_free char *field = xasprintf("metadata.name=%s", task->names.host_export);
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector = label,
                                   .field_selector = field,
                                   .is_unread = true};

    task_request(task, task->controller->host, &request, on_collection);
}

static void remove_home_export(struct task *task)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->names.item_export,
                                   .grace_seconds = -1,
                                   .is_unread = true};

    task_request(task, task->controller->landscaper, &request, on_collection);
}

static void next_collection(struct task *task)
{
    cleanup_free char *selector = act_item_selector(task);
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector = selector,
                                   .is_unread = true};

    if (task->step < array_length(kinds)) {
        request.resource = *kinds[task->step];
        task_request(task, task->controller->host, &request, on_collection);
        return;
    }
    if (task->step == array_length(kinds)) {
        remove_go_export(task);
        return;
    }
    if (task->step == array_length(kinds) + 1 && task->item->has_export) {
        remove_home_export(task);
        return;
    }
    drop_finalizer(task);
}

void act_clean_item(struct task *task)
{
    task->step = 0;
    next_collection(task);
}
