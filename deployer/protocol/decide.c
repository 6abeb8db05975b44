/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/decide.h"

#include <stddef.h>

#include "common/base/cleanup.h"

static struct decision act(enum action action)
{
    return (struct decision){.action = action, .cause = CAUSE_NONE, .wake_unix_ms = -1};
}

static struct decision fail(enum cause cause)
{
    return (struct decision){.action = ACTION_FAIL, .cause = cause, .wake_unix_ms = -1};
}

/* The earlier of two times, where -1 is never. */
static int64_t earlier(int64_t a, int64_t b)
{
    if (a < 0)
        return b;
    if (b < 0)
        return a;
    return a < b ? a : b;
}

static struct decision wait_until(int64_t wake_unix_ms)
{
    return (struct decision){
        .action = ACTION_WAIT, .cause = CAUSE_NONE, .wake_unix_ms = wake_unix_ms};
}

static bool is_past(int64_t unix_ms, int64_t now_unix_ms)
{
    return unix_ms >= 0 && now_unix_ms >= unix_ms;
}

/* A pod that no open job needs: end it, wait for its end, remove it. ACTION_NONE: nothing is left
 * to be done about it. */
static struct decision retire_pod(const struct observed *o)
{
    if (o->pod == POD_ABSENT)
        return act(ACTION_NONE);
    if (!o->is_pod_over)
        return o->is_pod_deleting ? wait_until(-1) : act(ACTION_END_POD);
    if (!o->has_pod_finalizer && o->is_pod_kept)
        return act(ACTION_NONE);
    return act(ACTION_DISCARD_POD);
}

/* Trying again after a failure comes before everything else that would only fail again. */
static struct decision after_fault(const struct observed *o, int64_t now_unix_ms)
{
    if (o->fault == FAULT_FINAL)
        return fail(CAUSE_FAULT);
    if (o->fault == FAULT_NEW)
        return act(ACTION_REPORT_FAULT);
    if (o->fault == FAULT_REPORTED && now_unix_ms < o->retry_unix_ms)
        return wait_until(earlier(o->retry_unix_ms, o->deadline_unix_ms));
    return act(ACTION_NONE);
}

static bool is_locked_out(const struct observed *o)
{
    return o->needs_lock && !o->has_lock;
}

static struct decision lock(const struct observed *o, int64_t now_unix_ms)
{
    if (o->lock_retry_unix_ms > now_unix_ms)
        return wait_until(o->lock_retry_unix_ms);
    return act(ACTION_LOCK);
}

/* No open job: the pod that a timeout, an interrupt or a crash left has to go. */
static struct decision without_job(const struct observed *o, int64_t now_unix_ms)
{
    struct decision decision = {0};

    /* A pod beside an item that never had a job is not ours to judge. */
    if (!o->has_job && !o->is_gone)
        return act(o->has_lock ? ACTION_UNLOCK : ACTION_NONE);
    decision = retire_pod(o);
    if (decision.action == ACTION_NONE && o->has_run_objects)
        decision = act(ACTION_CLEAN_RUN);
    if (decision.action == ACTION_NONE)
        return act(o->has_lock ? ACTION_UNLOCK : ACTION_NONE);
    /* Beside other replicas the pod may be of a job that our watch has not told of yet: whoever has
     * the lock has read the item since. */
    if (decision.action != ACTION_WAIT && is_locked_out(o) && !o->is_gone)
        return lock(o, now_unix_ms);
    return decision;
}

/* Whether a deletion has nothing to run. */
static bool is_run_needless(const struct observed *o)
{
    return o->is_uninstall_skipped || !o->has_config || o->history == RUN_NEVER;
}

/* Taking an item apart needs no target: a lost one must not hold it for ever, and least of all an
 * item that has never run, maybe for want of it. */
static bool needs_target(const struct observed *o)
{
    return o->pod != POD_OF_JOB &&
           !(o->is_deleting && (is_run_needless(o) || o->history == RUN_UNKNOWN));
}

/* Who does this item belong to? Asked before anything is written for a job. */
static struct decision responsibility(const struct observed *o, int64_t now_unix_ms)
{
    if (needs_target(o) && (o->target == TARGET_UNKNOWN || o->target == TARGET_OURS))
        return act(ACTION_RESOLVE_TARGET);
    if (o->target == TARGET_UNKNOWN && !o->is_responsible)
        return act(ACTION_CLAIM);
    if (o->target == TARGET_NOT_OURS)
        return act(o->has_lock ? ACTION_UNLOCK : ACTION_NONE);
    if (is_locked_out(o))
        return lock(o, now_unix_ms);
    return act(ACTION_NONE);
}

