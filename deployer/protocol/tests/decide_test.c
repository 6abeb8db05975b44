/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the state machine, by name. For properties of all states see decide_space_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/decide.h"
#include "deployer/serve/metrics.h"

enum { NOW = 1000000, LATER = NOW + 5000, EARLIER = NOW - 5000 };

/* An item with an open job that is ours, with a configuration and a finalizer; nothing begun. */
#define ITEM                                                                                       \
    .has_job = true, .is_job_open = true, .has_config = true, .has_finalizer = true,               \
    .is_responsible = true, .target = TARGET_KNOWN, .deadline_unix_ms = -1,                        \
    .execution.give_up_unix_ms = -1, .execution.look_again_unix_ms = -1
#define BEGUN(phase_) ITEM, .phase = (phase_)
#define DELETION(phase_) BEGUN(phase_), .is_deleting = true, .execution.history = RUN_SOME
#define FINISHED                                                                                   \
    .has_job = true, .has_config = true, .has_finalizer = true, .is_responsible = true,            \
    .target = TARGET_KNOWN, .deadline_unix_ms = -1, .execution.give_up_unix_ms = -1,               \
    .execution.look_again_unix_ms = -1
#define RUNNING(claim_) .execution.claim = (claim_), .execution.state = EXECUTION_RUNNING
#define OVER(claim_, outcome_)                                                                     \
    .execution.claim = (claim_), .execution.state = (outcome_), .execution.is_over = true

