/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/minimal_status.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/observe.h"
#include "deployer/protocol/report.h"

enum { KIB = 1024 };

/* ---- Pure ---- */

static size_t size_of(const json_t *document)
{
    return json_dumpb(document, NULL, 0, JSON_COMPACT);
}

/* Twice the difference: for each field the API server also stores who wrote it. */
static size_t surplus_kib(const json_t *wanted, const json_t *minimal)
{
    size_t bytes = 2 * (size_of(wanted) - size_of(minimal));

    return (bytes + KIB - 1) / KIB;
}

static json_t *without_details(const json_t *wanted, const json_t *kept_provider_status)
{
    static const char *const details[] = {"conditions", "providerStatus", "deployer"};
    json_t *minimal = json_deep_copy(wanted);

    for (size_t i = 0; i < array_length(details); i++)
        (void)json_object_del(minimal, details[i]);
    if (kept_provider_status)
        (void)json_object_set_new(minimal, "providerStatus", json_deep_copy(kept_provider_status));
    status_reset_errors(minimal);
    return minimal;
}

static void set_end(json_t *minimal, const char *phase, int64_t now_unix_ms)
{
    char now[TIMESTAMP_MAX] = {0};

    timestamp_format(now_unix_ms, now);
    doc_set_text(minimal, "phase", phase);
    doc_set_text(minimal, "jobIDFinished", doc_text_or(minimal, "jobID", ""));
    doc_set_text(minimal, "transitionTimes.finishedTime", now);
}

static char *message_of(const json_t *wanted, size_t kib)
{
    const char *reason = doc_text_or(wanted, "lastError.reason", "");

    return xasprintf("the item is too large for its status: make it %zu KiB smaller%s%.64s", kib,
                     *reason ? "; left out: " : "", reason);
}

json_t *minimal_status(const json_t *wanted, const json_t *kept_provider_status,
                       const char *failed_phase, int64_t now_unix_ms)
{
    json_t *minimal = without_details(wanted, kept_provider_status);
    cleanup_free char *message = message_of(wanted, surplus_kib(wanted, minimal));
    struct status_error error = {.operation = "UpdateStatus",
                                 .reason = "ItemTooLarge",
                                 .message = message,
                                 .codes = {CODE_CONFIGURATION_PROBLEM}};

    if (strcmp(doc_text_or(wanted, "phase", ""), PHASE_SUCCEEDED) == 0)
        return minimal;
    set_end(minimal, failed_phase, now_unix_ms);
    (void)status_set_error(minimal, &error, now_unix_ms);
    (void)json_object_del(minimal, "firstError");
    (void)json_object_del(minimal, "lastErrors");
    return minimal;
}

/* ---- Writing ---- */

static void on_failed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    events_send_error(task);
    act_note_end(task, task->item->status, task_operation(task));
    task_done(task);
}

static bool is_under_way(const struct task *task)
{
    enum job_phase phase = job_phase_of(task->item);

    return phase == JOB_PROGRESSING || phase == JOB_DELETING;
}

/* The status already reports that the execution runs: it must not be ended because details do not
 * fit.
 */
static void skip_report(struct task *task, const struct error *err)
{
    log_error("progress not written, the status would be too large",
              log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item->job), log_text("error", err->text));
    task->known.reported_unix_ms = task_now_unix_ms(task);
    task_done(task);
}

/* The status was made for this version of the item. */
static bool is_item_unchanged(const struct task *task)
{
    return !task->chain.is_changed && strcmp(doc_text_or(task->chain.wanted, "version", ""),
                                             task->item->resource_version) == 0;
}

void minimal_status_write(struct task *task, const struct error *err)
{
    const json_t *wanted = doc_member(task->chain.wanted, "status");
    const char *phase = doc_text_or(wanted, "phase", "");
    const json_t *kept = task_traits(task)->is_status_memory
                             ? doc_member(task->item->status, "providerStatus")
                             : NULL;
    bool is_success = strcmp(phase, PHASE_SUCCEEDED) == 0;
    /* A test-reconcile whose job cannot be written would get new jobs for ever. */
    bool has_job = strcmp(task->item->job, task->item->job_finished) != 0;

    if (!is_item_unchanged(task)) {
        task_done(task);
        return;
    }
    if (task->chain.is_minimal || !has_job) {
        events_send_too_large(task);
        task_back_off(task, "cannot write the status", err);
        return;
    }
    if (!status_is_final(phase) && is_under_way(task) && !task->execution.needs_report) {
        skip_report(task, err);
        return;
    }
    log_error("item is too large for its status", log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item->job), log_text("error", err->text));
    task->chain.is_minimal = true;
    report_write(task,
                 minimal_status(wanted, kept, status_failed_phase(task->item->is_deleting),
                                controller_now_unix_ms(task->controller)),
                 is_success ? task->chain.after_write : on_failed);
}
