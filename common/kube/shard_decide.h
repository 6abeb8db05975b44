/* SPDX-License-Identifier: Apache-2.0 */
/* Which buckets a replica should take and give up, without I/O and clock. Private to common/kube.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/kube/lease_decide.h"

enum { SHARD_BUCKETS_MAX = 64 };

/* What a replica knows after it has read all Leases. */
struct shard_view {
    size_t bucket_count;
    const struct lease_record *buckets;
    size_t member_count; /* live replicas, with ourselves */
    size_t least_held;   /* how many buckets the other live replica has that has the fewest */
    size_t first;        /* where to begin to take buckets: differs between replicas */
    bool is_stopping;
    uint32_t duration_ms; /* of our Leases */
};

enum shard_action {
    SHARD_NONE,
    SHARD_TAKE,    /* it is free or expired, and we have fewer than our share */
    SHARD_KEEP,    /* it is ours */
    SHARD_GIVE_UP, /* it is ours, and another replica should have it */
};

/* The name of the rule that decided, for logs and tests. */
struct shard_decision {
    enum shard_action action;
    const char *rule;
};

void shard_decide(const struct shard_view *view, uint64_t now_ms,
                  struct shard_decision ret_decisions[SHARD_BUCKETS_MAX]);
