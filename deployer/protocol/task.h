/* SPDX-License-Identifier: Apache-2.0 */
/* The work on one item: from the event that gave it something to do until nothing is left to do.
 *
 * decide() names an action; an action is a chain of requests, one at a time; the end of the chain
 * is the next decision. A chain may be abandoned between any two requests. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/kube/list.h"
#include "common/net/retry.h"
#include "deployer/engine.h"
#include "deployer/item/item.h"
#include "deployer/item/status.h"
#include "deployer/protocol/controller.h"
#include "deployer/protocol/decide.h"
#include "deployer/protocol/queue.h"

struct task;

/* The answer to a request of a chain; object is borrowed, err->kind is ERROR_NONE on success. */
typedef void task_next_fn(struct task *task, json_t *object, const struct error *err);

/* Why the last attempt to do something for the job failed. */
struct task_fault {
    enum fault_state state;
    char *operation, *reason, *message;
    const char *code; /* or NULL */
};

/* The item's Target as it was read. */
struct task_target {
    json_t *object; /* NULL: the item has none, or it was not read */
    char *content;  /* wiped when freed */
    size_t content_size;
    struct error error; /* the content is not allowed: ERROR_INVALID */
};

/* What was learnt about the item and its job. */
struct knowledge {
    enum target_knowledge target;
    struct task_target target_read;
    bool is_owner_unknown; /* the Target cannot be read, so the item may be another deployer's */
    bool has_lock;
    bool is_gone_sure;     /* an API server confirmed that the item does not exist */
    bool is_cleaned;       /* our finalizer is removed */
    int64_t since_unix_ms; /* when the clock of task_now_unix_ms() was started */
    uint64_t since_ms;
    int64_t lock_retry_unix_ms, retry_unix_ms, back_off_unix_ms, reported_unix_ms;
    struct retry retry;       /* of faults */
    struct retry back_off;    /* of our own reads and writes */
    uint64_t refused_version; /* of the item, when the server last refused to write to it */
    struct task_fault fault;
};

/* The action under way. */
struct chain {
    bool is_running;
    bool is_changed; /* the facts that the chain was decided on have changed: decide again */
    bool is_last;    /* the request under way ends the chain: its answer is processed in any case */
    enum action action;
    enum cause cause;
    uint64_t begun_ms;
    struct kube_call *call;
    struct kube_list *list;
    task_next_fn *next;
    size_t step;
    task_next_fn *after_write;
    bool is_event_due;
    bool is_minimal;      /* the status being written is the minimal one */
    json_t *exports;      /* data of the Secret with the results, or NULL */
    json_t *lock;         /* the SyncObject that another replica holds */
    json_t *final_status; /* the status of an item that is about to go */
    json_t *wanted;       /* {"status", "version"}: being written, on top of this resourceVersion */
};

struct task {
    struct controller *controller;
    struct record *record;
    struct engine *engine;
    void *data;                 /* the engine's */
    struct item *item;          /* NULL: the item is gone, or nothing of it is needed */
    struct execution execution; /* as observed for the last decision */
    struct knowledge known;
    struct chain chain;

    struct queue_place place;
    uint64_t queued_ms;
    struct loop_timer timer; /* the end of ACTION_WAIT */
};

/* Gives the record's task a new item (taken over; NULL: gone, or nothing of it is needed) and has
 * it decided. Makes the task if there is none and the item needs one. */
void task_offer(struct controller *controller, struct record *record, struct item *item);
/* The clock by which a job is judged: the time of day when this process first saw the job, and from
 * then on the monotonic time that passed. A clock that is set meanwhile neither ends a job nor
 * delays it. Times that people read are controller_now_unix_ms(). */
int64_t task_now_unix_ms(const struct task *task);
/* By that clock; -1: the job has not begun, or has no timeout. The item is there. */
int64_t task_deadline_unix_ms(const struct task *task);
/* Something about the item or its executions has changed: queues the task. */
void task_wake(struct task *task);
/* The same for a record; makes a task for executions of a finished item. */
void task_wake_record(struct controller *controller, struct record *record);
/* Abandons a chain that is under way after its present request. */
void task_restart_later(struct task *task);
/* What was learnt from the servers may not be true any more: learn it again. */
void task_start_over(struct task *task);
void task_free(struct task *task);
/* Decides and starts the action. From the pump only. */
void task_decide(struct task *task);
/* observe_task.c: what decide() looks at; updates task->execution. */
void task_observe(struct task *task, struct observed *ret_observed);

static inline const struct engine_traits *task_traits(const struct task *task)
{
    const struct engine_class *class = task->engine->class;

    return class->traits_of ? class->traits_of(task) : &class->traits;
}

/* ---- For actions ---- */

/* Sends one request of the chain. A write while we do not lead is refused, and the chain abandoned.
 */
void task_request(struct task *task, struct kube *kube, struct kube_request *request,
                  task_next_fn *next);
/* The chain is done, or there is no point in going on: decide again. */
void task_done(struct task *task);
/* A read or write of our own failed: logs it; nothing is done for the item before the back-off is
 * over. */
void task_back_off(struct task *task, const char *what, const struct error *err);
/* The job cannot go on: goes into the status and is retried, unless a code is given or the kind of
 * error cannot resolve itself. code may be NULL. */
void task_set_fault(struct task *task, const char *operation, const char *reason,
                    const struct error *err, const char *code);
void task_clear_fault(struct task *task);
/* Counts the items whose owner is unknown; nothing else can report them. */
void task_set_owner_unknown(struct task *task, bool is_unknown);
void task_drop_target(struct task *task);

/* Takes the item from an API server's answer. False if it is another item of the same name: the one
 * at hand is gone, and the watch will report that. */
bool task_take_item(struct task *task, const json_t *object);

/* ---- The job ---- */

enum job_phase job_phase_of(const struct item *item);
/* The timeout of the job counts. */
bool job_has_begun(const struct item *item);
/* OPERATION_RECONCILE or OPERATION_DELETE: what the job's execution does, or would do. */
const char *task_operation(const struct task *task);
bool task_is_delete(const struct task *task);
/* "reconcile" or "delete", as operations are called in errors before an execution exists. */
const char *task_pass_name(const struct task *task);
