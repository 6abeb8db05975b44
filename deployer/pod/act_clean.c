/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an item: every object of it goes, then its finalizer, and last the pod of the DELETE
 * run, which until then is the proof that the run was done. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/owner.h"
#include "deployer/controller/report.h"

static void next_collection(struct task *task);

char *act_item_selector(const struct task *task)
{
    return owner_item_selector(task->record->namespace_name, task->record->name);
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
    act_note_end(task, task->item->status, OPERATION_DELETE);
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
        act_note_end(task, task->ending, OPERATION_DELETE);
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

static bool is_access(const struct kube_resource *resource)
{
    return strcmp(resource->plural, KUBE_SECRETS.plural) != 0 &&
           strcmp(resource->plural, KUBE_CONFIG_MAPS.plural) != 0;
}

static bool has_collection(const struct task *task, struct owner_collection *ret_collection)
{
    const struct owner_item item = {.namespace_name = task->record->namespace_name,
                                    .name = task->record->name,
                                    .is_shared = task->is_name_shared,
                                    .former_id = task->former_id};

    return owner_collection_init(ret_collection, task->controller->config, &item, task->step);
}

static void on_collection(struct task *task, json_t *object, const struct error *err)
{
    cleanup_owner_collection struct owner_collection collection = {0};

    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        bool is_rbac = has_collection(task, &collection) && is_access(&collection.resource);

        clean_failed(task, "Delete", is_rbac ? "CleanupRBAC" : "CleanupDeployItem", err);
        return;
    }
    task->step++;
    next_collection(task);
}

static void on_home_export(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND)
        clean_failed(task, "Delete", "CleanupDeployItem", err);
    else
        drop_finalizer(task);
}

static void remove_home_export(struct task *task)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->names.item_export,
                                   .grace_seconds = -1,
                                   .is_unread = true};

    task_request(task, task->controller->landscaper, &request, on_home_export);
}

static void next_collection(struct task *task)
{
    cleanup_owner_collection struct owner_collection collection = {0};
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .is_unread = true};

    if (has_collection(task, &collection)) {
        request.resource = collection.resource;
        request.label_selector = collection.label_selector;
        request.field_selector = collection.field_selector;
        task_request(task, task->controller->host, &request, on_collection);
        return;
    }
    if (task->item->has_export)
        remove_home_export(task);
    else
        drop_finalizer(task);
}

static void on_accounts(struct task *task, json_t *object, const struct error *err)
{
    const struct deployer_config *config = task->controller->config;

    if (err->kind != ERROR_NONE) {
        clean_failed(task, "Delete", "CleanupRBAC", err);
        return;
    }
    task->former_id = xstrdup_or_null(owner_former_id(config, object, task->record->uid));
    task->is_name_shared = owner_is_list_shared(config, object, task->record->uid);
    if (task->is_name_shared)
        log_error("another deployer has an item of this name: state that does not say whose it is "
                  "stays",
                  log_text("deployItem", task->record->name),
                  log_text("namespace", task->record->namespace_name));
    task->step = 0;
    next_collection(task);
}

void act_clean_item(struct task *task)
{
    cleanup_free char *selector = act_item_selector(task);
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector = selector};

    task_request(task, task->controller->host, &request, on_accounts);
}
