/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the state machine, by name. What holds in all states: decide_space_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "deployer/controller/decide.h"

enum { NOW = 1000000, LATER = NOW + 5000, EARLIER = NOW - 5000 };

/* An item with an open job that is ours, with a configuration and a finalizer; nothing begun. */
#define ITEM                                                                                       \
    .has_job = true, .is_job_open = true, .has_config = true, .has_finalizer = true,               \
    .is_responsible = true, .target = TARGET_KNOWN, .deadline_unix_ms = -1, .give_up_unix_ms = -1, \
    .look_again_unix_ms = -1
#define BEGUN(phase_) ITEM, .phase = (phase_)
#define DELETION(phase_) BEGUN(phase_), .is_deleting = true, .history = RUN_SOME
#define FINISHED                                                                                   \
    .has_job = true, .has_config = true, .has_finalizer = true, .is_responsible = true,            \
    .target = TARGET_KNOWN, .deadline_unix_ms = -1, .give_up_unix_ms = -1,                         \
    .look_again_unix_ms = -1
#define RUNNING(claim_) .pod = (claim_), .outcome = POD_RUNNING, .has_pod_finalizer = true
#define OVER(claim_, outcome_)                                                                     \
    .pod = (claim_), .outcome = (outcome_), .is_pod_over = true, .has_pod_finalizer = true

