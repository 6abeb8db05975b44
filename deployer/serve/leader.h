/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election of a command whose replicas share one Lease. */
#pragma once

#include "common/kube/lease.h"

/* The time that a process takes at its end to release its Lease. */
enum { LEADER_RELEASE_MS = 3000 };

/* Problems are logged. Without an identity, the holder is this pod with a number of its own: a
 * restarted container is another holder. */
int leader_elect(struct kube *kube, const struct lease_options *options, struct lease **ret_lease,
                 struct error *err) must_check;
/* This pod with a number of its own. Belongs to the caller. */
char *leader_identity(void);
/* Also before the election has begun (NULL). */
bool leader_is_elected(const struct lease *lease);
