/* SPDX-License-Identifier: Apache-2.0 */
/* From what the watches tell to records and jobs, and from there to what decide() looks at. */
#pragma once

#include "common/kube/watch.h"
#include "deployer/controller/decide.h"
#include "deployer/controller/task.h"

/* The two watches; data is the controller. */
void observe_item_event(void *data, enum kube_event event, const json_t *object,
                        const struct error *err);
void observe_pod_event(void *data, enum kube_event event, const json_t *object,
                       const struct error *err);

/* Whether an answer has told of an item, or a pod, in this version already. */
bool observe_item_is_known(void *data, const char *namespace_name, const char *name,
                           const char *resource_version);

/* There is no such item any more: its pods are ended, its job is over. Its record may be gone after
 * this, unless it has a task. */
void observe_item_gone(struct controller *controller, struct record *record);

/* What of any object, and of a pod, nobody here looks at: most of their bytes. */
extern const char *const OBJECT_LEFT_OUT[];
extern const char *const POD_LEFT_OUT[];

/* A pod that an answer told of, before the watch does. */
void observe_pod(struct controller *controller, const json_t *pod);

void observe_task(struct task *task, struct observed *ret_observed);
