/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/least.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/controller/act.h"
#include "deployer/controller/events.h"
#include "deployer/controller/observe.h"
#include "deployer/controller/report.h"

enum { KIB = 1024 };

/* ---- Pure ---- */

static size_t size_of(const json_t *document)
{
    return json_dumpb(document, NULL, 0, JSON_COMPACT);
}

/* More than enough: beside each field that is written the API server notes who wrote it. */
static size_t surplus_kib(const json_t *wanted, const json_t *least)
{
    size_t bytes = 2 * (size_of(wanted) - size_of(least));

    return (bytes + KIB - 1) / KIB;
}

static json_t *without_details(const json_t *wanted)
{
    static const char *const details[] = {"conditions", "providerStatus", "deployer"};
    json_t *least = json_deep_copy(wanted);

    for (size_t i = 0; i < array_length(details); i++)
        (void)json_object_del(least, details[i]);
    status_reset_errors(least);
    return least;
}

static void set_end(json_t *least, const char *phase, int64_t now_unix_ms)
{
    char now[TIMESTAMP_MAX] = {0};

    timestamp_format(now_unix_ms, now);
    doc_set_text(least, "phase", phase);
    doc_set_text(least, "jobIDFinished", doc_text_or(least, "jobID", ""));
    doc_set_text(least, "transitionTimes.finishedTime", now);
}

static char *message_of(const json_t *wanted, size_t kib)
{
    const char *reason = doc_text_or(wanted, "lastError.reason", "");

    return xasprintf("the item is too large for its status: make it %zu KiB smaller%s%.64s", kib,
                     *reason ? "; left out: " : "", reason);
}

json_t *least_status(const json_t *wanted, const char *failed_phase, int64_t now_unix_ms)
{
    json_t *least = without_details(wanted);
    cleanup_free char *message = message_of(wanted, surplus_kib(wanted, least));
    struct status_error error = {.operation = "UpdateStatus",
                                 .reason = "ItemTooLarge",
                                 .message = message,
                                 .codes = {CODE_CONFIGURATION_PROBLEM}};

    if (strcmp(doc_text_or(wanted, "phase", ""), PHASE_SUCCEEDED) == 0)
        return least;
    set_end(least, failed_phase, now_unix_ms);
    (void)status_set_error(least, &error, now_unix_ms);
    (void)json_object_del(least, "firstError");
    (void)json_object_del(least, "lastErrors");
    return least;
}

/* ---- Writing ---- */

static void on_failed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    events_tell_error(task);
    act_note_end(task, task->item->status, task_operation(task));
    task_done(task);
}

static bool is_under_way(const struct task *task)
{
    enum task_phase phase = task_phase_of(task->item);

    return phase == JOB_PROGRESSING || phase == JOB_DELETING;
}

/* That the pod runs has been told already: it must not be ended for want of details. */
static void leave_untold(struct task *task, const struct error *err)
{
    log_error("what the pod does can't be told", log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item->job), log_text("error", err->text));
    task->reported_unix_ms = task_now_unix_ms(task);
    task_done(task);
}

/* What was wanted is a change of the item as it was. */
static bool is_item_unchanged(const struct task *task)
{
    return !task->is_changed &&
           strcmp(doc_text_or(task->wanted, "version", ""), task->item->resource_version) == 0;
}

void least_write(struct task *task, const struct error *err)
{
    const json_t *wanted = doc_member(task->wanted, "status");
    const char *phase = doc_text_or(wanted, "phase", "");
    bool is_success = strcmp(phase, PHASE_SUCCEEDED) == 0;
    /* A test-reconcile whose job could not be noted would be given another one for ever. */
    bool has_job = strcmp(task->item->job, task->item->job_finished) != 0;

    if (!is_item_unchanged(task)) {
        task_done(task);
        return;
    }
    if (task->is_least || !has_job) {
        events_tell_too_large(task);
        task_hold(task, "the status can't be written", err);
        return;
    }
    if (!status_is_final(phase) && is_under_way(task)) {
        leave_untold(task, err);
        return;
    }
    log_error("the item is too large for its status", log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item->job), log_text("error", err->text));
    task->is_least = true;
    report_write(task,
                 least_status(wanted, status_failed_phase(task->item->is_deleting),
                              controller_now_unix_ms(task->controller)),
                 is_success ? task->after_write : on_failed);
}
