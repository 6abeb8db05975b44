/* SPDX-License-Identifier: Apache-2.0 */
/* The actions: each is a chain of requests that can be abandoned and restarted at any point. */
#pragma once

#include "common/contract.h"
#include "deployer/protocol/task.h"

/* Stable lower-case name, for logs and metrics. */
const char *action_name(enum action action);
/* Starts the action that was decided on. */
void act_run(struct task *task);

/* act_target.c */
void act_claim(struct task *task);
void act_resolve_target(struct task *task);
/* act_status.c */
void act_begin(struct task *task);
void act_remove_annotation(struct task *task);
void act_add_finalizer(struct task *task);
void act_report(struct task *task);
void act_report_fault(struct task *task);
void act_finish_as_is(struct task *task);
/* act_finish.c */
void act_complete(struct task *task);
void act_fail(struct task *task);
/* act_clean.c */
void act_clean_item(struct task *task);
/* lock.c */
void act_lock(struct task *task);
void act_unlock(struct task *task);

/* ---- Called by an engine at the end of its part of an action; see deployer/engine.h ---- */

void act_report_prepared(struct task *task);
/* exports: the data of the Secret that the exports become (borrowed); NULL: there are none. */
void act_complete_with(struct task *task, json_t *exports);
void act_failure_prepared(struct task *task);
void act_item_cleaned(struct task *task);

/* ---- Shared by actions ---- */

/* What to do about an item whose target will not come back. */
#define ADVICE_SKIP_UNINSTALL                                                                      \
    "to delete the item and leave what it deployed as it is, set the "                             \
    "annotation " ANNOTATION_DELETE_WITHOUT_UNINSTALL ": \"true\" on its Installation"

/* Writes the item's finalizers with or without ours; next gets the answer to the write, or to a
 * read if there was nothing to write. */
void act_set_finalizer(struct task *task, bool is_wanted, task_next_fn *next);
/* The job has ended with this status: counts and logs it. operation is what was executed; a
 * RECONCILE may end while its item is being deleted. */
void act_note_end(struct task *task, const json_t *status, const char *operation);
/* The answer to a request that removes something: anything but success and "not found" is an error.
 */
bool act_is_removed(const struct error *err);
/* The name of the Secret with the item's exports. Belongs to the caller. */
char *act_export_name(const struct task *task);
/* Whether there may be such a Secret, whatever the status says: a job can end between the write of
 * the Secret and that of the status, when it is interrupted or another one begins. */
bool act_has_exports(const struct task *task);
/* A request that deletes the Secret with the item's exports in the item's namespace. */
void act_remove_exports(struct task *task, task_next_fn *next);
