/* SPDX-License-Identifier: Apache-2.0 */
/* What the protocol sees of an execution, and what is written about it. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/status.h"
#include "deployer/objects/run.h"
#include "deployer/protocol/act.h"

/* How long a plan may take before the job is reported as begun without it, so that its time counts:
 * the kinds may have to be asked for, and the server may not respond. */
enum { PREPARE_MS = 1000 };

/* How often a job that waits looks whether it waits for something else: the condition shows it. */
enum { LOOK_AGAIN_MS = 30 * 1000 };

static const json_t *stored_status(const struct task *task)
{
    return doc_member(task->item->status, "providerStatus");
}

/* ---- Observing ---- */

/* Whether the deletion of the item has anything to undo. A status that cannot be read may contain
 * something; starting the deletion will report it. */
static enum run_history history_of(const struct task *task)
{
    cleanup_manifest_status struct manifest_status status = {0};
    cleanup_manifest_config struct manifest_config *config = NULL;
    const json_t *stored = stored_status(task);
    struct error err = {0};
    bool is_valid = false;

    if (!stored || json_is_null(stored))
        return RUN_NEVER;
    if (manifest_status_parse(stored, &status, &err) < 0 || status.inventory.count > 0)
        return RUN_SOME;
    config = manifest_config_for_deletion(task->item->config, &is_valid);
    return manifest_config_has_open_groups(config) ? RUN_SOME : RUN_NEVER;
}

static json_t *status_of(const struct manifest_run *run)
{
    return manifest_status_document(&run->work.inventory, cluster_hash(run->work.cluster),
                                    run->late);
}

/* The status contains everything that is about to be applied. */
static bool is_recorded(const struct manifest_run *run)
{
    cleanup_json json_t *document = status_of(run);
    cleanup_json json_t *wanted = manifest_status_core(document);
    cleanup_json json_t *stored = manifest_status_core(stored_status(run->task));

    return stored && json_equal(stored, wanted);
}

void manifest_observe_run(const struct manifest_run *run, struct execution *e)
{
    const struct task *task = run->task;

    e->claim = EXECUTION_OF_JOB;
    e->is_delete = run->work.is_delete;
    e->state = EXECUTION_RUNNING;
    if (run->work.failure.kind != ERROR_NONE)
        e->state = EXECUTION_FAILED;
    else if (run->work.stage == STAGE_DONE)
        e->state = EXECUTION_SUCCEEDED;
    e->is_over = e->state != EXECUTION_RUNNING;
    if (e->is_over)
        return;
    if (run->work.stage == STAGE_PLAN && run->work.is_active) {
        e->state = EXECUTION_WAITING;
        e->is_preparing = task_now_unix_ms(task) < run->begun_unix_ms + PREPARE_MS;
        e->look_again_unix_ms = e->is_preparing ? run->begun_unix_ms + PREPARE_MS : -1;
        return;
    }
    /* A failure of the plan is reported by a step. */
    e->is_preparing = run->work.stage == STAGE_PLAN;
    if (run->work.stage == STAGE_RECORD)
        e->needs_report = !is_recorded(run);
    if (run->work.stage == STAGE_REMOVE)
        e->needs_report = strcmp(task->item->phase, PHASE_DELETING) != 0;
    e->needs_step = !run->work.is_active && !run->place.is_waiting;
    if (run->work.is_active)
        e->look_again_unix_ms = task_now_unix_ms(task) + LOOK_AGAIN_MS;
}

void manifest_observe(struct task *task, struct execution *ret_execution)
{
    const struct manifest_run *run = manifest_current_run(task);

    ret_execution->is_volatile = ret_execution->is_absence_sure = true;
    ret_execution->history = RUN_SOME;
    if (run)
        manifest_observe_run(run, ret_execution);
    else if (task->item && task->item->is_deleting)
        ret_execution->history = history_of(task);
}

/* ---- Reporting ---- */

