/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the item protocol (deployer/protocol) and an engine, which executes items.
 *
 * The protocol knows DeployItems: which of them are ours, what their jobs are, when a job's time is
 * over, what the status contains. An engine knows how an item of its types is executed, for example
 * as a pod of the host cluster or by applying objects to another cluster. It reports what it sees
 * as a struct execution, decide() names an action, and the protocol calls the engine for those
 * actions that concern the execution. There is at most one execution for each job.
 *
 * An engine may use deployer/protocol (tasks, requests, status); the protocol includes nothing of
 * an engine but this header, and engines do not include each other. deployer/controller/main.c
 * lists the engines. deployer/protocol/tests/smallest_engine.c is the smallest one. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct cluster_pool;
struct controller;
struct deployer_config;
struct item;
struct kube_watch;
struct objects_engine;
struct objects_task;
struct record;
struct task;

/* ---- What an engine sees ---- */

enum execution_claim {
    EXECUTION_ABSENT,
    EXECUTION_OF_JOB,       /* started for the open job, by us or by another deployer */
    EXECUTION_OF_OTHER_JOB, /* never adopted; has to end before the job can start */
};

enum execution_state {
    EXECUTION_WAITING, /* not fully started yet, nothing is wrong */
    EXECUTION_RUNNING,
    EXECUTION_STUCK,     /* something is wrong that may resolve itself until give_up_unix_ms */
    EXECUTION_SUCCEEDED, /* the results are complete; containers may still be running */
    EXECUTION_FAILED,    /* it ended, or can never succeed */
};

/* Whether an item that is being deleted was ever executed: if not, there is nothing to undo. */
enum run_history {
    RUN_UNKNOWN,
    RUN_NEVER,
    RUN_SOME,
};

/* The execution of the open job if there is one, else another execution of the same item. All times
 * are of task_now_unix_ms(); -1 means never, or unknown. */
struct execution {
    enum execution_claim claim;
    enum execution_state state; /* only for EXECUTION_OF_JOB */
    bool is_delete;             /* it executes the deletion of the item */
    bool is_over;               /* nothing of it can run any more */
    bool is_ending;             /* its end was requested */
    bool is_kept;         /* it is over and may stay until another execution needs its place */
    bool needs_step;      /* it makes progress only by the action step, and can do so now */
    bool is_preparing;    /* EXECUTION_OF_JOB that has not done anything yet: nothing to report */
    bool needs_report;    /* it goes on only when its state is in the status */
    bool is_volatile;     /* it exists only in this process: one that is absent is started again */
    bool is_absence_sure; /* EXECUTION_ABSENT was confirmed by an API server */
    bool has_leftovers;   /* an attempt to start left objects behind */
    bool needs_follow_up; /* the item has no open job, and the engine has something to do for it */
    enum run_history history;
    int64_t give_up_unix_ms;    /* EXECUTION_STUCK: when it counts as failed */
    int64_t ends_by_unix_ms;    /* is_ending: when it is over at the latest */
    int64_t look_again_unix_ms; /* its state is different then without any event */
};

/* ---- What an engine reports about an execution ---- */

/* Why the status is written. */
enum report_kind { REPORT_PROGRESS, REPORT_SUCCESS, REPORT_FAILURE };

/* Why an execution failed, for lastError. */
struct explanation {
    char *operation, *reason; /* NULL: RunPod, PodFailed */
    char *message;            /* without secrets; NULL: nothing is known */
    bool is_timeout;          /* the execution ended because the job's time was over */
};

enum explanation_kind { EXPLAIN_FAILED, EXPLAIN_LOST, EXPLAIN_TIMEOUT };

/* ---- The engine ---- */

/* An engine of a running controller. Engines embed it as their first member. */
struct engine {
    const struct engine_class *class;
    struct controller *controller;
    uint8_t number; /* in controller->engines; set by the controller */
};

/* What differs between types of items that one engine executes. */
struct engine_traits {
    const char *deployer_name;   /* status.deployer.name and the source of Events */
    const char *timeout_subject; /* the checkpoint that Landscaper's users see in a timeout */
    const char *start_operation; /* lastError.operation of what keeps an execution from starting */
    /* Items can be deleted without a provider configuration: executing the deletion needs none. */
    bool is_config_unneeded_for_deletion;
    /* providerStatus is the only memory of what was executed: it must never be dropped. */
    bool is_status_memory;
    /* The export Secret keeps the name in status.exportRef, and the item is an owner of it that is
     * not its controller. */
    bool is_export_plain;
};

/* Unless stated otherwise a function may be NULL, which means that there is nothing to do. */
struct engine_class {
    const char *lock_prefix; /* of the names of SyncObjects */
    struct engine_traits traits;
    /* Those of the task's item; NULL: always traits. */
    const struct engine_traits *(*traits_of)(const struct task *task);

