/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election with a coordination.k8s.io Lease: a lease of 15 s, renewed every 2 s, given up
 * after 10 s without a renewal, released on exit. In a pod, the Lease is deleted together with its
 * ServiceAccount. lease_is_held() compares monotonic time, so a
 * process that was stopped (SIGSTOP) knows that it has lost the lease before it does anything else.
 */
#pragma once

#include <stdbool.h>

#include "common/kube/client.h"

struct lease;

/* Leadership was gained or lost. Must not call lease_release(). */
typedef void lease_fn(void *data, bool is_leader);
/* Reading or writing the Lease failed, for logging. It is retried. */
typedef void lease_problem_fn(void *data, const struct error *err);

struct lease_options {
    const char *namespace_name, *name, *identity;
    uint32_t duration_ms, renew_deadline_ms, retry_ms; /* 0: 15000, 10000, 2000 */
    /* Other processes hold it with the same identity, so it is not released at the end. */
    bool has_other_holders;
    lease_fn *on_change;
    lease_problem_fn *on_problem; /* or NULL */
    void *data;
};

/* ERROR_INVALID unless duration > renew deadline > retry, and the duration is in whole seconds. */
int lease_start(struct kube *kube, const struct lease_options *options, struct lease **ret_lease,
                struct error *err) must_check;
/* Whether the last successful renewal was sent less than the renew deadline ago. */
bool lease_is_held(const struct lease *lease);
/* Releases the lease if it is held (best effort; runs the loop for at most timeout_ms) and frees
 * it. on_change is not called. NULL is fine. */
void lease_release(struct lease *lease, uint64_t timeout_ms);
