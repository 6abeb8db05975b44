/* SPDX-License-Identifier: Apache-2.0 */
/* State is kept as generations of chunks. This module is the pure part: which generations are
 * there, which are whole, in what order to try them, which objects are garbage. It knows both
 * formats: Go's (uuid and num only, whole if it can be unpacked) and ours (count, sha256, sequence,
 * job, pod). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* A sequence beyond it is none: the next one must still fit. */
#define STATE_SEQUENCE_MAX (INT64_MAX / 2)

/* One chunk as it is known without its data. Texts belong to the chunk. */
struct state_chunk {
    char *object;     /* name of the Secret or directory */
    char *uuid;       /* "" if there is no annotation, as Go counts */
    char *sha256;     /* of the whole generation; NULL: Go wrote it */
    char *job, *pod;  /* NULL: Go wrote it */
    int64_t number;   /* unparsable: 0, as Go counts */
    int64_t count;    /* 0: Go wrote it */
    int64_t sequence; /* 0: Go wrote it */
    int64_t created_unix_ms;
};

struct state_generation {
    struct state_chunk **chunks; /* borrowed from the set, by number */
    size_t chunk_count;
    const char *uuid, *sha256; /* borrowed */
    int64_t sequence;
    bool is_ours;     /* has count and sha256 */
    bool is_complete; /* ours: all numbers 0..count-1 there exactly once and alike; Go: no gap */
};

struct state_set {
    struct state_chunk *chunks;
    size_t chunk_count;
    struct state_generation *generations; /* best first: the order in which to try them */
    size_t generation_count;
};

/* Whether a Secret is of the item with this hash (name_hash()). The labels that the Go deployer
 * knows do not tell: the value that stands for one item's long name can be the name of another.
 * What Go wrote has no hash and passes. */
bool state_secret_is_of_item(const json_t *secret, const char *item_hash);
/* Adds one Secret (metadata suffices). Call for each, then state_set_arrange() once. */
void state_set_add_secret(struct state_set *set, const json_t *secret);
/* Orders: ours by sequence (a higher one wins, whatever the clock says; of two alike the one that
 * was there first), Go's by creation time; a Go generation that is newer than our newest by
 * creation time comes first (a Go deployer ran after us), and so on among the older ones.
 * Incomplete ones come last and are never the newest. */
void state_set_arrange(struct state_set *set);
void state_set_done(struct state_set *set);

/* The newest complete generation, or NULL. */
const struct state_generation *state_set_newest(const struct state_set *set);
/* The highest sequence seen anywhere, torn generations included: the next save is this + 1. */
int64_t state_set_last_sequence(const struct state_set *set);
/* An upload of ours that stopped before its first chunk, which is written last: it never was a
 * generation, so that nothing is lost with it. */
bool state_generation_is_interrupted(const struct state_generation *generation);
/* Objects that may be removed: all but the keep newest complete generations. Keep two at least: of
 * a Go generation only unpacking tells that it is whole. Torn generations count as garbage only if
 * older (by sequence or time) than the newest complete one or if is_idle (no pod of this item can
 * be uploading); if there is no complete one, only interrupted uploads do: the rest is all that is
 * left of somebody's state. Names are borrowed; *ret_names belongs to the caller. */
size_t state_set_garbage(const struct state_set *set, size_t keep, bool is_idle,
                         const char ***ret_names);