    /* Whether the configuration enables any type of this engine. If not, it is not started. NULL:
     * always. */
    bool (*is_enabled)(const struct deployer_config *config);
    /* Whether items of this type are ours. Required. */
    bool (*serves)(const struct deployer_config *config, const char *type);

    /* -- Life of the controller -- */

    /* Called once, when both API servers are configured; requests may be sent. Required.
     * *ret_engine belongs to the caller until free(), also on failure if it is set. */
    int (*start)(struct controller *controller, struct engine **ret_engine, struct error *err);
    void (*free)(struct engine *engine); /* required; no task is left */
    /* Whether the engine knows all executions that exist. No item is worked on before. */
    bool (*is_synced)(const struct engine *engine);
    /* All items are listed, or we lead since a moment ago: a chance to collect garbage. */
    void (*collect)(struct engine *engine);
    /* Another process may lead now: what is under way outside of chains must stop. */
    void (*lead_lost)(struct engine *engine);
    /* A version of an item of ours was seen, or returned by a write, before anything is decided for
     * it. The engine may change record->tracked. Returns whether an item without an open job needs
     * a task. NULL: it does if something is tracked. */
    bool (*item_seen)(struct engine *engine, struct record *record, const struct item *item);
    /* An item of ours that was there is gone. */
    void (*item_gone)(struct engine *engine, const char *namespace_name, const char *name);
    /* The watch whose idle time is exported as a metric; NULL: none. */
    const struct kube_watch *(*watch)(const struct engine *engine);
    /* The target clusters whose traffic is exported as metrics; NULL: none. */
    const struct cluster_pool *(*clusters)(const struct engine *engine);

    /* -- Data of the engine -- */

    /* Frees record->tracked, which is not NULL: what the engine tracks for an item as long as
     * anything of it exists, whether or not there is a task. */
    void (*untrack)(struct record *record);
    /* The engine's data of a task, found in task->data. */
    void *(*task_data_new)(void);
    void (*task_data_free)(void *data);
    /* The task has another item, job or spec (task->item; NULL: the item is gone). What was learnt
     * does not count any more if is_new_order. */
    void (*task_data_update)(struct task *task, bool is_new_order);
    /* The chain of requests under way is over: frees what only the chain needed. */
    void (*chain_done)(struct task *task);

    /* -- Observing; no requests -- */

    /* Fills *ret_execution, which is zeroed but for times, which are -1. Required. */
    void (*observe)(struct task *task, struct execution *ret_execution);
    /* Whether the engine acts on continuousReconcile of the item. NULL: never. */
    bool (*is_continuous)(const struct engine *engine, const struct item *item);
    /* Adds providerStatus and conditions of the execution, if there is one, to a status. For
     * REPORT_PROGRESS also sets or clears lastError. Required. */
    void (*report)(struct task *task, enum report_kind kind, json_t *status);
    /* Fills *explanation, which is zeroed; its texts then belong to the caller. Required. */
    void (*explain)(struct task *task, enum explanation_kind kind, struct explanation *explanation);
    /* What of another job the job has to wait for, for people; NULL if that is gone in a moment.
     * Belongs to the caller. */
    char *(*blocker)(const struct task *task);

    /* -- Actions: chains of requests, sent by task_request(). Each ends with task_done(),
     * task_set_fault() or task_back_off(), or with the call that is named here. -- */

    void (*start_execution)(struct task *task);   /* required */
    void (*step)(struct task *task);              /* if needs_step is ever set */
    void (*verify)(struct task *task);            /* required: is the execution really absent? */
    void (*end_execution)(struct task *task);     /* required: request the end */
    void (*discard_execution)(struct task *task); /* required: remove one that is over */
    void (*clean_run)(struct task *task);         /* if has_leftovers is ever set */
    void (*look_back)(struct task *task);         /* if history is ever RUN_UNKNOWN */
    /* If needs_follow_up is ever set, which task_wake_record() makes known. task->item may be NULL;
     * the job of the item may have ended long ago, and a new one may have begun. */
    void (*follow_up)(struct task *task);
    void (*prepare_report)(struct task *task);  /* ends with act_report_prepared() */
    void (*complete)(struct task *task);        /* required; ends with act_complete_with() */
    void (*prepare_failure)(struct task *task); /* ends with act_failure_prepared() */
    void (*clean_item)(struct task *task);      /* ends with act_item_cleaned() */

    /* -- Only of engines that use deployer/objects/run.h: its data in the engine and in a task --
     */

    struct objects_engine *(*objects_engine)(struct engine *engine);
    struct objects_task *(*objects_task)(const struct task *task);
};