/* Rows list the differences to an ordinary item, so they override values of the macros above. */
#pragma GCC diagnostic ignored "-Woverride-init"
/* clang-format off */
static const struct {
    const char *name;
    struct observed observed;
    enum action action;
    enum cause cause;
    int64_t wake; /* of ACTION_WAIT */
} rows[] = {
    /* ---- Pick-up ---- */
    {"no job: nothing", {.deadline_unix_ms = -1}, ACTION_NONE, 0, 0},
    {"finished job: nothing", {FINISHED}, ACTION_NONE, 0, 0},
    {"finished job, the engine looks after the item: let it",
     {FINISHED, .execution.needs_follow_up = true}, ACTION_FOLLOW_UP, 0, 0},
    {"the same without the lock: take it",
     {FINISHED, .execution.needs_follow_up = true, .needs_lock = true}, ACTION_LOCK, 0, 0},
    {"the same with an open job: the job counts",
     {ITEM, .execution.needs_follow_up = true}, ACTION_START, 0, 0},
    {"the same for an item that is being deleted: nothing",
     {FINISHED, .execution.needs_follow_up = true, .is_deleting = true}, ACTION_NONE, 0, 0},
    {"deleted, but the job is finished: nothing",
     {FINISHED, .is_deleting = true}, ACTION_NONE, 0, 0},
    {"new job, target not read: read it",
     {ITEM, .target = TARGET_UNKNOWN}, ACTION_RESOLVE_TARGET, 0, 0},
    {"new job, target of another deployer: nothing",
     {ITEM, .target = TARGET_NOT_OURS, .is_responsible = false}, ACTION_NONE, 0, 0},
    {"target of another deployer, lock held: unlock",
     {ITEM, .target = TARGET_NOT_OURS, .is_responsible = false, .has_lock = true},
     ACTION_UNLOCK, 0, 0},
    {"item of another deployer after its deadline: nothing",
     {BEGUN(JOB_PROGRESSING), .target = TARGET_NOT_OURS, .is_responsible = false,
      .deadline_unix_ms = EARLIER}, ACTION_NONE, 0, 0},
    {"responsible deployer unknown after the deadline: read the target first",
     {BEGUN(JOB_PROGRESSING), .target = TARGET_UNKNOWN, .is_responsible = false,
      .deadline_unix_ms = EARLIER}, ACTION_RESOLVE_TARGET, 0, 0},
    {"new job, target missing: failed",
     {ITEM, .target = TARGET_MISSING}, ACTION_FAIL, CAUSE_NO_TARGET, 0},
    {"new job, no configuration: failed",
     {ITEM, .has_config = false}, ACTION_FAIL, CAUSE_NO_CONFIG, 0},
    {"new job, finalizer missing: add it",
     {ITEM, .has_finalizer = false}, ACTION_ADD_FINALIZER, 0, 0},
    {"updateOnChangeOnly, nothing changed: succeeded without a run",
     {ITEM, .is_unchanged = true}, ACTION_FINISH_AS_IS, 0, 0},
    {"updateOnChangeOnly does not end a job that has started",
     {BEGUN(JOB_INIT), .is_unchanged = true}, ACTION_START, 0, 0},

    /* ---- test-reconcile ---- */
    {"test-reconcile on a finished item: a new job is written first",
     {FINISHED, .annotation = ANNOTATED_TEST_RECONCILE}, ACTION_BEGIN, 0, 0},
    {"test-reconcile, the new job is written: remove the annotation",
     {BEGUN(JOB_INIT), .annotation = ANNOTATED_TEST_RECONCILE}, ACTION_REMOVE_ANNOTATION, 0, 0},
    {"test-reconcile with a missing target: the job is written before it fails",
     {FINISHED, .annotation = ANNOTATED_TEST_RECONCILE, .target = TARGET_MISSING}, ACTION_BEGIN, 0, 0},
    {"test-reconcile while a job runs: wait for its end",
     {BEGUN(JOB_PROGRESSING), .annotation = ANNOTATED_TEST_RECONCILE, RUNNING(EXECUTION_OF_JOB)},
     ACTION_WAIT, 0, -1},
    {"test-reconcile of a deletion: a new job is written, too",
     {FINISHED, .is_deleting = true, .annotation = ANNOTATED_TEST_RECONCILE}, ACTION_BEGIN, 0, 0},
    {"reconcile annotation: removed once the pod runs",
     {BEGUN(JOB_PROGRESSING), .annotation = ANNOTATED_RECONCILE, RUNNING(EXECUTION_OF_JOB)}, ACTION_REMOVE_ANNOTATION, 0, 0},

    /* ---- Appendix D: not deleting ---- */
    {"D new job, no pod: start", {ITEM}, ACTION_START, 0, 0},
    {"D new job, running pod of another job: Init, because ending it takes time",
     {ITEM, RUNNING(EXECUTION_OF_OTHER_JOB)}, ACTION_BEGIN, 0, 0},
    {"D new job, its own pod (crash before the status was written): report",
     {ITEM, RUNNING(EXECUTION_OF_JOB)}, ACTION_REPORT, 0, 0},
    {"D new job, its own pod has ended already: complete",
     {ITEM, OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED)}, ACTION_COMPLETE, 0, 0},
    {"D Init, no pod: start", {BEGUN(JOB_INIT)}, ACTION_START, 0, 0},
    {"D Init, active pod of this job: Progressing",
     {BEGUN(JOB_INIT), RUNNING(EXECUTION_OF_JOB)}, ACTION_REPORT, 0, 0},
    {"D Init, active pod of another job: the status shows that the timeout does not count yet",
     {BEGUN(JOB_INIT), RUNNING(EXECUTION_OF_OTHER_JOB)}, ACTION_BEGIN, 0, 0},
    {"D blocked, active pod of another job: end it",
     {BEGUN(JOB_BLOCKED), RUNNING(EXECUTION_OF_OTHER_JOB)}, ACTION_END, 0, 0},
    {"D blocked, the other pod is gone: start",
     {BEGUN(JOB_BLOCKED)}, ACTION_START, 0, 0},
    {"D blocked, started: Progressing, the timeout starts to count",
     {BEGUN(JOB_BLOCKED), RUNNING(EXECUTION_OF_JOB)}, ACTION_REPORT, 0, 0},
    {"D blocked, pod of another job is ending: wait",
     {BEGUN(JOB_BLOCKED), RUNNING(EXECUTION_OF_OTHER_JOB), .execution.is_ending = true}, ACTION_WAIT, 0, -1},
    {"D blocked, pod of another job is ending: not longer than the deadline",
     {BEGUN(JOB_BLOCKED), RUNNING(EXECUTION_OF_OTHER_JOB), .execution.is_ending = true, .deadline_unix_ms = LATER},
     ACTION_WAIT, 0, LATER},
    {"D blocked, pod of another job did not end in time: failed",
     {BEGUN(JOB_BLOCKED), RUNNING(EXECUTION_OF_OTHER_JOB), .execution.is_ending = true, .deadline_unix_ms = NOW},
     ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D Init, finished pod of this job: its result counts",
     {BEGUN(JOB_INIT), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED)}, ACTION_COMPLETE, 0, 0},
    {"D Init, finished pod of another job: clean up, then create",
     {BEGUN(JOB_INIT), OVER(EXECUTION_OF_OTHER_JOB, EXECUTION_SUCCEEDED)}, ACTION_DISCARD, 0, 0},
    {"D Init, a kept pod has the name: remove it",
     {BEGUN(JOB_INIT), .execution.claim = EXECUTION_OF_OTHER_JOB, .execution.is_over = true, .execution.is_kept = true},
     ACTION_DISCARD, 0, 0},
    {"D Progressing, active pod, nothing new: wait for the deadline",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .deadline_unix_ms = LATER},
     ACTION_WAIT, 0, LATER},
    {"an execution inside the controller: its next step",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .execution.needs_step = true},
     ACTION_STEP, 0, 0},
    {"its next step comes after the status reports that it runs",
     {BEGUN(JOB_INIT), RUNNING(EXECUTION_OF_JOB), .execution.needs_step = true},
     ACTION_REPORT, 0, 0},
    {"not after the deadline",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .execution.needs_step = true,
      .deadline_unix_ms = NOW}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D Progressing, active pod, something new: report",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .has_report = true}, ACTION_REPORT, 0, 0},
    {"D Progressing, something new too soon: report later",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .has_report = true,
      .report_due_unix_ms = LATER, .deadline_unix_ms = LATER + 1}, ACTION_WAIT, 0, LATER},
    {"D Progressing, the pod was deleted by a user: wait until it counts as lost",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .execution.is_ending = true,
      .execution.look_again_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"D Progressing, pod succeeded: complete",
     {BEGUN(JOB_PROGRESSING), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED)}, ACTION_COMPLETE, 0, 0},
    {"D Progressing, main and wait have ended, a sidecar is running: complete",
     {BEGUN(JOB_PROGRESSING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_SUCCEEDED}, ACTION_COMPLETE, 0, 0},
    {"D Progressing, pod failed: failed, with the message of the pod",
     {BEGUN(JOB_PROGRESSING), OVER(EXECUTION_OF_JOB, EXECUTION_FAILED)}, ACTION_FAIL, CAUSE_EXECUTION, 0},
    {"D Progressing, no pod in the watch cache: verify", {BEGUN(JOB_PROGRESSING)}, ACTION_VERIFY, 0, 0},
    {"D Progressing, there is no pod: lost",
     {BEGUN(JOB_PROGRESSING), .execution.is_absence_sure = true}, ACTION_FAIL, CAUSE_LOST, 0},
    {"D Progressing, pod deleted before it ran: lost",
     {BEGUN(JOB_PROGRESSING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_WAITING, .execution.is_over = true,
      .execution.is_ending = true}, ACTION_FAIL, CAUSE_LOST, 0},
    {"A Progressing, no pod, but the job had succeeded before a crash: Succeeded",
     {BEGUN(JOB_PROGRESSING), .is_job_successful = true}, ACTION_FINISH_AS_IS, 0, 0},
    {"D Progressing, the item is being deleted: the RECONCILE run continues",
     {DELETION(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB)}, ACTION_WAIT, 0, -1},

    /* ---- Appendix D: deleting ---- */
    {"D new deletion, no pod: start", {DELETION(JOB_IDLE)}, ACTION_START, 0, 0},
    {"D InitDelete, no pod: start the DELETE run", {DELETION(JOB_INIT_DELETE)}, ACTION_START, 0, 0},
    {"D InitDelete, active pod of another job: end it",
     {DELETION(JOB_BLOCKED), RUNNING(EXECUTION_OF_OTHER_JOB)}, ACTION_END, 0, 0},
    {"D InitDelete, active DELETE pod: Deleting",
     {DELETION(JOB_INIT_DELETE), RUNNING(EXECUTION_OF_JOB), .execution.is_delete = true}, ACTION_REPORT, 0, 0},
    {"D Deleting, active: stays Deleting",
     {DELETION(JOB_DELETING), RUNNING(EXECUTION_OF_JOB), .execution.is_delete = true}, ACTION_WAIT, 0, -1},
    {"D Deleting, succeeded: clean up everything",
     {DELETION(JOB_DELETING), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED), .execution.is_delete = true},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D Deleting, succeeded, a sidecar is running: end it first",
     {DELETION(JOB_DELETING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_SUCCEEDED, .execution.is_delete = true},
     ACTION_END, 0, 0},
    {"D Deleting, failed: DeleteFailed, the finalizer stays",
     {DELETION(JOB_DELETING), OVER(EXECUTION_OF_JOB, EXECUTION_FAILED), .execution.is_delete = true},
     ACTION_FAIL, CAUSE_EXECUTION, 0},
    {"D Deleting, no pod in the watch cache: verify", {DELETION(JOB_DELETING)}, ACTION_VERIFY, 0, 0},
    {"D Deleting, there is no pod: DeleteFailed",
     {DELETION(JOB_DELETING), .execution.is_absence_sure = true}, ACTION_FAIL, CAUSE_LOST, 0},
    {"A Deleting, no pod, but the DELETE run has succeeded: clean up",
     {DELETION(JOB_DELETING), .is_job_successful = true}, ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion while the RECONCILE of the same job is lost: DELETE runs",
     {DELETION(JOB_PROGRESSING)}, ACTION_START, 0, 0},
    {"D the success of a RECONCILE pod does not count as a DELETE run",
     {DELETION(JOB_IDLE), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED), .execution.is_delete = false},
     ACTION_COMPLETE, 0, 0},
    {"D1 deleteOperation skip, force-cleanup, delete-without-uninstall: no run",
     {DELETION(JOB_IDLE), .is_uninstall_skipped = true}, ACTION_CLEAN_ITEM, 0, 0},
    {"D1 force-cleanup ends a run that hangs",
     {DELETION(JOB_DELETING), RUNNING(EXECUTION_OF_JOB), .execution.is_delete = true,
      .is_uninstall_skipped = true}, ACTION_END, 0, 0},
    {"D1 force-cleanup removes the pod of another job first",
     {DELETION(JOB_INIT_DELETE), OVER(EXECUTION_OF_OTHER_JOB, EXECUTION_FAILED), .is_uninstall_skipped = true},
     ACTION_DISCARD, 0, 0},
    {"D1 force-cleanup needs no target",
     {DELETION(JOB_IDLE), .is_uninstall_skipped = true, .target = TARGET_MISSING},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D1 force-cleanup does not read the target",
     {DELETION(JOB_IDLE), .is_uninstall_skipped = true, .target = TARGET_UNKNOWN},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D1 force-cleanup, pod of another job runs: InitDelete, so that there is a deadline",
     {DELETION(JOB_IDLE), RUNNING(EXECUTION_OF_OTHER_JOB), .is_uninstall_skipped = true}, ACTION_BEGIN, 0, 0},
    {"D1 force-cleanup, pod of another job is ending: not longer than the deadline",
     {DELETION(JOB_BLOCKED), RUNNING(EXECUTION_OF_OTHER_JOB), .is_uninstall_skipped = true,
      .execution.is_ending = true, .deadline_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"D Deleting, succeeded, a sidecar does not end in time: failed",
     {DELETION(JOB_DELETING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_SUCCEEDED, .execution.is_delete = true,
      .execution.is_ending = true, .deadline_unix_ms = NOW}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D4 deletion without a configuration: nothing to run",
     {DELETION(JOB_IDLE), .has_config = false}, ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion of an item whose status names no pod: did main ever run?",
     {DELETION(JOB_IDLE), .execution.history = RUN_UNKNOWN}, ACTION_LOOK_BACK, 0, 0},
    {"D deletion, a pod has to end before that is known",
     {DELETION(JOB_INIT_DELETE), OVER(EXECUTION_OF_OTHER_JOB, EXECUTION_FAILED), .execution.history = RUN_UNKNOWN},
     ACTION_DISCARD, 0, 0},
    {"D deletion of an item that never ran: nothing to run",
     {DELETION(JOB_IDLE), .execution.history = RUN_NEVER}, ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion: whether it ever ran is checked before the target is read",
     {DELETION(JOB_IDLE), .execution.history = RUN_UNKNOWN, .target = TARGET_UNKNOWN},
     ACTION_LOOK_BACK, 0, 0},
    {"D deletion of an item that never ran needs no target",
     {DELETION(JOB_IDLE), .execution.history = RUN_NEVER, .target = TARGET_MISSING},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion of an item that ran needs its target",
     {DELETION(JOB_IDLE), .target = TARGET_UNKNOWN}, ACTION_RESOLVE_TARGET, 0, 0},
    {"D deletion with a selector: match the target without reading its content",
     {DELETION(JOB_IDLE), .execution.history = RUN_UNKNOWN, .target = TARGET_UNKNOWN,
      .is_responsible = false}, ACTION_CLAIM, 0, 0},
    {"D deletion with a selector, ours: did main ever run?",
     {DELETION(JOB_IDLE), .execution.history = RUN_UNKNOWN, .target = TARGET_OURS}, ACTION_LOOK_BACK, 0, 0},
    {"D deletion with a selector, ours, and main ran: read the target",
     {DELETION(JOB_IDLE), .target = TARGET_OURS}, ACTION_RESOLVE_TARGET, 0, 0},
    {"D deletion without our finalizer: no finalizer is added",
     {DELETION(JOB_IDLE), .has_finalizer = false}, ACTION_START, 0, 0},
    {"D deletion, target missing: DeleteFailed",
     {DELETION(JOB_IDLE), .target = TARGET_MISSING}, ACTION_FAIL, CAUSE_NO_TARGET, 0},
    {"D2 cleaned up: wait until the item is gone",
     {DELETION(JOB_DELETING), .is_cleaned = true}, ACTION_WAIT, 0, -1},

    /* ---- Appendix D: any ---- */
    {"D temporary image error: wait for the end of its grace period",
     {BEGUN(JOB_PROGRESSING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_STUCK, .execution.give_up_unix_ms = LATER},
     ACTION_WAIT, 0, LATER},
    {"D image error after its grace period: failed",
     {BEGUN(JOB_PROGRESSING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_STUCK, .execution.give_up_unix_ms = NOW},
     ACTION_FAIL, CAUSE_EXECUTION, 0},
    {"D permanent image error: failed immediately",
     {BEGUN(JOB_PROGRESSING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_FAILED},
     ACTION_FAIL, CAUSE_EXECUTION, 0},
    {"D unschedulable: only the timeout of the item ends it",
     {BEGUN(JOB_PROGRESSING), .execution.claim = EXECUTION_OF_JOB, .execution.state = EXECUTION_STUCK, .execution.give_up_unix_ms = -1,
      .deadline_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"D deadline passed: failed",
     {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB), .deadline_unix_ms = NOW},
     ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D deadline of a deletion passed: failed",
     {DELETION(JOB_DELETING), RUNNING(EXECUTION_OF_JOB), .execution.is_delete = true,
      .deadline_unix_ms = EARLIER}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D deadline passed before a pod was created: failed",
     {BEGUN(JOB_INIT), .deadline_unix_ms = EARLIER}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"R1 no deadline: never", {BEGUN(JOB_PROGRESSING), RUNNING(EXECUTION_OF_JOB)}, ACTION_WAIT, 0, -1},
    {"D a result takes precedence over the deadline",
     {BEGUN(JOB_PROGRESSING), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED), .deadline_unix_ms = EARLIER},
     ACTION_COMPLETE, 0, 0},
    {"a result that can't be stored until the deadline: failed",
     {BEGUN(JOB_PROGRESSING), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED), .fault = FAULT_REPORTED,
      .retry_unix_ms = LATER, .deadline_unix_ms = EARLIER}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"a result that can't be stored yet: retry",
     {BEGUN(JOB_PROGRESSING), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED), .fault = FAULT_REPORTED,
      .retry_unix_ms = NOW, .deadline_unix_ms = LATER}, ACTION_COMPLETE, 0, 0},
    {"D job finished by a timeout, pod runs: end it",
     {FINISHED, RUNNING(EXECUTION_OF_OTHER_JOB)}, ACTION_END, 0, 0},
    {"3.8 interrupted, pod of that job runs: end it",
     {FINISHED, RUNNING(EXECUTION_OF_JOB)}, ACTION_END, 0, 0},
    {"job finished, pod is ending: wait",
     {FINISHED, RUNNING(EXECUTION_OF_JOB), .execution.is_ending = true}, ACTION_WAIT, 0, -1},
    {"job finished, pod is over: remove it and the run's objects",
     {FINISHED, OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED)}, ACTION_DISCARD, 0, 0},
    {"debug.keepPod: a pod without its finalizer is kept",
     {FINISHED, .execution.claim = EXECUTION_OF_JOB, .execution.is_over = true, .execution.is_kept = true}, ACTION_NONE, 0, 0},
    {"a pod of an item that never had a job is left alone",
     {.execution.claim = EXECUTION_OF_OTHER_JOB, .execution.is_over = true, .deadline_unix_ms = -1},
     ACTION_NONE, 0, 0},
    {"job finished without a pod, inputs exist: remove them",
     {FINISHED, .execution.has_leftovers = true}, ACTION_CLEAN_RUN, 0, 0},
    {"job finished, all removed: unlock", {FINISHED, .has_lock = true}, ACTION_UNLOCK, 0, 0},
    {"item gone, pod runs: end it", {.is_gone = true, RUNNING(EXECUTION_OF_OTHER_JOB)}, ACTION_END, 0, 0},
    {"item gone, pod over: remove it",
     {.is_gone = true, OVER(EXECUTION_OF_OTHER_JOB, EXECUTION_SUCCEEDED)}, ACTION_DISCARD, 0, 0},

    /* ---- Faults and locks ---- */
    {"R5 a new fault is reported", {ITEM, .fault = FAULT_NEW}, ACTION_REPORT_FAULT, 0, 0},
    {"R4 a reported fault is retried later",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"R5 not later than the deadline",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = LATER + 9,
      .deadline_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"a fault is retried after its back-off",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = NOW}, ACTION_START, 0, 0},
    {"R5 a persistent fault ends at the deadline",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = LATER, .deadline_unix_ms = NOW},
     ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"a permanent fault fails immediately",
     {ITEM, .fault = FAULT_FINAL}, ACTION_FAIL, CAUSE_FAULT, 0},
    {"a read or write of our own failed: nothing before the back-off is over",
     {BEGUN(JOB_PROGRESSING), OVER(EXECUTION_OF_JOB, EXECUTION_SUCCEEDED), .back_off_unix_ms = LATER,
      .deadline_unix_ms = EARLIER}, ACTION_WAIT, 0, LATER},
    {"3.9 a pod of a finished job is ended only with the lock",
     {FINISHED, RUNNING(EXECUTION_OF_JOB), .needs_lock = true}, ACTION_LOCK, 0, 0},
    {"3.9 a pod of an item that is gone needs no lock",
     {.is_gone = true, RUNNING(EXECUTION_OF_OTHER_JOB), .needs_lock = true}, ACTION_END, 0, 0},
    {"3.9 several replicas: lock first", {ITEM, .needs_lock = true}, ACTION_LOCK, 0, 0},
    {"3.9 locked by another replica: later",
     {ITEM, .needs_lock = true, .lock_retry_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"3.9 timed out, but another replica may be working on it: lock first",
     {BEGUN(JOB_PROGRESSING), .needs_lock = true, .deadline_unix_ms = EARLIER}, ACTION_LOCK, 0, 0},
    {"3.9 a fault is reported only with the lock",
     {ITEM, .needs_lock = true, .fault = FAULT_NEW}, ACTION_LOCK, 0, 0},
    {"3.9 inputs without a pod are removed only with the lock",
     {FINISHED, .needs_lock = true, .execution.has_leftovers = true}, ACTION_LOCK, 0, 0},
    {"3.9 locked by us: continue", {ITEM, .needs_lock = true, .has_lock = true}, ACTION_START, 0, 0},
};
/* clang-format on */

