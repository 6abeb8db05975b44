/* SPDX-License-Identifier: Apache-2.0 */
/* From the watch on DeployItems to records and tasks. */
#pragma once

#include "common/kube/watch.h"
#include "deployer/protocol/controller.h"

/* The callback of the watch; data is the source. */
void observe_item_event(void *data, enum kube_event event, const json_t *object,
                        const struct error *err);

/* Whether an answer has already delivered the item in this version; data is the source. */
bool observe_item_is_known(void *data, const char *namespace_name, const char *name,
                           const char *resource_version);

/* The item does not exist any more: its executions are ended, its job is over. The record may be
 * freed by this unless it has a task. */
void observe_item_gone(struct controller *controller, struct record *record);

/* Parts of every object that nothing here reads. */
extern const char *const OBJECT_SKIPPED_MEMBERS[];