/* The pod of this job has ended, or will never get anywhere. */
static bool has_result(const struct observed *o, struct decision *ret_decision)
{
    if (o->pod != POD_OF_JOB)
        return false;
    if (o->outcome == POD_SUCCEEDED) {
        *ret_decision = act(ACTION_COMPLETE);
        return true;
    }
    if (o->outcome == POD_FAILED || o->outcome == POD_HOPELESS) {
        *ret_decision = fail(CAUSE_POD);
        return true;
    }
    /* Over without a result: deleted before it ran, or its node is gone. */
    if (o->is_pod_over) {
        *ret_decision = fail(CAUSE_POD_LOST);
        return true;
    }
    return false;
}

static struct decision watch_pod(const struct observed *o, int64_t now_unix_ms)
{
    int64_t wake = earlier(o->deadline_unix_ms, o->look_again_unix_ms);

    if (o->outcome == POD_STUCK) {
        if (is_past(o->give_up_unix_ms, now_unix_ms))
            return fail(CAUSE_POD);
        wake = earlier(wake, o->give_up_unix_ms);
    }
    if (o->phase != JOB_PROGRESSING && o->phase != JOB_DELETING)
        return act(ACTION_REPORT);
    if (o->note != NOTE_NONE && o->note != NOTE_TEST_RECONCILE)
        return act(ACTION_DROP_NOTE);
    if (!o->has_report)
        return wait_until(wake);
    if (now_unix_ms >= o->report_due_unix_ms)
        return act(ACTION_REPORT);
    return wait_until(earlier(wake, o->report_due_unix_ms));
}

/* A pod is in the job's way. That can take its grace time: the user should see that the job was
 * picked up, and from then on it has a deadline. ACTION_NONE: nothing is in the way. */
static struct decision make_room(const struct observed *o)
{
    struct decision decision = retire_pod(o);

    if (decision.action != ACTION_NONE && o->phase == JOB_IDLE)
        return act(ACTION_BEGIN);
    return decision;
}

/* Nothing runs for this job, and nothing has to any more: take the item apart. */
static struct decision clean_item(const struct observed *o)
{
    /* The pod of the DELETE run stays until the finalizer is off: it is the proof that the run was
     * done, should we die in between. */
    if (o->pod == POD_FOREIGN || (o->pod == POD_OF_JOB && !o->is_pod_over)) {
        struct decision decision = make_room(o);

        if (decision.action != ACTION_NONE)
            return decision;
    }
    return act(ACTION_CLEAN_ITEM);
}

/* The job has no pod yet: make room, then start. */
static struct decision start(const struct observed *o)
{
    struct decision decision = make_room(o);

    if (decision.action != ACTION_NONE)
        return decision;
    if (o->pod != POD_ABSENT) /* a kept pod has the name that the new one needs */
        return act(o->phase == JOB_IDLE ? ACTION_BEGIN : ACTION_DISCARD_POD);
    if (o->is_deleting && o->history == RUN_UNKNOWN)
        return act(ACTION_LOOK_BACK);
    if (!o->is_deleting && !o->has_finalizer)
        return act(ACTION_ADD_FINALIZER);
    return act(ACTION_START);
}

static bool is_delete_job(const struct observed *o)
{
    /* A run that was begun before the deletion is finished as what it is. */
    return o->pod == POD_OF_JOB ? o->is_pod_delete : o->is_deleting;
}

static struct decision delete_job(const struct observed *o, int64_t now_unix_ms)
{
    struct decision decision = {0};

    if (is_run_needless(o))
        return clean_item(o);
    if (o->pod == POD_OF_JOB && o->outcome == POD_SUCCEEDED)
        return clean_item(o);
    if (has_result(o, &decision))
        return decision;
    if (is_past(o->deadline_unix_ms, now_unix_ms))
        return fail(CAUSE_TIMEOUT);
    if (o->pod == POD_OF_JOB)
        return watch_pod(o, now_unix_ms);
    if (o->phase == JOB_DELETING) {
        if (o->is_job_successful)
            return clean_item(o);
        if (o->pod == POD_ABSENT)
            return o->is_pod_absence_sure ? fail(CAUSE_POD_LOST) : act(ACTION_VERIFY_POD);
    }
    return start(o);
}

static struct decision reconcile_job(const struct observed *o, int64_t now_unix_ms)
{
    struct decision decision = {0};