static void every_row_of_the_state_machine(void **state)
{
    size_t failed = 0;

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        struct decision decision = decide(&rows[i].observed, NOW);

        if (decision.action == rows[i].action &&
            (decision.action != ACTION_FAIL || decision.cause == rows[i].cause) &&
            (decision.action != ACTION_WAIT || decision.wake_unix_ms == rows[i].wake))
            continue;
        failed++;
        print_error("%s: got %s, cause %d, wake %lld\n", rows[i].name, action_name(decision.action),
                    decision.cause, (long long)decision.wake_unix_ms);
    }
    assert_int_equal(failed, 0);
}

static bool has_row(const char *name)
{
    for (size_t i = 0; i < array_length(rows); i++) {
        if (strcmp(rule_name(decide(&rows[i].observed, NOW).rule), name) == 0)
            return true;
    }
    return false;
}

/* A rule that never applies would make the documentation wrong. */
static void every_rule_has_a_unique_name_and_a_row(void **state)
{
    size_t count = 0;

    (void)state;
    for (; rule_name(count); count++) {
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(rule_name(i), rule_name(count));
        if (!has_row(rule_name(count)))
            fail_msg("no row for the rule %s", rule_name(count));
    }
    assert_in_range(count, 1, METRICS_RULES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_state_machine),
        cmocka_unit_test(every_rule_has_a_unique_name_and_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
