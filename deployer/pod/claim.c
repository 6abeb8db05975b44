/* SPDX-License-Identifier: Apache-2.0 */
/* What a job looks like to decide(). */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/observe.h"
#include "deployer/controller/owner.h"
#include "deployer/controller/report.h"
#include "deployer/controller/task.h"

enum { CLOCK_SKEW_MS = 10 * 1000 };

/* ---- The job's phase and operation ---- */

enum task_phase task_phase_of(const struct item *item)
{
    /* Landscaper drops initTime when it triggers a job: without one, the phase is that of the job
     * before. */
    if (!*item->phase || status_is_final(item->phase) || item->init_unix_ms <= 0)
        return JOB_IDLE;
    if (strcmp(item->job, item->job_finished) == 0)
        return JOB_IDLE;
    if (strcmp(item->phase, PHASE_INIT) == 0)
        return JOB_INIT;
    if (strcmp(item->phase, PHASE_INIT_DELETE) == 0)
        return JOB_INIT_DELETE;
    if (strcmp(item->phase, PHASE_DELETING) == 0)
        return JOB_DELETING;
    return JOB_PROGRESSING;
}

static bool is_delete_pod(const struct task *task, const json_t *pod)
{
    const char *operation = object_annotation(pod, ANNOTATION_OPERATION_RUN);

    if (operation)
        return strcmp(operation, OPERATION_DELETE) == 0;
    return task->item && task_phase_of(task->item) == JOB_DELETING;
}

bool task_is_delete(const struct task *task)
{
    enum pod_claim claim = POD_ABSENT;
    const struct pod_entry *entry = task_pod(task, &claim);

    if (entry && claim == POD_OF_JOB)
        return is_delete_pod(task, entry->pod);
    return task->item && task->item->is_deleting;
}

const char *task_operation(const struct task *task)
{
    return task_is_delete(task) ? OPERATION_DELETE : OPERATION_RECONCILE;
}

/* ---- Pods ---- */

/* The Go deployer marks no job on its pods. One of this generation, made after the job was begun,
 * can only be of this job. Times are those of two machines: where the status names the pod, a
 * little before will do. */
static bool is_go_pod_of_job(const struct item *item, const json_t *pod)
{
    const char *generation = object_label(pod, LABEL_ITEM_GENERATION);
    enum task_phase phase = task_phase_of(item);
    bool is_named = (phase == JOB_PROGRESSING || phase == JOB_DELETING) && item->last_pod &&
                    strcmp(item->last_pod, doc_text_or(pod, "metadata.name", "")) == 0;
    int64_t created = 0;
    struct error err = {0};
    char wanted[24] = {0};

    if (phase == JOB_IDLE || !object_has_finalizer(pod, FINALIZER_POD))
        return false;
    (void)snprintf(wanted, sizeof(wanted), "%lld", (long long)item->generation);
    if (!generation || strcmp(generation, wanted) != 0)
        return false;
    if (timestamp_parse(doc_text_or(pod, "metadata.creationTimestamp", ""), &created, &err) < 0)
        return false;
    return created >= item->init_unix_ms - (is_named ? CLOCK_SKEW_MS : 0);
}

enum pod_claim task_claim(const struct task *task, const struct pod_entry *entry)
{
    const struct item *item = task->item;
    const char *owner = object_annotation(entry->pod, ANNOTATION_JOB);
    const char *uid = object_annotation(entry->pod, ANNOTATION_ITEM_UID);

    if (!item || !*item->job)
        return POD_FOREIGN;
    if (!owner)
        return is_go_pod_of_job(item, entry->pod) ? POD_OF_JOB : POD_FOREIGN;
    /* An item of the same name may have been there before this one. */
    if (uid && item->uid && strcmp(uid, item->uid) != 0)
        return POD_FOREIGN;
    return strcmp(owner, item->job) == 0 ? POD_OF_JOB : POD_FOREIGN;
}

bool task_keeps_pods(const struct task *task)
{
    return task->controller->config->is_pod_kept && task->record->is_known &&
           task->record->is_finished;
}

bool task_is_theirs(const struct task *task, const json_t *pod)
{
    cleanup_free char *identity = name_label_value(task->controller->config->identity);
    const char *id = object_label(pod, LABEL_DEPLOYER_ID);

    if (!id || strcmp(id, identity) != 0)
        return true;
    return owner_is_neighbour(task->controller->config, pod, task->item ? task->item->uid : NULL);
}

struct pod_entry *task_pod(const struct task *task, enum pod_claim *ret_claim)
{
    struct pod_entry *foreign = NULL;

    for (struct pod_entry *entry = task->record->pods; entry; entry = entry->next) {
        if (task_is_theirs(task, entry->pod))
            continue;
        if (task_claim(task, entry) == POD_OF_JOB) {
            *ret_claim = POD_OF_JOB;
            return entry;
        }
        /* A kept pod needs nothing more, so others come first. */
        if (!foreign || object_has_finalizer(entry->pod, FINALIZER_POD))
            foreign = entry;
    }
    *ret_claim = foreign ? POD_FOREIGN : POD_ABSENT;
    return foreign;
}

/* The trouble is the one that the time is counted for. */
static bool is_stuck_as_before(const struct pod_entry *entry, const struct pod_verdict *verdict)
{
    const char *before = entry->stuck_container, *container = verdict->container;

    if (!entry->stuck_since_unix_ms)
        return false;
    return before && container ? strcmp(before, container) == 0 : before == container;
}

