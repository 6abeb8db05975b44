/* SPDX-License-Identifier: Apache-2.0 */
/* The next status of an item, and the only way in which a status is written: as the difference to
 * the known one, in a single merge patch that fails if anybody wrote in between. */
#pragma once

#include <jansson.h>

#include "deployer/protocol/task.h"

/* The present status with what the beginning of a job changes, if the job has not begun yet. New
 * reference, as from the other functions. */
json_t *report_base(const struct task *task);
/* With a new jobID, for test-reconcile. */
json_t *report_test_job(const struct task *task);
/* The state of the execution; phase Progressing or Deleting. */
json_t *report_of_execution(struct task *task);
/* The fault that keeps the job from going on. *ret_is_new: an Event is due. */
json_t *report_of_fault(const struct task *task, bool *ret_is_new);
/* What of an earlier job the job has to wait for; NULL: nothing. Belongs to the caller. */
char *report_blocker(const struct task *task);
/* Init or InitDelete, with the blocker in lastError. */
json_t *report_of_begin(const struct task *task, bool *ret_is_new);
/* The end of the job: phase, jobIDFinished and finishedTime at once. */
void report_finish(const struct task *task, json_t *status, const char *phase);

/* RFC 7386: the patch from before to after; an empty object if they are equal. New reference. */
json_t *report_difference(const json_t *before, const json_t *after);

/* Writes status (taken over) to the item, then calls next; without a request if nothing differs. On
 * failure backs off and does not call next; a conflict reads the item and decides again; 404 is
 * report_check_gone(); a status that the API server rejects as too large is reduced to the minimum.
 */
void report_write(struct task *task, json_t *status, task_next_fn *next);
/* After a 404 for a write to the item: reads the item, and ends its task if it is gone. */
void report_check_gone(struct task *task);
