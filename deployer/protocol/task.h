/* SPDX-License-Identifier: Apache-2.0 */
/* The work on one item: from the event that gave it something to do until there is nothing left.
 * decide() names an action; an action is a chain of requests, one at a time; its end is the next
 * decision. Chains may be given up between any two requests. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/kube/list.h"
#include "common/net/retry.h"
#include "common/state/generation.h"
#include "deployer/controller/controller.h"
#include "deployer/controller/decide.h"
#include "deployer/controller/hide.h"
#include "deployer/controller/queue.h"
#include "deployer/item/item.h"
#include "deployer/item/provider.h"
#include "deployer/item/status.h"
#include "deployer/pod/names.h"
#include "deployer/pod/request.h"

struct state_reading;
struct task;

/* The answer to a request of a chain; object is borrowed, err->kind is ERROR_NONE on success. */
typedef void task_next_fn(struct task *task, json_t *object, const struct error *err);
/* The end of a part of a chain that several chains have. */
typedef void task_then_fn(struct task *task);

/* Why the pod could not be started. */
struct task_fault {
    enum fault_state state;
    char *operation, *reason, *message;
    const char *code; /* or NULL */
};

/* What a pod is made from; read anew for each attempt. */
struct task_inputs {
    json_t *target_object;
    char *target_file; /* wiped */
    size_t target_file_size;
    struct error target_error; /* the target is not allowed: ERROR_INVALID */
    json_t *context, *ocm_config_map, *docker_configs;
    json_t *pull_secrets; /* pull_secrets_gather() */
    size_t pull_secret_next;
    struct state_set state;
    struct run_spec *run;
    struct pod_objects objects;
    size_t replaced_step; /* the Secret that was removed to be made anew; 0: none was */
    char *access_mark;
};

struct task {
    struct controller *controller;
    struct record *record;
    struct item *item; /* NULL: the item is gone, or nothing of it is needed */
    struct object_names names;
    char *names_job; /* that names were made for */

    /* Running: a chain has the item. */
    bool is_running;
    bool is_changed; /* what the chain was decided on is no longer so: decide anew */
    bool is_last;    /* the request under way ends the chain: its answer is heard in any case */
    struct queue_place place;
    uint64_t queued_ms, begun_ms;
    enum action action;
    enum cause cause;
    struct kube_call *call;
    struct kube_list *list;
    task_next_fn *next;
    struct loop_timer timer;

    /* Learnt. */
    enum target_knowledge target;
    enum run_history history;
    bool is_pod_absence_sure, is_access_wanted;
    bool is_held; /* whose the item is can't be found out for now */
    bool has_run_objects, has_lock, is_gone_sure, is_cleaned;
    bool is_log_late;      /* main's log was asked for, and did not come in time */
    int64_t since_unix_ms; /* of task_now_unix_ms() */
    uint64_t since_ms;
    int64_t lock_retry_unix_ms, retry_unix_ms, hold_unix_ms, reported_unix_ms; /* by that clock */
    struct retry retry, hold;
    uint64_t refused_version; /* of the item, when the server last refused to write to it */
    struct task_fault fault;
    struct task_inputs inputs;
    char *access_mark; /* of the access objects that the pod was started with */

    /* Of the chain under way. */
    char *pod_name, *former_id;
    task_next_fn *after_write;
    const char *operation; /* that ran, as known before its end was written */
    bool is_event_due, is_name_shared, is_main_told;
    bool is_least; /* the status under way is the least there is */
    json_t *log;   /* as it came; log_tail is what may be told of it */
    char *log_tail;
    json_t *lock;         /* the SyncObject that somebody holds */
    json_t *ending;       /* the status that an item has when it goes */
    json_t *wanted;       /* the status that is being written, and the resourceVersion below it */
    struct hidden hidden; /* what must not be told */
    struct state_reading *state_reading;
    task_then_fn *after_hidden;
    size_t step;
};

/* Makes the record's job, or gives the one there is a new item (taken over; NULL: gone), and has it
 * decided. Does nothing for items that need nothing. */
void task_offer(struct controller *controller, struct record *record, struct item *item);
/* The clock by which the job is judged: the time of day when we first saw the job, and from then on
 * what really passed. A clock that is set meanwhile neither ends a job nor holds it up. What people
 * read (and nothing else) is controller_now_unix_ms(). */
int64_t task_now_unix_ms(const struct task *task);
/* By that clock; -1: the job has not begun, or has all the time. The item is there. */
int64_t task_deadline_unix_ms(const struct task *task);
/* Something about the item or its pods has changed. */
void task_wake(struct task *task);
/* A chain that is under way is given up after its present request. */
void task_restart_later(struct task *task);
/* What was learnt from the servers may not be so any more: learn it again. */
void task_start_over(struct task *task);
void task_free(struct task *task);
/* The next decision and the start of what it says. From the pump only. */
void task_decide(struct task *task);

/* ---- For actions ---- */

/* Sends one request of the chain. Writes are refused, and the chain given up, while we don't lead.
 */
void task_request(struct task *task, struct kube *kube, struct kube_request *request,
                  task_next_fn *next);
/* The chain is done, or there is no point in going on: decide again. */
void task_done(struct task *task);
/* Bookkeeping failed: nothing before the back-off is over. */
void task_hold(struct task *task, const char *what, const struct error *err);
/* Starting the pod failed. code may be NULL; errors that can't pass are final. */
void task_set_fault(struct task *task, const char *operation, const char *reason,
                    const struct error *err, const char *code);
void task_clear_fault(struct task *task);
/* Counts the items of which nobody knows whose they are: nothing else may tell of them. */
void task_set_held(struct task *task, bool is_held);
void task_inputs_done(struct task *task);

/* The item as the API server has it now, from an answer. False if that is another item, which has
 * the name by now: the one at hand is gone, and the watch will say so. */
bool task_take_item(struct task *task, const json_t *object);
/* What the pod of this job, or else another pod of the item, is to it. Borrowed. */
struct pod_entry *task_pod(const struct task *task, enum pod_claim *ret_claim);
/* debug.keepPod, and no job needs the pod's name. */
bool task_keeps_pods(const struct task *task);
/* The pod is another deployer's, of an item of the same name, and none of our business. */
bool task_is_theirs(const struct task *task, const json_t *pod);
enum pod_claim task_claim(const struct task *task, const struct pod_entry *entry);
enum task_phase task_phase_of(const struct item *item);
bool task_is_delete(const struct task *task);
const char *task_operation(const struct task *task);
void pod_entry_judge(struct pod_entry *entry, const struct task *task,
                     struct pod_verdict *ret_verdict);
