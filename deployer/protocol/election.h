/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election between the replicas of a controller: a Lease in the host cluster.
 *
 * The chart of the Go deployer grants no permission on Leases, because that deployer has no leader
 * election. Where the API server denies access to the Lease, the election ends for good and the
 * controller locks each item with a SyncObject instead, as the Go deployer does with several
 * replicas; the permissions for that have always been in the chart. */
#pragma once

#include "common/base/error.h"
#include "deployer/protocol/controller.h"

struct election;

/* Starts to compete for the Lease in this namespace; does nothing if the configuration disables
 * leader election. Sets controller->election until election_stop(), also on failure. */
int election_start(struct controller *controller, const char *namespace_name, struct error *err)
    must_check;
/* True while this process holds the Lease. */
bool election_is_won(const struct election *election);
/* Releases the Lease, for which it runs the loop up to timeout_ms, and frees the election. */
void election_stop(struct controller *controller, uint64_t timeout_ms);
