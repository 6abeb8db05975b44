/* SPDX-License-Identifier: Apache-2.0 */
/* What to do next for one item: a pure function of what was observed and of the time.
 *
 * The function is an ordered table of named rules; the first rule that applies decides. Every state
 * that a crash, a stopped process, a lost execution or another deployer can leave behind is a value
 * of struct observed, so whatever happened before, deciding again makes progress. One action runs
 * at a time; when it is done, or when anything changes, observe and decide again. The same table,
 * with one line for each rule, is in docs/controller.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/engine.h"

/* The phase of the open job. A phase that an earlier job left behind counts as JOB_IDLE. */
enum job_phase {
    JOB_IDLE,        /* no phase, a final one, or no initTime: the job has not begun */
    JOB_BLOCKED,     /* Init or InitDelete, while an execution of another job has to end first: the
                      * job's timeout does not count yet */
    JOB_INIT,        /* Init */
    JOB_PROGRESSING, /* Progressing, and every other phase that is not final */
    JOB_INIT_DELETE, /* InitDelete */
    JOB_DELETING,    /* Deleting */
};

enum target_knowledge {
    TARGET_UNKNOWN,
    TARGET_NOT_OURS, /* the selector does not match: another deployer's item */
    TARGET_MISSING,
    TARGET_OURS,  /* the selector matches; the target's content has not been read */
    TARGET_KNOWN, /* the content has been read, or the item has no target */
};

/* The result of the last attempt to do something for the job. */
enum fault_state {
    FAULT_NONE,
    FAULT_NEW,      /* to be written to the status, then retried */
    FAULT_REPORTED, /* in the status; retried at retry_unix_ms */
    FAULT_FINAL,    /* a retry cannot succeed */
};

/* The annotation landscaper.gardener.cloud/operation. */
enum operation_annotation {
    ANNOTATED_NONE,
    ANNOTATED_TEST_RECONCILE,
    ANNOTATED_RECONCILE,
};

struct observed {
    /* The item. If it is gone, only executions are left to look after. */
    bool is_gone;
    bool is_deleting, has_finalizer;
    bool has_job;     /* jobID is set */
    bool is_job_open; /* jobID != jobIDFinished */
    enum operation_annotation annotation;
    enum job_phase phase;
    bool has_config;
    bool is_unchanged;         /* updateOnChangeOnly, and nothing changed since a success */
    bool is_uninstall_skipped; /* delete-without-uninstall, force-cleanup, deleteOperation: skip */
    bool is_job_successful;    /* already in providerStatus: lastSuccessfulJobID == jobID */
    int64_t deadline_unix_ms; /* -1: none, or the job has not begun. JOB_BLOCKED: the execution that
                               * is in the way has its own time, then the item's timeout */

    struct execution execution; /* filled by the engine */

    /* What this process knows. */
    bool is_responsible; /* the target selector does not, or cannot, exclude the item */
    bool needs_lock, has_lock;
    int64_t lock_retry_unix_ms; /* 0: not tried yet */
    enum target_knowledge target;
    enum fault_state fault;
    int64_t retry_unix_ms;      /* of a fault */
    int64_t back_off_unix_ms;   /* a read or write of our own failed: nothing at all before this */
    bool has_report;            /* the execution's state differs from the status */
    int64_t report_due_unix_ms; /* reports are rate-limited: not before this */
    bool is_cleaned;            /* our finalizer is removed: the item will be gone in a moment */
};

enum action {
    ACTION_NONE,              /* there is nothing left to do for the item */
    ACTION_WAIT,              /* until wake_unix_ms at the latest */
    ACTION_LOCK,              /* take the item's SyncObject */
    ACTION_UNLOCK,            /* release it */
    ACTION_CLAIM,             /* check whether the selector matches the target, and no more */
    ACTION_RESOLVE_TARGET,    /* the same, and read the target's content */
    ACTION_FOLLOW_UP,         /* engine: look after an item whose job is finished */
    ACTION_LOOK_BACK,         /* engine: has the item ever been executed? */
    ACTION_BEGIN,             /* write Init or InitDelete: the job cannot start at once */
    ACTION_REMOVE_ANNOTATION, /* the operation annotation */
    ACTION_ADD_FINALIZER,     /* to the item */
    ACTION_START,             /* engine: start the execution */
    ACTION_STEP,              /* engine: take the next step of an execution inside the controller */
    ACTION_REPORT,            /* write the execution's state; Progressing or Deleting */
    ACTION_REPORT_FAULT,      /* write what went wrong; the job goes on */
    ACTION_VERIFY,            /* engine: ask whether the execution is really gone */
    ACTION_END,               /* engine: ask the execution to end */
    ACTION_DISCARD,           /* engine: remove an execution that is over */
    ACTION_CLEAN_RUN,         /* engine: remove what an execution that never started left behind */
    ACTION_COMPLETE,          /* store the exports, then write Succeeded */
    ACTION_FAIL,              /* write Failed or DeleteFailed with the cause */
    ACTION_FINISH_AS_IS,      /* write Succeeded without an execution */
    ACTION_CLEAN_ITEM,        /* engine: remove every object of the item; then our finalizer */
    ACTION_COUNT,
};

enum cause {
    CAUSE_NONE,
    CAUSE_FAULT, /* the last attempt's error */
    CAUSE_NO_TARGET,
    CAUSE_NO_CONFIG,
    CAUSE_TIMEOUT,
    CAUSE_EXECUTION, /* the execution failed; the engine knows why */
    CAUSE_LOST,      /* the execution was removed by somebody else */
};

struct decision {
    size_t rule; /* index into the table of rules */
    enum action action;
    enum cause cause;     /* of ACTION_FAIL */
    int64_t wake_unix_ms; /* of ACTION_WAIT; -1: only an event can change anything */
};

struct decision decide(const struct observed *observed, int64_t now_unix_ms);

/* The names of the rules in their order, for logs and metrics; NULL beyond the last. */
const char *rule_name(size_t rule);
