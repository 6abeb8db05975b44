/* SPDX-License-Identifier: Apache-2.0 */
/* Stores state and exports of main. Both are attempted even if the other one fails. */
#pragma once

#include "wait/deadline.h"
#include "wait/sink.h"
#include "wait/volume.h"

/* A copy of the state that was stored while main was still running. All zero: there is none. */
struct snapshot {
    struct state_outcome outcome;
    uint64_t ended_at_ms;
};

struct store {
    struct sink *sink;
    const struct volume *volume;
    const struct deadline *deadline;
    const struct origin *origin;
    const struct last_generation *last;
    const struct snapshot *snapshot; /* of this run; NULL: none */
    /* Asked before each chunk; true cancels the rest. NULL: never. */
    bool (*is_obsolete)(void *data);
    /* Called often, while the state is packed and before each chunk. stored: how many chunks are
     * stored, of how many (0: not known yet). May be NULL. */
    void (*on_progress)(void *data, int64_t stored, int64_t chunks);
    void *data;
};

/* Failures are reported in the outcome. A state that equals the snapshot is not written again. If
 * there is another snapshot, or may be one, the state is written even if it equals the last
 * generation, because the snapshot is newer than that. */
void store_state(const struct store *store, struct state_outcome *ret_outcome);
/* The same while main may still be changing the state, and in one attempt. What is stored is what
 * the directory contained at one moment; else the delivery is DELIVERY_FAILED, with ERROR_CONFLICT
 * if main changed it meanwhile, and the generation stays incomplete. It may be complete after
 * another error, see may_be_complete: do not store a second one with the same sequence then. The
 * number of chunks is known in any case, unless the state could not be read. */
void store_snapshot(const struct store *store, struct state_outcome *ret_outcome);
void store_exports(const struct store *store, struct export_outcome *ret_outcome);

/* The sequence of this run: given if not 0, else the larger of last + 1 and the pod's creation
 * time, so that a pod created later has a higher one. */
int64_t store_sequence(int64_t given, int64_t last, int64_t pod_created_unix_seconds);
/* The sequence of a snapshot: between that of the last generation and given, the one of this run. 0
 * if there is no room; a snapshot would not be restored then. */
int64_t store_snapshot_sequence(int64_t given, int64_t last);
