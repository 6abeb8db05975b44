/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of a program share work: it is divided into buckets, and a bucket is processed only by
 * the replica that holds its Lease. Buckets are shared evenly. Those of a replica that stops are
 * handed over at once, and those of one that dies or cannot reach the API server are taken over
 * within 40 s.
 *
 * A replica may send requests for a bucket only while shards_is_held(). It turns false 10 s before
 * another replica may take the bucket, so that requests under way then have ended by that time if
 * their timeouts are shorter. */
#pragma once

#include "common/kube/client.h"

struct shards;

struct shards_options {
    const char *namespace_name;
    const char *name;     /* of the Leases, followed by "-<bucket>" and "-member-<hash>" */
    const char *identity; /* unique for each process: not only the name of a pod */
    size_t bucket_count;  /* at most 64; the same in all replicas */
    /* The bucket was gained or lost. */
    void (*on_change)(void *data, size_t bucket, bool is_held);
    /* Whether requests for a bucket that was lost are still under way: it is not handed over before
     * they have ended. NULL: never. */
    bool (*is_busy)(void *data, size_t bucket);
    /* A request failed, for logging. It is retried. Or NULL. */
    void (*on_problem)(void *data, const struct error *err);
    void *data;
};

int shards_start(struct kube *kube, const struct shards_options *options,
                 struct shards **ret_shards, struct error *err) must_check;
bool shards_is_held(const struct shards *shards, size_t bucket);
size_t shards_held_count(const struct shards *shards);
/* To which bucket something belongs: the same in all replicas. */
size_t shards_bucket_of(const struct shards *shards, const char *key);
/* Hands all buckets over (best effort; runs the loop for at most timeout_ms) and frees it. NULL is
 * fine. */
void shards_stop(struct shards *shards, uint64_t timeout_ms);
