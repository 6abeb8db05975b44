/* SPDX-License-Identifier: Apache-2.0 */
/* Actions that only write to the item. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/metadata.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/observe.h"
#include "deployer/protocol/report.h"

static void on_status(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    if (task->chain.is_event_due)
        events_send_error(task);
    task_done(task);
}

void act_begin(struct task *task)
{
    bool is_new = item_is_test_reconcile(task->item) &&
                  strcmp(task->item->job, task->item->job_finished) == 0;

    report_write(task,
                 is_new ? report_test_job(task) : report_of_begin(task, &task->chain.is_event_due),
                 on_status);
}

void act_report_prepared(struct task *task)
{
    const json_t *last = doc_member(task->item->status, "lastError");
    json_t *status = report_of_execution(task);
    const json_t *next = doc_member(status, "lastError");

    task->chain.is_event_due = next && !json_equal(next, last);
    report_write(task, status, on_status);
}

void act_report(struct task *task)
{
    if (task->engine->class->prepare_report)
        task->engine->class->prepare_report(task);
    else
        act_report_prepared(task);
}

static void on_fault_reported(struct task *task, json_t *object, const struct error *err)
{
    if (task->known.fault.state == FAULT_NEW)
        task->known.fault.state = FAULT_REPORTED;
    on_status(task, object, err);
}

void act_report_fault(struct task *task)
{
    json_t *status = report_of_fault(task, &task->chain.is_event_due);

    report_write(task, status, on_fault_reported);
}

static void on_finished(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    act_note_end(task, task->item->status, task_operation(task));
    task_done(task);
}

void act_finish_as_is(struct task *task)
{
    json_t *status = report_base(task);

    status_clear_error(status);
    report_finish(task, status, PHASE_SUCCEEDED);
    report_write(task, status, on_finished);
}

void act_note_end(struct task *task, const json_t *status, const char *operation)
{
    struct controller *controller = task->controller;
    const char *phase = doc_text_or(status, "phase", "");
    const char *begun = doc_text_or(status, "transitionTimes.initTime", "");
    int64_t begun_unix_ms = 0, took_ms = 0;
    struct error err = {0};

    if (timestamp_parse(begun, &begun_unix_ms, &err) == 0)
        took_ms = task_now_unix_ms(task) - begun_unix_ms;
    took_ms = took_ms > 0 ? took_ms : 0;
    metrics_count_run(&controller->metrics,
                      status_is_failed(phase) ? METRICS_RUN_FAILED : METRICS_RUN_SUCCEEDED,
                      strcmp(operation, OPERATION_DELETE) == 0, (uint64_t)took_ms);
    log_info("job finished", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name),
             log_text("jobID", doc_text_or(status, "jobID", "")), log_text("operation", operation),
             log_text("phase", phase),
             log_text("reason", doc_text_or(status, "lastError.reason", "")),
             log_number("durationMs", took_ms));
}

/* ---- Metadata ---- */

static void on_metadata(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind == ERROR_CONFLICT) {
        task_back_off(task, "the item was changed concurrently", err);
        return;
    }
    if (err->kind == ERROR_NOT_FOUND) {
        report_check_gone(task);
        return;
    }
    /* Only the finalizer makes an item larger. Without it nothing is executed. */
    if (err->kind == ERROR_TOO_LARGE) {
        task_set_fault(task, "reconcile", "AddFinalizer", err, NULL);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot write to the item", err);
        return;
    }
    task_take_item(task, object);
    task_done(task);
}

void act_remove_annotation(struct task *task)
{
    cleanup_json json_t *body =
        json_pack("{s:{s:s,s:{s:n}}}", "metadata", "resourceVersion", task->item->resource_version,
                  "annotations", ANNOTATION_OPERATION);
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name,
                                   .body = body};

    task_request(task, task->controller->landscaper, &request, on_metadata);
}

/* others: the finalizers that are not ours. */
static void write_finalizers(struct task *task, const json_t *others, const char *version,
                             task_next_fn *next)
{
    bool is_wanted = task->chain.step != 0;
    cleanup_json json_t *finalizers = json_copy(doc_writable(others));
    cleanup_json json_t *body = json_pack("{s:{s:s,s:O}}", "metadata", "resourceVersion", version,
                                          "finalizers", finalizers);
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name,
                                   .body = body};

    if (is_wanted)
        (void)json_array_append_new(finalizers, json_string(FINALIZER_DEPLOY_ITEM));
    /* Without its last finalizer the item goes, and the watch may deliver that before the answer
     * arrives. */
    task->chain.is_last = !is_wanted;
    task_request(task, task->controller->landscaper, &request, next);
}

static void on_item_for_finalizer(struct task *task, json_t *object, const struct error *err)
{
    cleanup_json json_t *others = NULL;

    if (err->kind != ERROR_NONE) {
        task->chain.after_write(task, object, err);
        return;
    }
    if (strcmp(doc_text_or(object, "metadata.uid", ""), task->record->uid) != 0) {
        struct error gone = {0};

        (void)error_set(&gone, ERROR_NOT_FOUND, "another item has the same name");
        task->chain.after_write(task, NULL, &gone);
        return;
    }
    if (object_has_finalizer(object, FINALIZER_DEPLOY_ITEM) == (task->chain.step != 0)) {
        task->chain.after_write(task, object, err);
        return;
    }
    others = object_other_finalizers(object, FINALIZER_DEPLOY_ITEM);
    write_finalizers(task, others, doc_text_or(object, "metadata.resourceVersion", ""),
                     task->chain.after_write);
}

static void read_item_for_finalizer(struct task *task)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name};

    task_request(task, task->controller->landscaper, &request, on_item_for_finalizer);
}

/* The item that we know is older than the server's. */
static void on_finalizer_written(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind == ERROR_CONFLICT) {
        task->chain.is_last = false;
        read_item_for_finalizer(task);
        return;
    }
    task->chain.after_write(task, object, err);
}

void act_set_finalizer(struct task *task, bool is_wanted, task_next_fn *next)
{
    const struct item *item = task->item;

    task->chain.step = is_wanted ? 1 : 0;
    task->chain.after_write = next;
    if (item->has_finalizer == is_wanted)
        read_item_for_finalizer(task);
    else
        write_finalizers(task, item->other_finalizers, item->resource_version,
                         on_finalizer_written);
}

void act_add_finalizer(struct task *task)
{
    act_set_finalizer(task, true, on_metadata);
}
