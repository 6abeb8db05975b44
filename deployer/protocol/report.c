/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/report.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/data/uuid.h"
#include "deployer/item/metadata.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/minimal_status.h"
#include "deployer/protocol/observe.h"

static void set_time(json_t *status, const char *path, int64_t unix_ms)
{
    char text[TIMESTAMP_MAX] = {0};

    timestamp_format(unix_ms, text);
    doc_set_text(status, path, text);
}

/* ---- Pieces ---- */

static json_t *copy_status(const struct task *task)
{
    json_t *status = json_deep_copy(task->item->status);

    (void)json_object_del(status, "deployItemPhase");
    return status;
}

static void begin(const struct task *task, json_t *status)
{
    const struct item *item = task->item;
    int64_t now = controller_now_unix_ms(task->controller);
    /* If our clock is behind Landscaper's, an earlier time would look as if no deployer had picked
     * up the job. */
    int64_t reconciled = now > item->job_generated_unix_ms ? now : item->job_generated_unix_ms;

    doc_set_text(status, "phase", item->is_deleting ? PHASE_INIT_DELETE : PHASE_INIT);
    doc_set_new(status, "observedGeneration", json_integer(item->generation));
    set_time(status, "transitionTimes.initTime",
             task_now_unix_ms(task)); /* the deadline counts from here */
    set_time(status, "lastReconcileTime", reconciled);
    doc_set_text(status, "deployer.identity", task->controller->identity);
    doc_set_text(status, "deployer.name", task_traits(task)->deployer_name);
    doc_set_text(status, "deployer.version", LONGSHORE_VERSION);
    status_reset_errors(status);
}

json_t *report_base(const struct task *task)
{
    json_t *status = copy_status(task);

    if (!job_has_begun(task->item))
        begin(task, status);
    return status;
}

json_t *report_test_job(const struct task *task)
{
    json_t *status = copy_status(task);
    int64_t now = controller_now_unix_ms(task->controller);
    char id[UUID_TEXT_SIZE] = {0};

    uuid_make(id);
    doc_set_text(status, "jobID", id);
    doc_set_new(status, "transitionTimes", json_object());
    set_time(status, "transitionTimes.triggerTime", now);
    begin(task, status);
    return status;
}

json_t *report_of_execution(struct task *task)
{
    json_t *status = report_base(task);

    doc_set_text(status, "phase", task_is_delete(task) ? PHASE_DELETING : PHASE_PROGRESSING);
    task->engine->class->report(task, REPORT_PROGRESS, status);
    return status;
}

json_t *report_of_fault(const struct task *task, bool *ret_is_new)
{
    json_t *status = report_base(task);
    const struct task_fault *fault = &task->known.fault;
    struct status_error error = {.operation = fault->operation,
                                 .reason = fault->reason,
                                 .message = fault->message,
                                 .codes = {fault->code}};

    *ret_is_new = status_set_error(status, &error, controller_now_unix_ms(task->controller));
    return status;
}

char *report_blocker(const struct task *task)
{
    return task->engine->class->blocker ? task->engine->class->blocker(task) : NULL;
}

json_t *report_of_begin(const struct task *task, bool *ret_is_new)
{
    json_t *status = report_base(task);
    cleanup_free char *blocker = report_blocker(task);
    struct status_error error = {.operation = task_traits(task)->start_operation,
                                 .reason = REASON_PREVIOUS_RUNS,
                                 .message = blocker};

    *ret_is_new =
        blocker && status_set_error(status, &error, controller_now_unix_ms(task->controller));
    return status;
}

void report_finish(const struct task *task, json_t *status, const char *phase)
{
    doc_set_text(status, "phase", phase);
    doc_set_text(status, "jobIDFinished", doc_text_or(status, "jobID", ""));
    set_time(status, "transitionTimes.finishedTime", controller_now_unix_ms(task->controller));
}

/* ---- Writing ---- */

json_t *report_difference(const json_t *before, const json_t *after)
{
    json_t *difference = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)after, key, value)
    {
        const json_t *old = json_object_get(before, key);

        if (json_is_object(old) && json_is_object(value)) {
            cleanup_json json_t *inner = report_difference(old, value);

            if (json_object_size(inner))
                (void)json_object_set(difference, key, inner);
        } else if (!old || !json_equal(old, value)) {
            (void)json_object_set(difference, key, value);
        }
    }
    json_object_foreach((json_t *)(uintptr_t)before, key, value)
    {
        if (!json_object_get(after, key))
            (void)json_object_set_new(difference, key, json_null());
    }
    return difference;
}

