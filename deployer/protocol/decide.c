/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/decide.h"

#include "common/base/cleanup.h"

#define UNUSED __attribute__((unused))
#define RULE_ARGUMENTS const struct observed *o UNUSED, int64_t now UNUSED, struct decision *d

/* A rule returns false if it does not apply, and then leaves *d alone. */
typedef bool rule_fn(RULE_ARGUMENTS);

/* ---- Answers ---- */

static bool act(struct decision *d, enum action action)
{
    d->action = action;
    return true;
}

static bool fail(struct decision *d, enum cause cause)
{
    d->cause = cause;
    return act(d, ACTION_FAIL);
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

static bool wait_until(struct decision *d, int64_t wake_unix_ms)
{
    d->wake_unix_ms = wake_unix_ms;
    return act(d, ACTION_WAIT);
}

static bool take_lock(const struct observed *o, int64_t now, struct decision *d)
{
    if (o->lock_retry_unix_ms > now)
        return wait_until(d, o->lock_retry_unix_ms);
    return act(d, ACTION_LOCK);
}

/* ---- Facts ---- */

static bool is_past(int64_t unix_ms, int64_t now)
{
    return unix_ms >= 0 && now >= unix_ms;
}

/* The item is gone, or its job is finished. */
static bool has_no_job(const struct observed *o)
{
    return o->is_gone || (!o->is_job_open && o->annotation != ANNOTATED_TEST_RECONCILE);
}

/* An execution beside an item that never had a job is not ours to judge. */
static bool has_old_run(const struct observed *o)
{
    return has_no_job(o) && (o->has_job || o->is_gone) && o->execution.claim != EXECUTION_ABSENT;
}

static bool is_locked_out(const struct observed *o)
{
    return o->needs_lock && !o->has_lock;
}

static bool is_of_job(const struct observed *o)
{
    return o->execution.claim == EXECUTION_OF_JOB;
}

/* An execution that began before the deletion is finished as what it is. */
static bool is_delete_job(const struct observed *o)
{
    return is_of_job(o) ? o->execution.is_delete : o->is_deleting;
}

/* A deletion that has nothing to execute. */
static bool is_run_unneeded(const struct observed *o)
{
    return o->is_uninstall_skipped || !o->has_config || o->execution.history == RUN_NEVER;
}

/* Nothing has to be executed any more before the item's objects are removed. */
static bool is_clean_due(const struct observed *o)
{
    if (!is_delete_job(o))
        return false;
    if (is_run_unneeded(o))
        return true;
    return is_of_job(o) ? o->execution.state == EXECUTION_SUCCEEDED
                        : o->phase == JOB_DELETING && o->is_job_successful;
}

/* Removing an item needs no target: a lost one must not block the deletion for ever, least of all
 * of an item that was never executed, maybe because the target was missing. */
static bool needs_target(const struct observed *o)
{
    return !is_of_job(o) &&
           !(o->is_deleting && (is_run_unneeded(o) || o->execution.history == RUN_UNKNOWN));
}

static bool is_run_ending(const struct observed *o)
{
    return !o->execution.is_over && o->execution.is_ending;
}

/* The job's execution has ended, or can never succeed, and that can be written now. A deletion that
 * succeeded is written once its execution has ended. */
static bool has_result(const struct observed *o)
{
    const struct execution *e = &o->execution;
    bool has_ended = is_of_job(o) && (e->state == EXECUTION_SUCCEEDED ||
                                      e->state == EXECUTION_FAILED || e->is_over);

    return has_ended && o->fault == FAULT_NONE && !(is_clean_due(o) && is_run_ending(o));
}

/* The execution of this job is watched, rather than ended for a clean-up. */
static bool is_watched(const struct observed *o)
{
    return is_of_job(o) && !is_clean_due(o);
}

/* An execution has to end, or to be removed, before the job can go on. The execution of a deletion
 * stays until our finalizer is removed: it is the proof that the deletion was executed. */
static bool is_blocked(const struct observed *o)
{
    const struct execution *e = &o->execution;

    if (e->claim == EXECUTION_ABSENT || (is_of_job(o) && e->is_over))
        return false;
    return !(e->is_over && e->is_kept && is_clean_due(o));
}

/* The execution that the status promises is not there. */
static bool is_missing(const struct observed *o)
{
    return o->execution.claim == EXECUTION_ABSENT && !o->execution.is_volatile &&
           o->phase == (o->is_deleting ? JOB_DELETING : JOB_PROGRESSING);
}

/* ---- Rules that always apply ---- */

static bool back_off(RULE_ARGUMENTS)
{
    return now < o->back_off_unix_ms && wait_until(d, o->back_off_unix_ms);
}

/* ---- Rules for items without an open job ---- */

static bool old_run_ending(RULE_ARGUMENTS)
{
    return has_old_run(o) && is_run_ending(o) && wait_until(d, o->execution.look_again_unix_ms);
}

/* With several replicas the execution may be of a job that our watch has not seen yet. Whoever
 * takes the lock reads the item. */
static bool old_run_lock(RULE_ARGUMENTS)
{
    bool is_due = (has_old_run(o) && !(o->execution.is_over && o->execution.is_kept)) ||
                  (has_no_job(o) && o->has_job && o->execution.has_leftovers);

    return is_due && is_locked_out(o) && !o->is_gone && take_lock(o, now, d);
}

static bool old_run_end(RULE_ARGUMENTS)
{
    return has_old_run(o) && !o->execution.is_over && act(d, ACTION_END);
}

static bool old_run_discard(RULE_ARGUMENTS)
{
    return has_old_run(o) && !o->execution.is_kept && act(d, ACTION_DISCARD);
}

static bool old_run_clean(RULE_ARGUMENTS)
{
    return has_no_job(o) && (o->has_job || o->is_gone) && o->execution.has_leftovers &&
           act(d, ACTION_CLEAN_RUN);
}

static bool follow_up(RULE_ARGUMENTS)
{
    if (!has_no_job(o) || o->is_gone || o->is_deleting || !o->execution.needs_follow_up)
        return false;
    return is_locked_out(o) ? take_lock(o, now, d) : act(d, ACTION_FOLLOW_UP);
}

static bool no_job_unlock(RULE_ARGUMENTS)
{
    return has_no_job(o) && o->has_lock && act(d, ACTION_UNLOCK);
}

static bool no_job(RULE_ARGUMENTS)
{
    return has_no_job(o) && act(d, ACTION_NONE);
}

/* ---- Rules for an open job: from here on there is one ---- */

static bool item_cleaned(RULE_ARGUMENTS)
{
    return o->is_cleaned && wait_until(d, -1);
}

/* With several replicas nothing is written without the lock, not even a timeout. */
static bool lock(RULE_ARGUMENTS)
{
    return o->is_responsible && is_locked_out(o) && take_lock(o, now, d);
}

/* The only place where the deadline is checked. It applies whatever else is wrong, or a fault that
 * is retried would never end. A result that has come in meanwhile wins, if it can be written. */
static bool timeout(RULE_ARGUMENTS)
{
    return o->is_responsible && is_past(o->deadline_unix_ms, now) && !has_result(o) &&
           fail(d, CAUSE_TIMEOUT);
}

/* No wait of an open job may be longer than its deadline. */
static bool wait_in_job(const struct observed *o, struct decision *d, int64_t wake_unix_ms)
{
    return wait_until(d, earlier(wake_unix_ms, o->deadline_unix_ms));
}

static bool fault_final(RULE_ARGUMENTS)
{
    return o->fault == FAULT_FINAL && fail(d, CAUSE_FAULT);
}

static bool fault_new(RULE_ARGUMENTS)
{
    return o->fault == FAULT_NEW && act(d, ACTION_REPORT_FAULT);
}

static bool fault_back_off(RULE_ARGUMENTS)
{
    return o->fault == FAULT_REPORTED && now < o->retry_unix_ms &&
           wait_in_job(o, d, o->retry_unix_ms);
}

static bool resolve_target(RULE_ARGUMENTS)
{
    return needs_target(o) && (o->target == TARGET_UNKNOWN || o->target == TARGET_OURS) &&
           act(d, ACTION_RESOLVE_TARGET);
}

static bool claim(RULE_ARGUMENTS)
{
    return o->target == TARGET_UNKNOWN && !o->is_responsible && act(d, ACTION_CLAIM);
}

static bool not_ours(RULE_ARGUMENTS)
{
    return o->target == TARGET_NOT_OURS && act(d, o->has_lock ? ACTION_UNLOCK : ACTION_NONE);
}

/* The new job of a test-reconcile is written first, then the annotation is removed: a crash in
 * between leaves Init with the annotation, which means the same job. */
static bool test_reconcile(RULE_ARGUMENTS)
{
    return !o->is_job_open && act(d, ACTION_BEGIN);
}

/* Later in a job the annotation stays until the job has finished, and then starts another. */
static bool test_reconcile_begun(RULE_ARGUMENTS)
{
    return o->annotation == ANNOTATED_TEST_RECONCILE &&
           (o->phase == JOB_BLOCKED || o->phase == JOB_INIT || o->phase == JOB_INIT_DELETE) &&
           act(d, ACTION_REMOVE_ANNOTATION);
}

static bool target_missing(RULE_ARGUMENTS)
{
    return o->target == TARGET_MISSING && needs_target(o) && fail(d, CAUSE_NO_TARGET);
}

/* ---- The execution of this job ---- */

static bool succeeded(RULE_ARGUMENTS)
{
    return is_watched(o) && o->execution.state == EXECUTION_SUCCEEDED && act(d, ACTION_COMPLETE);
}

static bool failed(RULE_ARGUMENTS)
{
    return is_watched(o) && o->execution.state == EXECUTION_FAILED && fail(d, CAUSE_EXECUTION);
}

static bool ended_without_result(RULE_ARGUMENTS)
{
    return is_watched(o) && o->execution.is_over && fail(d, CAUSE_LOST);
}

static bool stuck_too_long(RULE_ARGUMENTS)
{
    return is_watched(o) && o->execution.state == EXECUTION_STUCK &&
           is_past(o->execution.give_up_unix_ms, now) && fail(d, CAUSE_EXECUTION);
}

static bool started(RULE_ARGUMENTS)
{
    bool is_reported = o->phase == JOB_PROGRESSING || o->phase == JOB_DELETING;

    return is_watched(o) && !o->execution.is_preparing &&
           (!is_reported || o->execution.needs_report) && act(d, ACTION_REPORT);
}

static bool reconcile_annotation(RULE_ARGUMENTS)
{
    return is_watched(o) && o->annotation == ANNOTATED_RECONCILE &&
           act(d, ACTION_REMOVE_ANNOTATION);
}

static bool next_step(RULE_ARGUMENTS)
{
    return is_watched(o) && o->execution.needs_step && act(d, ACTION_STEP);
}

static bool report(RULE_ARGUMENTS)
{
    return is_watched(o) && o->has_report && !o->execution.is_preparing &&
           now >= o->report_due_unix_ms && act(d, ACTION_REPORT);
}

static bool running(RULE_ARGUMENTS)
{
    const struct execution *e = &o->execution;
    int64_t wake = e->look_again_unix_ms;

    if (e->state == EXECUTION_STUCK)
        wake = earlier(wake, e->give_up_unix_ms);
    if (o->has_report && !e->is_preparing)
        wake = earlier(wake, o->report_due_unix_ms);
    return is_watched(o) && wait_in_job(o, d, wake);
}

/* ---- No execution of this job, or one that has to end for a clean-up ---- */

/* We died between the success and the final status. */
static bool already_succeeded(RULE_ARGUMENTS)
{
    return !is_delete_job(o) && o->phase != JOB_IDLE && o->is_job_successful &&
           o->execution.claim == EXECUTION_ABSENT && act(d, ACTION_FINISH_AS_IS);
}

static bool unchanged(RULE_ARGUMENTS)
{
    return !is_delete_job(o) && o->phase == JOB_IDLE && o->is_unchanged &&
           act(d, ACTION_FINISH_AS_IS);
}

static bool no_config(RULE_ARGUMENTS)
{
    return !is_delete_job(o) && !o->has_config && fail(d, CAUSE_NO_CONFIG);
}

static bool lost(RULE_ARGUMENTS)
{
    return is_missing(o) && !is_clean_due(o) && o->execution.is_absence_sure && fail(d, CAUSE_LOST);
}

static bool verify(RULE_ARGUMENTS)
{
    return is_missing(o) && !is_clean_due(o) && act(d, ACTION_VERIFY);
}

/* Ending an execution can take its grace period: the user should see that the job was picked up,
 * and the status remembers that the job's timeout does not count until that execution is gone. */
static bool blocked(RULE_ARGUMENTS)
{
    bool is_unmarked = o->execution.claim == EXECUTION_OF_OTHER_JOB && !o->execution.is_over &&
                       (o->phase == JOB_INIT || o->phase == JOB_INIT_DELETE);

    return is_blocked(o) && (o->phase == JOB_IDLE || is_unmarked) && act(d, ACTION_BEGIN);
}

static bool blocker_ending(RULE_ARGUMENTS)
{
    return is_blocked(o) && is_run_ending(o) && wait_in_job(o, d, o->execution.look_again_unix_ms);
}

static bool blocker_end(RULE_ARGUMENTS)
{
    return is_blocked(o) && !o->execution.is_over && act(d, ACTION_END);
}

static bool blocker_discard(RULE_ARGUMENTS)
{
    return is_blocked(o) && act(d, ACTION_DISCARD);
}

static bool clean_item(RULE_ARGUMENTS)
{
    return is_clean_due(o) && act(d, ACTION_CLEAN_ITEM);
}

static bool look_back(RULE_ARGUMENTS)
{
    return o->is_deleting && o->execution.history == RUN_UNKNOWN && act(d, ACTION_LOOK_BACK);
}

static bool add_finalizer(RULE_ARGUMENTS)
{
    return !o->is_deleting && !o->has_finalizer && act(d, ACTION_ADD_FINALIZER);
}

static bool start(RULE_ARGUMENTS)
{
    (void)o;
    return act(d, ACTION_START);
}

/* ---- The table ---- */

#define RULE(name_)                                                                                \
    {                                                                                              \
#name_, name_                                                                              \
    }

/* docs/controller.md lists the same rules in the same order; e2e/ship/test_docs.py compares. */
static const struct {
    const char *name;
    rule_fn *rule;
} rules[] = {
    RULE(back_off),
    /* No open job. */
    RULE(old_run_ending),
    RULE(old_run_lock),
    RULE(old_run_end),
    RULE(old_run_discard),
    RULE(old_run_clean),
    RULE(follow_up),
    RULE(no_job_unlock),
    RULE(no_job),
    /* An open job: is it ours, and has it timed out? */
    RULE(item_cleaned),
    RULE(lock),
    RULE(timeout),
    RULE(fault_final),
    RULE(fault_new),
    RULE(fault_back_off),
    RULE(resolve_target),
    RULE(claim),
    RULE(not_ours),
    RULE(test_reconcile),
    RULE(test_reconcile_begun),
    RULE(target_missing),
    /* The job has an execution. */
    RULE(succeeded),
    RULE(failed),
    RULE(ended_without_result),
    RULE(stuck_too_long),
    RULE(started),
    RULE(reconcile_annotation),
    RULE(next_step),
    RULE(report),
    RULE(running),
    /* It has none, or one that has to end. */
    RULE(already_succeeded),
    RULE(unchanged),
    RULE(no_config),
    RULE(lost),
    RULE(verify),
    RULE(blocked),
    RULE(blocker_ending),
    RULE(blocker_end),
    RULE(blocker_discard),
    RULE(clean_item),
    RULE(look_back),
    RULE(add_finalizer),
    RULE(start),
};

struct decision decide(const struct observed *observed, int64_t now_unix_ms)
{
    struct decision decision = {.wake_unix_ms = -1};

    /* The last rule always applies. */
    while (!rules[decision.rule].rule(observed, now_unix_ms, &decision))
        decision.rule++;
    return decision;
}

const char *rule_name(size_t rule)
{
    return rule < array_length(rules) ? rules[rule].name : NULL;
}
