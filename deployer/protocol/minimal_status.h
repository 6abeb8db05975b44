/* SPDX-License-Identifier: Apache-2.0 */
/* The status of an item that is so large itself that etcd accepts no complete status. The job must
 * end nevertheless: with the minimum that Landscaper needs, and a message with advice. */
#pragma once

#include <jansson.h>

#include "deployer/protocol/task.h"

/* wanted without everything that only explains: conditions, providerStatus, older errors. A success
 * stays a success; any other phase becomes failed_phase and ends the job, with an error that says
 * by how much the item has to shrink. kept_provider_status stays (NULL: none does). Pure. New
 * reference. */
json_t *minimal_status(const json_t *wanted, const json_t *kept_provider_status,
                       const char *failed_phase, int64_t now_unix_ms);

/* After the API server has rejected chain.wanted as too large: writes the minimal status. If that
 * is too large as well, sends an Event and backs off. While an execution runs nothing is written.
 */
void minimal_status_write(struct task *task, const struct error *err);
