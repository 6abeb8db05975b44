/* SPDX-License-Identifier: Apache-2.0 */
/* From a task to what decide() looks at. */
#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/protocol/report.h"
#include "deployer/protocol/task.h"

/* ---- The job's phase and operation ---- */

/* The status is the only memory of this that survives a restart. */
static bool is_blocked(const struct item *item)
{
    return (strcmp(item->phase, PHASE_INIT) == 0 || strcmp(item->phase, PHASE_INIT_DELETE) == 0) &&
           strcmp(doc_text_or(item->status, "lastError.reason", ""), REASON_PREVIOUS_RUNS) == 0;
}

enum job_phase job_phase_of(const struct item *item)
{
    /* Landscaper removes initTime when it triggers a job: without one, the phase is that of the
     * previous job. */
    if (!*item->phase || status_is_final(item->phase) || item->init_unix_ms <= 0)
        return JOB_IDLE;
    if (strcmp(item->job, item->job_finished) == 0)
        return JOB_IDLE;
    if (is_blocked(item))
        return JOB_BLOCKED;
    if (strcmp(item->phase, PHASE_INIT) == 0)
        return JOB_INIT;
    if (strcmp(item->phase, PHASE_INIT_DELETE) == 0)
        return JOB_INIT_DELETE;
    if (strcmp(item->phase, PHASE_DELETING) == 0)
        return JOB_DELETING;
    return JOB_PROGRESSING;
}

bool job_has_begun(const struct item *item)
{
    enum job_phase phase = job_phase_of(item);

    return phase != JOB_IDLE && phase != JOB_BLOCKED;
}

bool task_is_delete(const struct task *task)
{
    if (task->execution.claim == EXECUTION_OF_JOB)
        return task->execution.is_delete;
    return task->item && task->item->is_deleting;
}

const char *task_operation(const struct task *task)
{
    return task_is_delete(task) ? OPERATION_DELETE : OPERATION_RECONCILE;
}

const char *task_pass_name(const struct task *task)
{
    return task->item->is_deleting ? "delete" : "reconcile";
}

/* ---- The parts of struct observed ---- */

static bool is_same_error(const json_t *a, const json_t *b)
{
    const json_t *error = doc_member(a, "lastError"), *other = doc_member(b, "lastError");

    return error && other ? json_equal(error, other) : error == other;
}

/* A job waits for the execution in its way for as long as that may take, and then has its own time,
 * which begins anew when that is gone. If it never goes, the job times out. */
static int64_t blocked_deadline_unix_ms(const struct task *task, const struct execution *e)
{
    if (e->claim != EXECUTION_OF_OTHER_JOB || e->is_over || e->ends_by_unix_ms < 0 ||
        task->item->timeout_ms == ITEM_TIMEOUT_NONE)
        return -1;
    return e->ends_by_unix_ms + task->item->timeout_ms;
}

static void observe_report(struct task *task, struct observed *o)
{
    cleanup_json json_t *next = NULL;

    if (o->execution.claim != EXECUTION_OF_JOB || o->execution.state == EXECUTION_SUCCEEDED ||
        o->execution.state == EXECUTION_FAILED)
        return;
    next = report_of_execution(task);
    o->has_report = !json_equal(next, task->item->status);
    /* Progress can wait, an error cannot. */
    if (task->known.reported_unix_ms && is_same_error(next, task->item->status))
        o->report_due_unix_ms = task->known.reported_unix_ms + CONTROLLER_REPORT_EVERY_MS;
}

static void observe_item(const struct task *task, struct observed *o)
{
    const struct controller *controller = task->controller;
    const struct item *item = task->item;

    o->is_deleting = item->is_deleting;
    o->has_finalizer = item->has_finalizer;
    o->has_job = *item->job != '\0';
    o->is_job_open = strcmp(item->job, item->job_finished) != 0;
    if (item_is_test_reconcile(item))
        o->annotation = ANNOTATED_TEST_RECONCILE;
    else if (item->operation && strcmp(item->operation, OPERATION_ANNOTATION_RECONCILE) == 0)
        o->annotation = ANNOTATED_RECONCILE;
    o->phase = job_phase_of(item);
    o->has_config =
        item->config || (item->is_deleting && task_traits(task)->is_config_unneeded_for_deletion);
    o->is_unchanged = item->is_update_on_change_only && o->annotation != ANNOTATED_TEST_RECONCILE &&
                      item->generation == item->observed_generation &&
                      strcmp(item->phase, PHASE_SUCCEEDED) == 0;
    o->is_uninstall_skipped = item->is_force_cleanup || item->is_delete_without_uninstall ||
                              !controller->config->is_delete_run;
    o->is_job_successful =
        *item->job && item->last_successful_job &&
        strcmp(item->job, item->last_successful_job) == 0 &&
        (!item->is_deleting ||
         (item->last_operation && strcmp(item->last_operation, OPERATION_DELETE) == 0));
    o->deadline_unix_ms = task_deadline_unix_ms(task);
    o->is_responsible =
        !controller->has_selector || !item_effective_target(item) ||
        task->known.target == TARGET_OURS || task->known.target == TARGET_KNOWN ||
        task->known.target == TARGET_MISSING ||
        /* A fault implies that we had claimed the item, so we enforce its deadline. */
        task->known.fault.state != FAULT_NONE;
    o->target = item_effective_target(item) ? task->known.target : TARGET_KNOWN;
}

void task_observe(struct task *task, struct observed *ret_observed)
{
    struct observed o = {
        .deadline_unix_ms = -1,
        .execution = {.give_up_unix_ms = -1, .ends_by_unix_ms = -1, .look_again_unix_ms = -1}};

    if (task->record->is_known && task->item) {
        observe_item(task, &o);
    } else {
        o.is_gone = !task->record->is_known && task->known.is_gone_sure;
        o.has_job = task->record->has_job;
    }
    task->engine->class->observe(task, &o.execution);
    task->execution = o.execution;
    observe_report(task, &o);
    if (o.phase == JOB_BLOCKED)
        o.deadline_unix_ms = blocked_deadline_unix_ms(task, &o.execution);
    if (o.execution.claim == EXECUTION_OF_JOB)
        o.is_responsible = true;
    o.needs_lock = task->controller->is_locking;
    o.has_lock = task->known.has_lock;
    o.lock_retry_unix_ms = task->known.lock_retry_unix_ms;
    o.fault = task->known.fault.state;
    o.retry_unix_ms = task->known.retry_unix_ms;
    o.back_off_unix_ms = task->known.back_off_unix_ms;
    o.is_cleaned = task->known.is_cleaned;
    *ret_observed = o;
}
