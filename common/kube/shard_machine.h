/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a replica that shares buckets with others, without I/O and clock: what it has seen,
 * what it writes next, and what it holds. shards.c is the shell around it; the simulation in the
 * tests is another one. Private to common/kube.
 *
 * There is a Lease per bucket, and one per replica, by which the others know that it is alive. As
 * in lease.h, clocks of machines are not compared, and a replica stops using a bucket some time
 * before another one may take it. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/kube/shard_decide.h"

enum {
    SHARD_DURATION_MS = 30 * 1000,
    SHARD_RENEW_DEADLINE_MS = 20 * 1000,
    SHARD_RENEW_MS = 7 * 1000,
    /* How often all Leases are read. A bucket of a replica that died is taken after the duration,
     * and one read before and after that. */
    SHARD_READ_MS = 5 * 1000,
    /* Leases of replicas that are gone are deleted after this. */
    SHARD_MEMBER_AGE_MS = 10 * 60 * 1000,
};

struct shard_machine;

struct shard_machine_options {
    const char *namespace_name, *name, *identity; /* copied */
    size_t bucket_count;
    /* The bucket may be used, or may not be used any more. */
    void (*on_change)(void *data, size_t bucket, bool is_held);
    /* Whether requests for a bucket that may not be used any more are still under way. */
    bool (*is_busy)(void *data, size_t bucket);
    void *data;
};

/* A Lease that has to be written or deleted. */
struct shard_write {
    size_t place;                       /* for shard_machine_written() */
    const char *name;                   /* of the Lease; borrowed until shard_machine_written() */
    json_t *body;                       /* belongs to the caller; NULL: delete */
    const char *uid, *resource_version; /* preconditions of a deletion; borrowed */
    bool is_create;
};

struct shard_machine *shard_machine_new(const struct shard_machine_options *options);
void shard_machine_free(struct shard_machine *machine); /* NULL is fine */

/* All Leases were read. is_complete false: the list failed, and what was noted since
 * shard_machine_begin_list() is incomplete. */
void shard_machine_begin_list(struct shard_machine *machine);
void shard_machine_note(struct shard_machine *machine, const json_t *lease, uint64_t now_ms);
void shard_machine_end_list(struct shard_machine *machine, bool is_complete, uint64_t now_ms);

/* The next write, if there is one; false: none for now. time is RFC 3339 with microseconds. Called
 * repeatedly, at least once per second. */
bool shard_machine_next(struct shard_machine *machine, uint64_t now_ms, const char *time,
                        struct shard_write *ret_write);
/* The result of a write: the Lease as it is now, NULL after a deletion or an error. kind is
 * ERROR_NONE, ERROR_CONFLICT or ERROR_EXISTS (somebody else was faster), or another error. */
void shard_machine_written(struct shard_machine *machine, size_t place, const json_t *lease,
                           enum error_kind kind, uint64_t now_ms);

/* Whether the bucket may be used now. Precise: also between two calls of shard_machine_next(). */
bool shard_machine_is_held(const struct shard_machine *machine, size_t bucket, uint64_t now_ms);
/* Gives up all buckets. It is stopped when nothing is left to be written. */
void shard_machine_stop(struct shard_machine *machine);
bool shard_machine_is_stopped(const struct shard_machine *machine);