static void set_condition(const struct task *task, json_t *status, const char *type, bool is_true,
                          const char *reason, const char *message)
{
    cleanup_json json_t *next = json_pack("{s:s,s:s,s:o}", "status", is_true ? "True" : "False",
                                          "reason", reason, "message", doc_new_text(message));

    status_set_condition(status, type, next, controller_now_unix_ms(task->controller));
}

/* What a job waits for is shown once it waits, and at its end. */
static void set_conditions(const struct manifest_run *run, json_t *status)
{
    const struct task *task = run->task;
    bool is_applied = !run->work.is_delete && run->work.stage > STAGE_APPLY;
    bool is_ready = !run->work.is_delete && run->work.stage > STAGE_EXPORTS;
    cleanup_free char *text = manifest_work_describe(&run->work);

    if (run->work.is_delete) {
        set_condition(task, status, CONDITION_READY, false, "Deleting", text ? text : "");
        return;
    }
    set_condition(task, status, CONDITION_APPLIED, is_applied, is_applied ? "Applied" : "Applying",
                  is_applied ? "all objects are applied" : "");
    if (run->work.failure.kind != ERROR_NONE)
        set_condition(task, status, CONDITION_READY, false, "Failed", run->work.failure.text);
    else
        set_condition(task, status, CONDITION_READY, is_ready, is_ready ? "Ready" : "Waiting",
                      is_ready             ? "all objects are ready, all exports are read"
                      : is_applied && text ? text
                                           : "");
}

/* A job that failed forgets what the server refused to create: the next job may have another list,
 * and no permission to look for it. While objects are applied, any of them may exist. */
static json_t *final_status_of(const struct manifest_run *run)
{
    cleanup_inventory struct inventory made = inventory_copy_made(&run->work.inventory);

    return run->work.apply
               ? status_of(run)
               : manifest_status_document(&made, cluster_hash(run->work.cluster), run->late);
}

void manifest_report(struct task *task, enum report_kind kind, json_t *status)
{
    struct manifest_run *run = objects_task(task)->run;
    bool is_failure = kind == REPORT_FAILURE;
    /* Objects that are gone are harmless in the list: one write at the end is enough. */
    bool is_kept = !run || run->work.stage == STAGE_PLAN ||
                   (kind == REPORT_PROGRESS && (run->work.is_delete || run->is_stale));

    if (!is_kept) {
        json_t *document = is_failure ? final_status_of(run) : status_of(run);

        json_decref(run->written_status);
        run->written_status = manifest_status_core(document);
        doc_set_new(status, "providerStatus", document);
    }
    if (run && !run->is_stale)
        set_conditions(run, status);
    /* Nothing is late during a job; what comes after it is observed anew. */
    status_remove_condition(status, CONDITION_EXPORTS_UP_TO_DATE);
    status_remove_condition(status, CONDITION_STILL_READY);
    /* An error that is being retried stays visible until the stage has succeeded. */
    if (kind == REPORT_PROGRESS && task->known.fault.state == FAULT_NONE)
        status_clear_error(status);
}

/* ---- Explaining ---- */

static void explain_timeout(const struct manifest_run *run, struct explanation *explanation)
{
    cleanup_free char *text = run ? manifest_work_describe(&run->work) : NULL;
    bool is_away = run && run->work.is_delete && run->work.removal &&
                   removal_error(run->work.removal)->kind != ERROR_NONE;

    if (is_away)
        explanation->message = xasprintf("%s; " ADVICE_SKIP_UNINSTALL, text);
    else
        explanation->message = steal(&text);
}

void manifest_explain(struct task *task, enum explanation_kind kind,
                      struct explanation *explanation)
{
    const struct manifest_run *run = manifest_current_run(task);

    if (kind == EXPLAIN_TIMEOUT) {
        explain_timeout(run, explanation);
        return;
    }
    explanation->operation = xstrdup("WaitForObjectsReady");
    explanation->reason = xstrdup("ReadinessFailed");
    explanation->message = run ? xstrdup(run->work.failure.text) : NULL;
}
