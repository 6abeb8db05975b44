/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes Events on items. Sent only when something is new; nothing waits for the answer. */
#pragma once

#include "deployer/protocol/task.h"

/* A Warning with the reason and message of status.lastError. */
void events_send_error(struct task *task);
/* continuousReconcile is set but has no effect. Once for each item, however often this is called;
 * not for deletions. */
void events_send_continuous(struct task *task);
/* Something that users should know. Once for each item and id, as long as the API server keeps
 * Events, however often this is called. */
void events_send_once(struct task *task, const char *id, const char *reason, const char *message);
/* There is no room for any status in the item. Once for each item, as long as the API server keeps
 * Events. */
void events_send_too_large(struct task *task);
