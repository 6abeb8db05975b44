/* SPDX-License-Identifier: Apache-2.0 */
/* The status of an item that is so large itself that etcd takes no whole one. A job must end all
 * the same: with the least that Landscaper needs, and with the way out for the user. */
#pragma once

#include <jansson.h>

#include "deployer/controller/task.h"

/* What is left of wanted once all that only explains is dropped: conditions, the pod, older errors.
 * A success stays one; any other phase becomes failed_phase and ends the job, with an error that
 * says by how much the item has to shrink. Pure. New reference. */
json_t *least_status(const json_t *wanted, const char *failed_phase, int64_t now_unix_ms);

/* After the API server has refused task->wanted as too large: writes the least of it. If that is
 * too large as well, an Event says so and it is tried again with back-off. Of a pod that runs,
 * nothing is written until it ends. */
void least_write(struct task *task, const struct error *err);