void pod_entry_judge(struct pod_entry *entry, const struct task *task,
                     struct pod_verdict *ret_verdict)
{
    const struct deployer_config *config = task->controller->config;
    int64_t now = task_now_unix_ms(task);

    pod_judge(entry->pod, config, now, entry->stuck_since_unix_ms, ret_verdict);
    if (ret_verdict->outcome != POD_STUCK) {
        entry->stuck_since_unix_ms = 0;
        return;
    }
    if (is_stuck_as_before(entry, ret_verdict))
        return;
    entry->stuck_since_unix_ms = now;
    free(entry->stuck_container);
    entry->stuck_container = ret_verdict->container ? xstrdup(ret_verdict->container) : NULL;
    pod_verdict_done(ret_verdict);
    pod_judge(entry->pod, config, now, now, ret_verdict);
}

static bool is_same_error(const json_t *a, const json_t *b)
{
    const json_t *error = doc_member(a, "lastError"), *other = doc_member(b, "lastError");

    return error && other ? json_equal(error, other) : error == other;
}

static void observe_pods(struct task *task, struct observed *o)
{
    struct pod_entry *entry = task_pod(task, &o->pod);
    cleanup_pod_verdict struct pod_verdict verdict = {0};

    o->give_up_unix_ms = o->look_again_unix_ms = -1;
    if (!entry)
        return;
    o->is_pod_deleting = entry->is_ended || doc_text(entry->pod, "metadata.deletionTimestamp") ||
                         (entry->is_stopped && task_keeps_pods(task));
    o->is_pod_over = pod_is_over(entry->pod);
    o->has_pod_finalizer = object_has_finalizer(entry->pod, FINALIZER_POD);
    o->is_pod_delete = is_delete_pod(task, entry->pod);
    if (o->pod != POD_OF_JOB)
        return;
    pod_entry_judge(entry, task, &verdict);
    o->outcome = verdict.outcome;
    o->give_up_unix_ms = verdict.give_up_unix_ms;
    o->look_again_unix_ms = verdict.look_again_unix_ms;
    if (verdict.outcome == POD_WAITING || verdict.outcome == POD_RUNNING ||
        verdict.outcome == POD_STUCK) {
        cleanup_json json_t *next = report_of_pod(task, entry);

        o->has_report = !json_equal(next, task->item->status);
        /* Progress can wait, trouble can't. */
        if (task->reported_unix_ms && is_same_error(next, task->item->status))
            o->report_due_unix_ms = task->reported_unix_ms + CONTROLLER_REPORT_EVERY_MS;
    }
}

/* ---- The whole ---- */

static void observe_item(const struct task *task, struct observed *o)
{
    const struct controller *controller = task->controller;
    const struct item *item = task->item;

    o->is_deleting = item->is_deleting;
    o->has_finalizer = item->has_finalizer;
    o->has_job = *item->job != '\0';
    o->is_job_open = strcmp(item->job, item->job_finished) != 0;
    if (item_is_test_reconcile(item))
        o->note = NOTE_TEST_RECONCILE;
    else if (item->operation && strcmp(item->operation, OPERATION_ANNOTATION_RECONCILE) == 0)
        o->note = NOTE_RECONCILE;
    o->phase = task_phase_of(item);
    o->has_config = item->config != NULL;
    o->is_unchanged = item->is_update_on_change_only && o->note != NOTE_TEST_RECONCILE &&
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
    o->is_responsible = !controller->has_selector || !item_effective_target(item) ||
                        task->target == TARGET_OURS || task->target == TARGET_KNOWN ||
                        task->target == TARGET_MISSING ||
                        /* Found ours, or nothing could have failed: its time is ours to end. */
                        task->fault.state != FAULT_NONE;
    o->target = item_effective_target(item) ? task->target : TARGET_KNOWN;
}

/* A pod of whatever job of this item has been given its chance; it may be gone when that matters.
 */
static bool has_pod_of_item(const struct task *task)
{
    for (const struct pod_entry *entry = task->record->pods; entry; entry = entry->next) {
        const char *uid = object_annotation(entry->pod, ANNOTATION_ITEM_UID);

        if (!uid || !task->item->uid || strcmp(uid, task->item->uid) == 0)
            return true;
    }
    return false;
}

void observe_task(struct task *task, struct observed *ret_observed)
{
    const struct controller *controller = task->controller;
    struct observed o = {.deadline_unix_ms = -1};

    if (task->record->is_known && task->item) {
        observe_item(task, &o);
    } else {
        o.is_gone = !task->record->is_known && task->is_gone_sure;
        o.has_job = task->record->has_job;
    }
    observe_pods(task, &o);
    if (o.pod == POD_OF_JOB)
        o.is_responsible = true;
    o.is_pod_kept = controller->config->is_pod_kept;
    o.is_pod_absence_sure = task->is_pod_absence_sure;
    if (task->item && (task->item->last_pod || has_pod_of_item(task)))
        task->history = RUN_SOME;
    o.history = task->history;
    o.needs_lock = controller->config->max_replicas > 1;
    o.has_lock = task->has_lock;
    o.lock_retry_unix_ms = task->lock_retry_unix_ms;
    o.fault = task->fault.state;
    o.retry_unix_ms = task->retry_unix_ms;
    o.hold_unix_ms = task->hold_unix_ms;
    o.has_run_objects = task->has_run_objects;
    o.is_cleaned = task->is_cleaned;
    *ret_observed = o;
}
