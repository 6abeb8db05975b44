/* SPDX-License-Identifier: Apache-2.0 */
/* The deletion of an item: removes all its objects, then its finalizer. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/report.h"

/* Written to the status, and retried until the job's time is over. */
static void clean_failed(struct task *task, const char *operation, const char *reason,
                         const struct error *err)
{
    struct error cause = *err;

    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, operation, reason, &cause, NULL);
}

/* ---- The finalizer ---- */

static void on_finished(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    act_note_end(task, task->item->status, OPERATION_DELETE);
    task_done(task);
}

static void on_finalizer(struct task *task, json_t *object, const struct error *err)
{
    json_t *status = NULL;

    task->chain.is_last = false;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        clean_failed(task, "delete", "RemoveFinalizer", err);
        return;
    }
    log_info("item cleaned up", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name),
             log_text("jobID", doc_text_or(task->chain.final_status, "jobID", "")));
    /* The watch may have delivered the deletion before the answer arrived. */
    if (!task->item || err->kind == ERROR_NOT_FOUND ||
        !json_array_size(doc_get(object, "metadata.finalizers"))) {
        act_note_end(task, task->chain.final_status, OPERATION_DELETE);
        /* When the watch delivers the deletion, the execution is removed. */
        task->known.is_cleaned = task->item != NULL;
        task_done(task);
        return;
    }
    /* Another finalizer keeps the item: our part of the job is still finished. */
    task_take_item(task, object);
    status = report_base(task);
    status_clear_error(status);
    report_finish(task, status, PHASE_SUCCEEDED);
    report_write(task, status, on_finished);
}

static void remove_finalizer(struct task *task)
{
    task->chain.final_status = report_base(task);
    report_finish(task, task->chain.final_status, PHASE_SUCCEEDED);
    act_set_finalizer(task, false, on_finalizer);
}

/* ---- The exports ---- */

static void on_exports_removed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (!act_is_removed(err)) {
        clean_failed(task, "Delete", "CleanupDeployItem", err);
        return;
    }
    task->record->is_export_possible = false;
    remove_finalizer(task);
}

void act_item_cleaned(struct task *task)
{
    if (act_has_exports(task))
        act_remove_exports(task, on_exports_removed);
    else
        remove_finalizer(task);
}

void act_clean_item(struct task *task)
{
    if (task->engine->class->clean_item)
        task->engine->class->clean_item(task);
    else
        act_item_cleaned(task);
}