/* A server that does not serve DeployItems (yet), or a proxy, answers 404 as well. */
static bool is_item_missing(const struct task *task, const struct error *err)
{
    cleanup_free char *text = xasprintf("\"%s\" not found", task->record->name);

    return err->kind == ERROR_NOT_FOUND && strstr(err->text, text);
}

/* The server's item is older than the one that it refused to write to, and no newer one was seen
 * since: etcd was restored from a backup. The watch will notice; until then every write conflicts.
 */
static bool is_item_rewound(const struct task *task, const json_t *object)
{
    return object_version(object) < task->record->version &&
           task->record->version == task->known.refused_version;
}

/* As if the watch had delivered the deletion, which it has not yet, and may never. */
static void set_gone(struct task *task)
{
    observe_item_gone(task->controller, task->record);
    task_done(task);
}

static void on_item_read(struct task *task, json_t *object, const struct error *err)
{
    if (is_item_missing(task, err)) {
        set_gone(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot read the item", err);
        return;
    }
    if (!task_take_item(task, object)) {
        struct error gone = {0};

        (void)error_set(&gone, ERROR_NOT_FOUND, "another item has the same name");
        task_back_off(task, "the item is gone", &gone);
        return;
    }
    if (is_item_rewound(task, object)) {
        struct error rewound = {0};

        (void)error_set(&rewound, ERROR_CONFLICT,
                        "the server's item is older than the one it sent before");
        task_back_off(task, "cannot write the status", &rewound);
        return;
    }
    task_done(task);
}

static void on_denied_item_read(struct task *task, json_t *object, const struct error *err)
{
    struct error denied = *err;

    (void)object;
    if (is_item_missing(task, err)) {
        set_gone(task);
        return;
    }
    if (err->kind == ERROR_NONE)
        (void)error_set(&denied, ERROR_NOT_FOUND,
                        "the API server returns the item but does not find it for the write");
    task_back_off(task, "cannot write to the item", &denied);
}

static void read_item(struct task *task, task_next_fn *next)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name};

    task_request(task, task->controller->landscaper, &request, next);
}

void report_check_gone(struct task *task)
{
    read_item(task, on_denied_item_read);
}

static void on_written(struct task *task, json_t *object, const struct error *err)
{
    task_next_fn *next = task->chain.after_write;

    task->chain.is_last = false;
    if (!task->item) {
        task_done(task);
        return;
    }
    if (err->kind == ERROR_CONFLICT) {
        task->known.refused_version = task->record->version;
        read_item(task, on_item_read);
        return;
    }
    if (err->kind == ERROR_NOT_FOUND) {
        report_check_gone(task);
        return;
    }
    if (err->kind == ERROR_TOO_LARGE) {
        minimal_status_write(task, err);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot write the status", err);
        return;
    }
    task_take_item(task, object);
    task->known.reported_unix_ms = task_now_unix_ms(task);
    next(task, object, err);
}

void report_write(struct task *task, json_t *status, task_next_fn *next)
{
    cleanup_json json_t *taken = status;
    cleanup_json json_t *difference = report_difference(task->item->status, taken);
    cleanup_json json_t *body = json_object();
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name,
                                   .subresource = "status",
                                   .body = body};
    struct error none = {0};

    if (!json_object_size(difference)) {
        next(task, NULL, &none);
        return;
    }
    /* With the first status of every job, because there is no record of whether an earlier job or
     * another process has sent it. */
    if (job_phase_of(task->item) == JOB_IDLE)
        events_send_continuous(task);
    doc_set_text(body, "metadata.resourceVersion", task->item->resource_version);
    (void)json_object_set(body, "status", difference);
    json_decref(task->chain.wanted);
    task->chain.wanted =
        json_pack("{s:s,s:O}", "version", task->item->resource_version, "status", taken);
    task->chain.after_write = next;
    task->chain.is_last = true;
    task_request(task, task->controller->landscaper, &request, on_written);
}
