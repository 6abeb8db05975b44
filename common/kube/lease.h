/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election on a coordination.k8s.io Lease: 15 s lease, renewed every 2 s, given up after 10
 * s without a renewal, released on exit. A leader whose clock stands still (SIGSTOP) learns on
 * waking that its lease has run out before it does anything else: lease_is_held() compares
 * monotonic time. */
#pragma once

#include <stdbool.h>

#include "common/kube/client.h"

struct lease;

/* May call anything but lease_release(). */
typedef void lease_fn(void *data, bool is_leader);
/* What went wrong with a try; for logs. We go on trying. */
typedef void lease_problem_fn(void *data, const struct error *err);

struct lease_options {
    const char *namespace_name, *name, *identity;
    uint32_t duration_ms, renew_deadline_ms, retry_ms; /* 0: 15000, 10000, 2000 */
    lease_fn *on_change;
    lease_problem_fn *on_problem; /* or NULL */
    void *data;
};

/* ERROR_INVALID unless duration > renew deadline > retry, and the duration is whole seconds. */
int lease_start(struct kube *kube, const struct lease_options *options, struct lease **ret_lease,
                struct error *err) must_check;
/* True only while the last successful renewal is younger than the renew deadline. */
bool lease_is_held(const struct lease *lease);
/* Gives the lease back (best effort, runs the loop for at most timeout_ms), then frees it. No
 * on_change comes from it. NULL is fine. */
void lease_release(struct lease *lease, uint64_t timeout_ms);
