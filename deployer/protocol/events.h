/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes Events on items: only when something is new, never waited for. */
#pragma once

#include "deployer/controller/task.h"

/* A Warning with the reason and message of status.lastError. */
void events_tell_error(struct task *task);
/* continuousReconcile is set, and nothing acts on it. Once an item, however often it is called; a
 * deletion is not told. */
void events_tell_continuous(struct task *task);
/* The item has no room for any status. Once an item, as long as the API server keeps Events. */
void events_tell_too_large(struct task *task);
