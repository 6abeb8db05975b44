/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes Events on items: only when something is new, never waited for. */
#pragma once

#include "deployer/controller/task.h"

/* A Warning with the reason and message of status.lastError. */
void events_tell_error(struct task *task);
/* Once a generation: continuousReconcile is set, and nothing acts on it. */
void events_tell_continuous(struct task *task);

/* The object of an Event. New reference. */
json_t *events_object(const struct task *task, const char *reason, const char *message);
