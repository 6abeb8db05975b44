/* SPDX-License-Identifier: Apache-2.0 */
/* The next status of an item, and the one way in which a status is written: as the difference to
 * the one we know, in a single merge patch that holds only if nobody wrote in between. */
#pragma once

#include <jansson.h>

#include "deployer/controller/task.h"

/* The present status with what the beginning of a job changes, if the job is not begun yet. New
 * references, all of these. */
json_t *report_base(const struct task *task);
/* With a new jobID, for test-reconcile. */
json_t *report_test_job(const struct task *task);
/* What the pod does; phase Progressing or Deleting. What main said, and what is said of it, only
 * once entry->told is there. */
json_t *report_of_pod(const struct task *task, const struct pod_entry *entry);
/* The fault that keeps the pod from being started. */
json_t *report_of_fault(const struct task *task, bool *ret_is_new);
/* What the job can't start for: "pod 'x' of job 'y' has not ended". NULL: no pod is in its way.
 * Belongs to the caller. */
char *report_hindrance(const struct task *task);
/* Init or InitDelete, with the hindrance in lastError. */
json_t *report_of_begin(const struct task *task, bool *ret_is_new);
/* The end of the job: phase, jobIDFinished and finishedTime at once. */
void report_finish(const struct task *task, json_t *status, const char *phase);

/* RFC 7386: what turns before into after; an empty object if nothing does. New reference. */
json_t *report_difference(const json_t *before, const json_t *after);

/* Writes status (taken over) to the item, nothing if it is what is there already; then next, also
 * when there was nothing to write. A failure is a hold and next is not called; a conflict reads the
 * item and decides again; 404 is report_check_gone(); of what the API server takes for too large
 * the least is written. */
void report_write(struct task *task, json_t *status, task_next_fn *next);
/* A write to the item was answered with 404: asks for the item, and ends its job if it is gone. */
void report_check_gone(struct task *task);
