/* SPDX-License-Identifier: Apache-2.0 */
/* The actions: each a chain of requests that can be broken off and begun again at any place. */
#pragma once

#include "common/kube/list.h"
#include "deployer/controller/task.h"

/* As the status names it, of all that stands between a job and its pod. */
#define OPERATION_DEPLOY_POD "DeployPod"

/* Starts the action that was decided on. */
void act_run(struct task *task);

/* act_target.c */
void act_claim(struct task *task);
void act_resolve_target(struct task *task);
/* act_history.c */
void act_look_back(struct task *task);
/* act_inputs.c, act_start.c, act_account.c */
void act_start(struct task *task);
void act_make_objects(struct task *task); /* the second half: all inputs are read */
void act_make_account(struct task *task); /* before anything else is written or removed */
void act_make_rest(struct task *task);    /* the name is ours */
/* The item's state, metadata only; task->list is the list under way. */
int act_list_state(struct task *task, kube_item_fn *on_item, kube_listed_fn *on_done,
                   struct error *err) must_check;
/* One of its Secrets (NULL: none that can be read); what is another item's is passed over. */
void act_add_state(const struct task *task, struct state_set *set, const json_t *secret);
/* act_status.c */
void act_begin(struct task *task);
void act_drop_note(struct task *task);
void act_add_finalizer(struct task *task);
void act_report(struct task *task);
void act_report_fault(struct task *task);
void act_finish_as_is(struct task *task);
/* act_finish.c */
void act_complete(struct task *task);
void act_fail(struct task *task);
/* act_hidden.c: asks for the inputs of the pod's run and, if main's words are to be told, for the
 * item's state; keeps in task->hidden what must not be told. next is called in any case. */
void act_read_hidden(struct task *task, const struct pod_entry *entry, bool is_main_told,
                     task_then_fn *next);
/* act_hidden_state.c: the state's part of it, which ends in act_hidden_is_read(). */
void act_read_hidden_state(struct task *task);
void act_hidden_is_read(struct task *task);
void state_reading_free(struct state_reading *reading); /* wipes it; NULL is fine */
/* act_pod.c */
void act_verify_pod(struct task *task);
void act_end_pod(struct task *task);
void act_discard_pod(struct task *task);
void act_clean_run(struct task *task);
/* act_clean.c */
void act_clean_item(struct task *task);
/* lock.c */
void act_lock(struct task *task);
void act_unlock(struct task *task);

/* Reads the item anew and writes its finalizers with or without ours; next gets the answer to the
 * write, or to the read if there was nothing to write. */
void act_set_finalizer(struct task *task, bool is_wanted, task_next_fn *next);
/* By the labels that the Go deployer's objects carry as well as ours. Belongs to the caller. */
char *act_item_selector(const struct task *task);
/* Ends the job: counts, logs, tells. operation is the one that ran: a RECONCILE may end while its
 * item is being deleted. */
void act_note_end(struct task *task, const json_t *status, const char *operation);
