/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods belong to a task, and the state of its job according to them. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/objects.h"
#include "deployer/pod/owner.h"

enum { CLOCK_SKEW_MS = 10 * 1000 };

/* ---- Claims ---- */

/* The Go deployer does not write the job to its pods. A pod of this generation that was created
 * after the job began can only be of this job. The two times come from two machines: where the
 * status names the pod, it may have been created a little earlier. */
static bool is_go_pod_of_job(const struct item *item, const json_t *pod)
{
    const char *generation = object_label(pod, LABEL_ITEM_GENERATION);
    enum job_phase phase = job_phase_of(item);
    bool is_named = (phase == JOB_PROGRESSING || phase == JOB_DELETING) && item->last_pod &&
                    strcmp(item->last_pod, doc_text_or(pod, "metadata.name", "")) == 0;
    int64_t created = 0;
    struct error err = {0};
    char wanted[24] = {0};

    if (!job_has_begun(item) || !object_has_finalizer(pod, FINALIZER_POD))
        return false;
    (void)snprintf(wanted, sizeof(wanted), "%lld", (long long)item->generation);
    if (!generation || strcmp(generation, wanted) != 0)
        return false;
    if (timestamp_parse(doc_text_or(pod, "metadata.creationTimestamp", ""), &created, &err) < 0)
        return false;
    return created >= item->init_unix_ms - (is_named ? CLOCK_SKEW_MS : 0);
}

static enum execution_claim claim_of(const struct task *task, const struct pod_entry *entry)
{
    const struct item *item = task->item;
    const char *owner = object_annotation(entry->pod, ANNOTATION_JOB);
    const char *uid = object_annotation(entry->pod, ANNOTATION_ITEM_UID);

    if (!item || !*item->job)
        return EXECUTION_OF_OTHER_JOB;
    if (!owner)
        return is_go_pod_of_job(item, entry->pod) ? EXECUTION_OF_JOB : EXECUTION_OF_OTHER_JOB;
    /* The pod may be of an earlier item of the same name. */
    if (uid && item->uid && strcmp(uid, item->uid) != 0)
        return EXECUTION_OF_OTHER_JOB;
    return strcmp(owner, item->job) == 0 ? EXECUTION_OF_JOB : EXECUTION_OF_OTHER_JOB;
}

bool pod_is_kept(const struct task *task)
{
    return task->controller->config->is_pod_kept && task->record->is_known &&
           task->record->is_finished;
}

bool pod_is_of_other_deployer(const struct task *task, const json_t *pod)
{
    cleanup_free char *identity = name_label_value(task->controller->config->identity);
    const char *id = object_label(pod, LABEL_DEPLOYER_ID);

    if (!id || strcmp(id, identity) != 0)
        return true;
    return owner_is_neighbour(task->controller->config, pod, task->item ? task->item->uid : NULL);
}

struct pod_entry *pod_of_task(const struct task *task, enum execution_claim *ret_claim)
{
    struct pod_entry *foreign = NULL;

    for (struct pod_entry *entry = record_pods(task->record); entry; entry = entry->next) {
        if (pod_is_of_other_deployer(task, entry->pod))
            continue;
        if (claim_of(task, entry) == EXECUTION_OF_JOB) {
            *ret_claim = EXECUTION_OF_JOB;
            return entry;
        }
        /* A kept pod needs nothing more, so other pods take precedence. */
        if (!foreign || object_has_finalizer(entry->pod, FINALIZER_POD))
            foreign = entry;
    }
    *ret_claim = foreign ? EXECUTION_OF_OTHER_JOB : EXECUTION_ABSENT;
    return foreign;
}

struct pod_entry *pod_of_job(const struct task *task)
{
    enum execution_claim claim = EXECUTION_ABSENT;
    struct pod_entry *entry = pod_of_task(task, &claim);

    return claim == EXECUTION_OF_JOB ? entry : NULL;
}

/* ---- Verdicts ---- */

/* The same container is stuck as when the time was started. */
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

/* The Go deployer does not write the operation to its pods. */
static bool is_delete_pod(const struct task *task, const json_t *pod)
{
    const char *operation = object_annotation(pod, ANNOTATION_OPERATION_RUN);

    if (operation)
        return strcmp(operation, OPERATION_DELETE) == 0;
    return task->item && job_phase_of(task->item) == JOB_DELETING;
}

/* Main may have run in any pod of the item, whatever its job. */
static bool has_pod_of_item(const struct task *task)
{
    for (const struct pod_entry *entry = record_pods(task->record); entry; entry = entry->next) {
        const char *uid = object_annotation(entry->pod, ANNOTATION_ITEM_UID);

        if (!uid || !task->item->uid || strcmp(uid, task->item->uid) == 0)
            return true;
    }
    return false;
}

static enum execution_state state_of(enum pod_outcome outcome)
{
    static const enum execution_state states[] = {
        [POD_WAITING] = EXECUTION_WAITING,     [POD_RUNNING] = EXECUTION_RUNNING,
        [POD_SUCCEEDED] = EXECUTION_SUCCEEDED, [POD_FAILED] = EXECUTION_FAILED,
        [POD_STUCK] = EXECUTION_STUCK,         [POD_HOPELESS] = EXECUTION_FAILED,
    };

    return states[outcome];
}

/* When the pod's grace period is over; -1: it is not being deleted. */
static int64_t deletion_unix_ms(const json_t *pod)
{
    int64_t unix_ms = -1;
    struct error err = {0};

    if (timestamp_parse(doc_text_or(pod, "metadata.deletionTimestamp", ""), &unix_ms, &err) < 0)
        return -1;
    return unix_ms;
}

void pod_observe(struct task *task, struct execution *ret_execution)
{
    struct execution *e = ret_execution;
    struct pod_task *known = pod_task(task);
    struct pod_entry *entry = pod_of_task(task, &e->claim);
    cleanup_pod_verdict struct pod_verdict verdict = {0};

    if (task->item && (task->item->last_pod || has_pod_of_item(task)))
        known->history = RUN_SOME;
    e->history = known->history;
    e->is_absence_sure = known->is_absence_sure;
    e->has_leftovers = known->has_run_objects;
    if (!entry) {
        if (helm_is_removal(task) || manifest_current_run(task))
            manifest_observe(task, e);
        return;
    }
    e->is_ending = entry->is_ended || doc_text(entry->pod, "metadata.deletionTimestamp") ||
                   (entry->is_stopped && pod_is_kept(task));
    /* After this time it counts as running, so that the next step to its end is taken. */
    if (!e->is_ending && task_now_unix_ms(task) < entry->ending.look_unix_ms) {
        e->is_ending = true;
        e->look_again_unix_ms = entry->ending.look_unix_ms;
    }
    e->is_over = pod_is_over(entry->pod);
    e->ends_by_unix_ms = deletion_unix_ms(entry->pod);
    e->is_kept =
        task->controller->config->is_pod_kept && !object_has_finalizer(entry->pod, FINALIZER_POD);
    e->is_delete = is_delete_pod(task, entry->pod);
    if (e->claim != EXECUTION_OF_JOB)
        return;
    pod_entry_judge(entry, task, &verdict);
    e->state = state_of(verdict.outcome);
    e->give_up_unix_ms = verdict.give_up_unix_ms;
    if (e->look_again_unix_ms < 0)
        e->look_again_unix_ms = verdict.look_again_unix_ms;
    if (e->state == EXECUTION_SUCCEEDED && helm_has_finish(task))
        helm_observe(task, e);
}