/* Rows say what differs from an ordinary item, so they overwrite what the macros above set. */
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
    {"deleted, but the job is the old one: left alone",
     {FINISHED, .is_deleting = true}, ACTION_NONE, 0, 0},
    {"new job, target not looked at: look",
     {ITEM, .target = TARGET_UNKNOWN}, ACTION_RESOLVE_TARGET, 0, 0},
    {"new job, somebody else's target: nothing",
     {ITEM, .target = TARGET_NOT_OURS, .is_responsible = false}, ACTION_NONE, 0, 0},
    {"somebody else's target, lock held: give it back",
     {ITEM, .target = TARGET_NOT_OURS, .is_responsible = false, .has_lock = true},
     ACTION_UNLOCK, 0, 0},
    {"somebody else's item whose time is over: nothing",
     {BEGUN(JOB_PROGRESSING), .target = TARGET_NOT_OURS, .is_responsible = false,
      .deadline_unix_ms = EARLIER}, ACTION_NONE, 0, 0},
    {"nobody knows whose item it is: the deadline waits for the answer",
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
    {"updateOnChangeOnly does not end a job that was begun",
     {BEGUN(JOB_INIT), .is_unchanged = true}, ACTION_START, 0, 0},

    /* ---- test-reconcile ---- */
    {"test-reconcile on a finished item: a new job is written first",
     {FINISHED, .note = NOTE_TEST_RECONCILE}, ACTION_BEGIN, 0, 0},
    {"test-reconcile, the new job is written: the annotation goes",
     {BEGUN(JOB_INIT), .note = NOTE_TEST_RECONCILE}, ACTION_DROP_NOTE, 0, 0},
    {"test-reconcile with a missing target: the job is made before it is failed",
     {FINISHED, .note = NOTE_TEST_RECONCILE, .target = TARGET_MISSING}, ACTION_BEGIN, 0, 0},
    {"test-reconcile while a job runs: waits for its end",
     {BEGUN(JOB_PROGRESSING), .note = NOTE_TEST_RECONCILE, RUNNING(POD_OF_JOB)},
     ACTION_WAIT, 0, -1},
    {"test-reconcile of a deletion: a job too",
     {FINISHED, .is_deleting = true, .note = NOTE_TEST_RECONCILE}, ACTION_BEGIN, 0, 0},
    {"reconcile annotation: goes once the pod runs",
     {BEGUN(JOB_PROGRESSING), .note = NOTE_RECONCILE, RUNNING(POD_OF_JOB)}, ACTION_DROP_NOTE, 0, 0},

    /* ---- Appendix D: not deleting ---- */
    {"D new job, no pod: start", {ITEM}, ACTION_START, 0, 0},
    {"D new job, running pod of another job: Init, because it takes time",
     {ITEM, RUNNING(POD_FOREIGN)}, ACTION_BEGIN, 0, 0},
    {"D new job, its own pod (we died before the status): report",
     {ITEM, RUNNING(POD_OF_JOB)}, ACTION_REPORT, 0, 0},
    {"D new job, its own pod has ended already: complete",
     {ITEM, OVER(POD_OF_JOB, POD_SUCCEEDED)}, ACTION_COMPLETE, 0, 0},
    {"D Init, no pod: start", {BEGUN(JOB_INIT)}, ACTION_START, 0, 0},
    {"D Init, active pod of this job: Progressing",
     {BEGUN(JOB_INIT), RUNNING(POD_OF_JOB)}, ACTION_REPORT, 0, 0},
    {"D Init, active pod of another job: end it",
     {BEGUN(JOB_INIT), RUNNING(POD_FOREIGN)}, ACTION_END_POD, 0, 0},
    {"D Init, pod of another job is ending: wait",
     {BEGUN(JOB_INIT), RUNNING(POD_FOREIGN), .is_pod_deleting = true}, ACTION_WAIT, 0, -1},
    {"D Init, pod of another job is ending: not longer than the deadline",
     {BEGUN(JOB_INIT), RUNNING(POD_FOREIGN), .is_pod_deleting = true, .deadline_unix_ms = LATER},
     ACTION_WAIT, 0, LATER},
    {"D Init, pod of another job did not end in time: failed",
     {BEGUN(JOB_INIT), RUNNING(POD_FOREIGN), .is_pod_deleting = true, .deadline_unix_ms = NOW},
     ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D Init, finished pod of this job: its result counts",
     {BEGUN(JOB_INIT), OVER(POD_OF_JOB, POD_SUCCEEDED)}, ACTION_COMPLETE, 0, 0},
    {"D Init, finished pod of another job: clean up, then create",
     {BEGUN(JOB_INIT), OVER(POD_FOREIGN, POD_SUCCEEDED)}, ACTION_DISCARD_POD, 0, 0},
    {"D Init, a kept pod has the name: it goes",
     {BEGUN(JOB_INIT), .pod = POD_FOREIGN, .is_pod_over = true, .is_pod_kept = true},
     ACTION_DISCARD_POD, 0, 0},
    {"D Progressing, active pod, nothing new: wait for the deadline",
     {BEGUN(JOB_PROGRESSING), RUNNING(POD_OF_JOB), .deadline_unix_ms = LATER},
     ACTION_WAIT, 0, LATER},
    {"D Progressing, active pod, something new: report",
     {BEGUN(JOB_PROGRESSING), RUNNING(POD_OF_JOB), .has_report = true}, ACTION_REPORT, 0, 0},
    {"D Progressing, something new too soon: report later",
     {BEGUN(JOB_PROGRESSING), RUNNING(POD_OF_JOB), .has_report = true,
      .report_due_unix_ms = LATER, .deadline_unix_ms = LATER + 1}, ACTION_WAIT, 0, LATER},
    {"D Progressing, somebody has deleted the pod: wait until it must be lost",
     {BEGUN(JOB_PROGRESSING), RUNNING(POD_OF_JOB), .is_pod_deleting = true,
      .look_again_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"D Progressing, pod succeeded: complete",
     {BEGUN(JOB_PROGRESSING), OVER(POD_OF_JOB, POD_SUCCEEDED)}, ACTION_COMPLETE, 0, 0},
    {"D Progressing, main and wait are done, a sidecar runs on: complete",
     {BEGUN(JOB_PROGRESSING), .pod = POD_OF_JOB, .outcome = POD_SUCCEEDED}, ACTION_COMPLETE, 0, 0},
    {"D Progressing, pod failed: failed, with the pod's words",
     {BEGUN(JOB_PROGRESSING), OVER(POD_OF_JOB, POD_FAILED)}, ACTION_FAIL, CAUSE_POD, 0},
    {"D Progressing, no pod seen: ask", {BEGUN(JOB_PROGRESSING)}, ACTION_VERIFY_POD, 0, 0},
    {"D Progressing, there is no pod: lost",
     {BEGUN(JOB_PROGRESSING), .is_pod_absence_sure = true}, ACTION_FAIL, CAUSE_POD_LOST, 0},
    {"D Progressing, pod deleted before it ran: lost",
     {BEGUN(JOB_PROGRESSING), .pod = POD_OF_JOB, .outcome = POD_WAITING, .is_pod_over = true,
      .is_pod_deleting = true}, ACTION_FAIL, CAUSE_POD_LOST, 0},
    {"A Progressing, no pod, but the job has succeeded before we died: Succeeded",
     {BEGUN(JOB_PROGRESSING), .is_job_successful = true}, ACTION_FINISH_AS_IS, 0, 0},
    {"D Progressing, the item is being deleted: the run goes on as what it is",
     {DELETION(JOB_PROGRESSING), RUNNING(POD_OF_JOB)}, ACTION_WAIT, 0, -1},

    /* ---- Appendix D: deleting ---- */
    {"D new deletion, no pod: start", {DELETION(JOB_IDLE)}, ACTION_START, 0, 0},
    {"D InitDelete, no pod: start the DELETE run", {DELETION(JOB_INIT_DELETE)}, ACTION_START, 0, 0},
    {"D InitDelete, active pod of another job: end it",
     {DELETION(JOB_INIT_DELETE), RUNNING(POD_FOREIGN)}, ACTION_END_POD, 0, 0},
    {"D InitDelete, active DELETE pod: Deleting",
     {DELETION(JOB_INIT_DELETE), RUNNING(POD_OF_JOB), .is_pod_delete = true}, ACTION_REPORT, 0, 0},
    {"D Deleting, active: stays Deleting",
     {DELETION(JOB_DELETING), RUNNING(POD_OF_JOB), .is_pod_delete = true}, ACTION_WAIT, 0, -1},
    {"D Deleting, succeeded: clean up everything",
     {DELETION(JOB_DELETING), OVER(POD_OF_JOB, POD_SUCCEEDED), .is_pod_delete = true},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D Deleting, succeeded, a sidecar runs on: end it first",
     {DELETION(JOB_DELETING), .pod = POD_OF_JOB, .outcome = POD_SUCCEEDED, .is_pod_delete = true},
     ACTION_END_POD, 0, 0},
    {"D Deleting, failed: DeleteFailed, the finalizer stays",
     {DELETION(JOB_DELETING), OVER(POD_OF_JOB, POD_FAILED), .is_pod_delete = true},
     ACTION_FAIL, CAUSE_POD, 0},
    {"D Deleting, no pod seen: ask", {DELETION(JOB_DELETING)}, ACTION_VERIFY_POD, 0, 0},
    {"D Deleting, there is no pod: DeleteFailed",
     {DELETION(JOB_DELETING), .is_pod_absence_sure = true}, ACTION_FAIL, CAUSE_POD_LOST, 0},
    {"A Deleting, no pod, but the DELETE run has succeeded: clean up",
     {DELETION(JOB_DELETING), .is_job_successful = true}, ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion while the RECONCILE of the same job is lost: DELETE runs",
     {DELETION(JOB_PROGRESSING)}, ACTION_START, 0, 0},
    {"D a RECONCILE pod's success is no DELETE run",
     {DELETION(JOB_IDLE), OVER(POD_OF_JOB, POD_SUCCEEDED), .is_pod_delete = false},
     ACTION_COMPLETE, 0, 0},
    {"D1 deleteOperation skip, force-cleanup, delete-without-uninstall: no run",
     {DELETION(JOB_IDLE), .is_uninstall_skipped = true}, ACTION_CLEAN_ITEM, 0, 0},
    {"D1 force-cleanup ends a run that hangs",
     {DELETION(JOB_DELETING), RUNNING(POD_OF_JOB), .is_pod_delete = true,
      .is_uninstall_skipped = true}, ACTION_END_POD, 0, 0},
    {"D1 force-cleanup removes the pod of another job first",
     {DELETION(JOB_INIT_DELETE), OVER(POD_FOREIGN, POD_FAILED), .is_uninstall_skipped = true},
     ACTION_DISCARD_POD, 0, 0},
    {"D1 force-cleanup needs no target",
     {DELETION(JOB_IDLE), .is_uninstall_skipped = true, .target = TARGET_MISSING},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D1 force-cleanup does not even look for the target",
     {DELETION(JOB_IDLE), .is_uninstall_skipped = true, .target = TARGET_UNKNOWN},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D1 force-cleanup, pod of another job runs: InitDelete, so that there is a deadline",
     {DELETION(JOB_IDLE), RUNNING(POD_FOREIGN), .is_uninstall_skipped = true}, ACTION_BEGIN, 0, 0},
    {"D1 force-cleanup, pod of another job is ending: not longer than the deadline",
     {DELETION(JOB_INIT_DELETE), RUNNING(POD_FOREIGN), .is_uninstall_skipped = true,
      .is_pod_deleting = true, .deadline_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"D Deleting, succeeded, a sidecar does not end in time: failed",
     {DELETION(JOB_DELETING), .pod = POD_OF_JOB, .outcome = POD_SUCCEEDED, .is_pod_delete = true,
      .is_pod_deleting = true, .deadline_unix_ms = NOW}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D4 deletion without a configuration: nothing to run",
     {DELETION(JOB_IDLE), .has_config = false}, ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion of an item whose status names no pod: did main ever run?",
     {DELETION(JOB_IDLE), .history = RUN_UNKNOWN}, ACTION_LOOK_BACK, 0, 0},
    {"D deletion, a pod has to go before anybody can tell",
     {DELETION(JOB_INIT_DELETE), OVER(POD_FOREIGN, POD_FAILED), .history = RUN_UNKNOWN},
     ACTION_DISCARD_POD, 0, 0},
    {"D deletion of an item that never ran: nothing to run",
     {DELETION(JOB_IDLE), .history = RUN_NEVER}, ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion: whether it ever ran is asked before the target is",
     {DELETION(JOB_IDLE), .history = RUN_UNKNOWN, .target = TARGET_UNKNOWN},
     ACTION_LOOK_BACK, 0, 0},
    {"D deletion of an item that never ran needs no target",
     {DELETION(JOB_IDLE), .history = RUN_NEVER, .target = TARGET_MISSING},
     ACTION_CLEAN_ITEM, 0, 0},
    {"D deletion of an item that ran does",
     {DELETION(JOB_IDLE), .target = TARGET_UNKNOWN}, ACTION_RESOLVE_TARGET, 0, 0},
    {"D deletion with a selector: ours or not, and not what is in the target",
     {DELETION(JOB_IDLE), .history = RUN_UNKNOWN, .target = TARGET_UNKNOWN,
      .is_responsible = false}, ACTION_CLAIM, 0, 0},
    {"D deletion with a selector, ours: did main ever run?",
     {DELETION(JOB_IDLE), .history = RUN_UNKNOWN, .target = TARGET_OURS}, ACTION_LOOK_BACK, 0, 0},
    {"D deletion with a selector, ours, and main ran: read the target",
     {DELETION(JOB_IDLE), .target = TARGET_OURS}, ACTION_RESOLVE_TARGET, 0, 0},
    {"D deletion without our finalizer: no finalizer is added",
     {DELETION(JOB_IDLE), .has_finalizer = false}, ACTION_START, 0, 0},
    {"D deletion, target missing: DeleteFailed",
     {DELETION(JOB_IDLE), .target = TARGET_MISSING}, ACTION_FAIL, CAUSE_NO_TARGET, 0},
    {"D2 cleaned up: wait for the item to go",
     {DELETION(JOB_DELETING), .is_cleaned = true}, ACTION_WAIT, 0, -1},

    /* ---- Appendix D: any ---- */
    {"D image error that may pass: wait for the end of its grace",
     {BEGUN(JOB_PROGRESSING), .pod = POD_OF_JOB, .outcome = POD_STUCK, .give_up_unix_ms = LATER},
     ACTION_WAIT, 0, LATER},
    {"D image error, grace is over: failed",
     {BEGUN(JOB_PROGRESSING), .pod = POD_OF_JOB, .outcome = POD_STUCK, .give_up_unix_ms = NOW},
     ACTION_FAIL, CAUSE_POD, 0},
    {"D image error that can't pass: failed at once",
     {BEGUN(JOB_PROGRESSING), .pod = POD_OF_JOB, .outcome = POD_HOPELESS},
     ACTION_FAIL, CAUSE_POD, 0},
    {"D unschedulable: only the item's time ends it",
     {BEGUN(JOB_PROGRESSING), .pod = POD_OF_JOB, .outcome = POD_STUCK, .give_up_unix_ms = -1,
      .deadline_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"D deadline passed: failed",
     {BEGUN(JOB_PROGRESSING), RUNNING(POD_OF_JOB), .deadline_unix_ms = NOW},
     ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D deadline of a deletion passed: failed",
     {DELETION(JOB_DELETING), RUNNING(POD_OF_JOB), .is_pod_delete = true,
      .deadline_unix_ms = EARLIER}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"D deadline passed before a pod was there: failed",
     {BEGUN(JOB_INIT), .deadline_unix_ms = EARLIER}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"R1 no deadline: never", {BEGUN(JOB_PROGRESSING), RUNNING(POD_OF_JOB)}, ACTION_WAIT, 0, -1},
    {"D a result counts more than the deadline",
     {BEGUN(JOB_PROGRESSING), OVER(POD_OF_JOB, POD_SUCCEEDED), .deadline_unix_ms = EARLIER},
     ACTION_COMPLETE, 0, 0},
    {"a result that can't be brought home ends with the item's time",
     {BEGUN(JOB_PROGRESSING), OVER(POD_OF_JOB, POD_SUCCEEDED), .fault = FAULT_REPORTED,
      .retry_unix_ms = LATER, .deadline_unix_ms = EARLIER}, ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"a result that can't be brought home yet is tried again",
     {BEGUN(JOB_PROGRESSING), OVER(POD_OF_JOB, POD_SUCCEEDED), .fault = FAULT_REPORTED,
      .retry_unix_ms = NOW, .deadline_unix_ms = LATER}, ACTION_COMPLETE, 0, 0},
    {"D job finished by a timeout, pod runs: end it",
     {FINISHED, RUNNING(POD_FOREIGN)}, ACTION_END_POD, 0, 0},
    {"3.8 interrupted, pod of that job runs: end it",
     {FINISHED, RUNNING(POD_OF_JOB)}, ACTION_END_POD, 0, 0},
    {"job finished, pod is ending: wait",
     {FINISHED, RUNNING(POD_OF_JOB), .is_pod_deleting = true}, ACTION_WAIT, 0, -1},
    {"job finished, pod is over: remove it and the run's objects",
     {FINISHED, OVER(POD_OF_JOB, POD_SUCCEEDED)}, ACTION_DISCARD_POD, 0, 0},
    {"debug.keepPod: a pod without its finalizer stays",
     {FINISHED, .pod = POD_OF_JOB, .is_pod_over = true, .is_pod_kept = true}, ACTION_NONE, 0, 0},
    {"a pod beside an item that never had a job is not ours to judge",
     {.pod = POD_FOREIGN, .is_pod_over = true, .has_pod_finalizer = true, .deadline_unix_ms = -1},
     ACTION_NONE, 0, 0},
    {"job finished without a pod, inputs were made: remove them",
     {FINISHED, .has_run_objects = true}, ACTION_CLEAN_RUN, 0, 0},
    {"job finished, all removed: unlock", {FINISHED, .has_lock = true}, ACTION_UNLOCK, 0, 0},
    {"item gone, pod runs: end it", {.is_gone = true, RUNNING(POD_FOREIGN)}, ACTION_END_POD, 0, 0},
    {"item gone, pod over: remove it",
     {.is_gone = true, OVER(POD_FOREIGN, POD_SUCCEEDED)}, ACTION_DISCARD_POD, 0, 0},

    /* ---- Faults and locks ---- */
    {"R5 a new fault is told", {ITEM, .fault = FAULT_NEW}, ACTION_REPORT_FAULT, 0, 0},
    {"R4 a fault that was told is tried again later",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"R5 not later than the deadline",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = LATER + 9,
      .deadline_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"a fault whose time has come is tried again",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = NOW}, ACTION_START, 0, 0},
    {"R5 the deadline ends a fault that lasts",
     {BEGUN(JOB_INIT), .fault = FAULT_REPORTED, .retry_unix_ms = LATER, .deadline_unix_ms = NOW},
     ACTION_FAIL, CAUSE_TIMEOUT, 0},
    {"a fault that can't pass fails at once",
     {ITEM, .fault = FAULT_FINAL}, ACTION_FAIL, CAUSE_FAULT, 0},
    {"our own bookkeeping failed: nothing before the back-off is over",
     {BEGUN(JOB_PROGRESSING), OVER(POD_OF_JOB, POD_SUCCEEDED), .hold_unix_ms = LATER,
      .deadline_unix_ms = EARLIER}, ACTION_WAIT, 0, LATER},
    {"3.9 a pod of a finished job is ended only with the lock",
     {FINISHED, RUNNING(POD_OF_JOB), .needs_lock = true}, ACTION_LOCK, 0, 0},
    {"3.9 a pod of an item that is gone needs no lock",
     {.is_gone = true, RUNNING(POD_FOREIGN), .needs_lock = true}, ACTION_END_POD, 0, 0},
    {"3.9 several replicas: lock first", {ITEM, .needs_lock = true}, ACTION_LOCK, 0, 0},
    {"3.9 locked by somebody else: later",
     {ITEM, .needs_lock = true, .lock_retry_unix_ms = LATER}, ACTION_WAIT, 0, LATER},
    {"3.9 the time is over, but another replica may be at it: lock first",
     {BEGUN(JOB_PROGRESSING), .needs_lock = true, .deadline_unix_ms = EARLIER}, ACTION_LOCK, 0, 0},
    {"3.9 a fault is told only with the lock",
     {ITEM, .needs_lock = true, .fault = FAULT_NEW}, ACTION_LOCK, 0, 0},
    {"3.9 inputs without a pod are removed only with the lock",
     {FINISHED, .needs_lock = true, .has_run_objects = true}, ACTION_LOCK, 0, 0},
    {"3.9 locked by us: go on", {ITEM, .needs_lock = true, .has_lock = true}, ACTION_START, 0, 0},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_state_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
