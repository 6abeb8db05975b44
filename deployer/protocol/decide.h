/* SPDX-License-Identifier: Apache-2.0 */
/* What to do next for one item: a pure function of what was observed and of the time. Every state
 * that a crash, a stopped process, a lost pod or another deployer can leave behind is a value of
 * struct observed, so whatever happened before, deciding again leads on.
 *
 * One action at a time. When it is done, or when anything changes, observe and decide again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "deployer/item/status.h"

/* The phase, as far as it concerns the open job: a phase that an earlier job left is IDLE. */
enum task_phase {
    JOB_IDLE,        /* none or a final one, or the job has no initTime yet: not begun */
    JOB_INIT,        /* Init */
    JOB_PROGRESSING, /* Progressing, and whatever else is not final */
    JOB_INIT_DELETE, /* InitDelete */
    JOB_DELETING,    /* Deleting */
};

enum pod_claim {
    POD_ABSENT,
    POD_OF_JOB,  /* made for the open job, by us or by the Go deployer */
    POD_FOREIGN, /* of another job: never adopted */
};

enum target_knowledge {
    TARGET_UNKNOWN,
    TARGET_NOT_OURS, /* the selector does not match: somebody else's item */
    TARGET_MISSING,
    TARGET_OURS,  /* the selector matches; what is in it is not read */
    TARGET_KNOWN, /* resolved, or the item has none */
};

/* Whether main ever ran for an item that is being deleted: if not, there is nothing to undo. */
enum run_history {
    RUN_UNKNOWN,
    RUN_NEVER, /* no trace of a run: no pod in the status, no access objects, no state */
    RUN_SOME,
};

/* What became of the last attempt to do something. */
enum fault_state {
    FAULT_NONE,
    FAULT_NEW,      /* to be told to the user, then tried again */
    FAULT_REPORTED, /* told; tried again at retry_unix_ms */
    FAULT_FINAL,    /* trying again can't help */
};

enum operation_note {
    NOTE_NONE,
    NOTE_TEST_RECONCILE,
    NOTE_RECONCILE,
};

struct observed {
    /* The item. Without one (is_gone) only pods are left to look after. */
    bool is_gone;
    bool is_deleting, has_finalizer;
    bool has_job;     /* jobID is set */
    bool is_job_open; /* jobID != jobIDFinished */
    enum operation_note note;
    enum task_phase phase;
    bool has_config;
    bool is_unchanged;         /* updateOnChangeOnly, and nothing changed since a success */
    bool is_uninstall_skipped; /* delete-without-uninstall, force-cleanup, deleteOperation: skip */
    enum run_history history;  /* asked for deletions only */
    bool is_job_successful;    /* providerStatus says so already: lastSuccessfulJobID == jobID */
    int64_t deadline_unix_ms;  /* -1: none, or not begun */

    /* Its pod: that of the job if there is one, else another. */
    enum pod_claim pod;
    enum pod_outcome outcome;
    bool is_pod_delete;   /* it runs the operation DELETE */
    bool is_pod_over;     /* nothing in it can run any more */
    bool is_pod_deleting; /* has a deletionTimestamp */
    bool has_pod_finalizer;
    bool is_pod_absence_sure;   /* the API server said so, not only the watch */
    bool is_pod_kept;           /* debug.keepPod */
    int64_t give_up_unix_ms;    /* POD_STUCK; -1: never */
    int64_t look_again_unix_ms; /* what the pod's state means changes then; -1: never by itself */

    /* What this process knows. */
    bool is_responsible; /* the selector can't or does not exclude the item */
    bool needs_lock, has_lock;
    int64_t lock_retry_unix_ms; /* 0: not tried yet */
    enum target_knowledge target;
    enum fault_state fault; /* of starting the job's pod */
    int64_t retry_unix_ms;
    int64_t hold_unix_ms;       /* our own bookkeeping failed: nothing at all before this */
    bool has_report;            /* the pod's state differs from what the status says */
    int64_t report_due_unix_ms; /* reports are rationed: not before this */
    bool has_run_objects;       /* inputs of a run that got no pod */
    bool is_cleaned;            /* the finalizer is off: the item will be gone in a moment */
};

enum action {
    ACTION_NONE, /* nothing, until something changes */
    ACTION_WAIT, /* until wake_unix_ms at the latest */
    ACTION_LOCK,
    ACTION_UNLOCK,
    ACTION_CLAIM,          /* look whether the selector matches the target, and no further */
    ACTION_RESOLVE_TARGET, /* the same, and read what is in it */
    ACTION_LOOK_BACK,      /* did main ever run? */
    ACTION_BEGIN,          /* write Init or InitDelete: the job can't start its pod at once */
    ACTION_DROP_NOTE,      /* take the operation annotation off */
    ACTION_ADD_FINALIZER,  /* to the item */
    ACTION_START,          /* read the inputs, make the objects, make the pod */
    ACTION_REPORT,         /* write what the pod does; Progressing or Deleting */
    ACTION_REPORT_FAULT,   /* write what went wrong; the job goes on */
    ACTION_VERIFY_POD,     /* ask whether the pod is really gone */
    ACTION_END_POD,        /* delete it with its grace time */
    ACTION_DISCARD_POD,    /* it is over: remove the run's objects, then the pod */
    ACTION_CLEAN_RUN,      /* remove the run's objects; there is no pod */
    ACTION_COMPLETE,       /* bring the export home, then write Succeeded */
    ACTION_FAIL,           /* write Failed or DeleteFailed with the cause */
    ACTION_FINISH_AS_IS,   /* write Succeeded without a run */
    ACTION_CLEAN_ITEM,     /* remove every object of the item, then its finalizer */
};

enum cause {
    CAUSE_NONE,
    CAUSE_FAULT, /* the last attempt's error */
    CAUSE_NO_TARGET,
    CAUSE_NO_CONFIG,
    CAUSE_TIMEOUT,
    CAUSE_POD,      /* what the pod's verdict says */
    CAUSE_POD_LOST, /* the pod was removed by somebody else */
};

struct decision {
    enum action action;
    enum cause cause;     /* of ACTION_FAIL */
    int64_t wake_unix_ms; /* of ACTION_WAIT; -1: only an event can change anything */
};

struct decision decide(const struct observed *observed, int64_t now_unix_ms);

/* Stable lower-case name, for logs and metrics. */
const char *action_name(enum action action);