    if (has_result(o, &decision))
        return decision;
    if (o->phase != JOB_IDLE && o->is_job_successful && o->pod == POD_ABSENT)
        return act(ACTION_FINISH_AS_IS);
    if (is_past(o->deadline_unix_ms, now_unix_ms))
        return fail(CAUSE_TIMEOUT);
    if (o->pod == POD_OF_JOB)
        return watch_pod(o, now_unix_ms);
    if (o->phase == JOB_IDLE && o->is_unchanged)
        return act(ACTION_FINISH_AS_IS);
    if (!o->has_config)
        return fail(CAUSE_NO_CONFIG);
    if (o->phase == JOB_PROGRESSING && o->pod == POD_ABSENT)
        return o->is_pod_absence_sure ? fail(CAUSE_POD_LOST) : act(ACTION_VERIFY_POD);
    return start(o);
}

static struct decision with_job(const struct observed *o, int64_t now_unix_ms)
{
    bool is_test = o->note == NOTE_TEST_RECONCILE;
    struct decision decision = {0};

    /* Beside other replicas nothing is told without the lock, not even that the time is over. */
    if (o->is_responsible && is_locked_out(o))
        return lock(o, now_unix_ms);
    /* The deadline holds whatever else is wrong, or a fault that is tried again would never end. A
     * result that has come in meanwhile is worth more, unless it can't be brought home. */
    if (o->is_responsible && is_past(o->deadline_unix_ms, now_unix_ms) &&
        (o->fault != FAULT_NONE || !has_result(o, &decision)))
        return fail(CAUSE_TIMEOUT);
    decision = after_fault(o, now_unix_ms);
    if (decision.action != ACTION_NONE)
        return decision;
    decision = responsibility(o, now_unix_ms);
    if (decision.action != ACTION_NONE || o->target == TARGET_NOT_OURS)
        return decision;
    /* The new job of a test-reconcile is made durable first, then the annotation goes: a crash in
     * between leaves an Init with the annotation, which means the same job. Later in a job the
     * annotation waits for the job's end. */
    if (is_test && !o->is_job_open)
        return act(ACTION_BEGIN);
    if (is_test && (o->phase == JOB_INIT || o->phase == JOB_INIT_DELETE))
        return act(ACTION_DROP_NOTE);
    if (o->target == TARGET_MISSING && needs_target(o))
        return fail(CAUSE_NO_TARGET);
    decision = is_delete_job(o) ? delete_job(o, now_unix_ms) : reconcile_job(o, now_unix_ms);
    if (decision.action != ACTION_WAIT)
        return decision;
    /* Whatever is waited for, an old pod's end as well, the job's time is the limit. */
    if (is_past(o->deadline_unix_ms, now_unix_ms))
        return fail(CAUSE_TIMEOUT);
    return wait_until(earlier(decision.wake_unix_ms, o->deadline_unix_ms));
}

struct decision decide(const struct observed *observed, int64_t now_unix_ms)
{
    bool is_wanted = observed->is_job_open || observed->note == NOTE_TEST_RECONCILE;

    if (now_unix_ms < observed->hold_unix_ms)
        return wait_until(observed->hold_unix_ms);
    if (observed->is_gone || !is_wanted)
        return without_job(observed, now_unix_ms);
    if (observed->is_cleaned)
        return wait_until(-1);
    return with_job(observed, now_unix_ms);
}

const char *action_name(enum action action)
{
    static const char *const names[] = {
        [ACTION_NONE] = "none",
        [ACTION_WAIT] = "wait",
        [ACTION_LOCK] = "lock",
        [ACTION_UNLOCK] = "unlock",
        [ACTION_CLAIM] = "claim",
        [ACTION_RESOLVE_TARGET] = "resolve_target",
        [ACTION_LOOK_BACK] = "look_back",
        [ACTION_BEGIN] = "begin",
        [ACTION_DROP_NOTE] = "drop_note",
        [ACTION_ADD_FINALIZER] = "add_finalizer",
        [ACTION_START] = "start",
        [ACTION_REPORT] = "report",
        [ACTION_REPORT_FAULT] = "report_fault",
        [ACTION_VERIFY_POD] = "verify_pod",
        [ACTION_END_POD] = "end_pod",
        [ACTION_DISCARD_POD] = "discard_pod",
        [ACTION_CLEAN_RUN] = "clean_run",
        [ACTION_COMPLETE] = "complete",
        [ACTION_FAIL] = "fail",
        [ACTION_FINISH_AS_IS] = "finish_as_is",
        [ACTION_CLEAN_ITEM] = "clean_item",
    };

    return (size_t)action < array_length(names) ? names[action] : "unknown";
}
