/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election of a command whose replicas share one Lease. */
#pragma once

#include "common/kube/lease.h"

/* The time that a process takes at its end to release its Lease. */
enum { LEADER_RELEASE_MS = 3000 };

/* A Lease whose holder is this pod with a number of its own: a restarted container is another
 * holder. Problems are logged. */
int leader_elect(struct kube *kube, const char *namespace_name, const char *name,
                 lease_fn *on_change, void *data, struct lease **ret_lease, struct error *err)
    must_check;
/* This pod with a number of its own. Belongs to the caller. */
char *leader_identity(void);
/* Also before the election has begun (NULL). */
bool leader_is_elected(const struct lease *lease);
