/* SPDX-License-Identifier: Apache-2.0 */
/* State is stored as generations of chunks; see docs/state.md. This module has no I/O: it finds out
 * which generations exist, which are complete, in which order to try them and which objects are
 * garbage. It knows the format of the Go deployer (uuid and num only; complete if it can be
 * unpacked) and ours (count, sha256, sequence, job, pod). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* Higher sequences are invalid, so that the next one always fits into an int64_t. */
#define STATE_SEQUENCE_MAX (INT64_MAX / 2)

/* The metadata of a chunk. Strings belong to the chunk. */
struct state_chunk {
    char *object;     /* name of the Secret or directory */
    char *uuid;       /* "" if the annotation is missing, as in Go */
    char *sha256;     /* of all chunks of the generation; NULL: written by Go */
    char *job, *pod;  /* NULL: written by Go */
    int64_t number;   /* 0 if invalid, as in Go */
    int64_t count;    /* 0: written by Go; -1: invalid */
    int64_t sequence; /* 0: written by Go; -1: invalid */
    int64_t created_unix_ms;
};

struct state_generation {
    struct state_chunk **chunks; /* borrowed from the set, by number */
    size_t chunk_count;
    const char *uuid, *sha256; /* borrowed */
    int64_t sequence;
    bool is_ours; /* has count and sha256 */
    /* Ours: each of the numbers 0 to count-1 exists once, and all agree. Go's: no gap. */
    bool is_complete;
};

struct state_set {
    struct state_chunk *chunks;
    size_t chunk_count;
    struct state_generation *generations; /* best first */
    size_t generation_count;
};

/* Whether a Secret belongs to the item with this hash (name_hash()). True for Secrets of the Go
 * deployer, which have no hash. Guards against Secrets whose labels were copied from another item;
 * the label values themselves can't collide (name_label_value()). */
bool state_secret_is_of_item(const json_t *secret, const char *item_hash);
/* Adds one Secret (only its metadata is read). Call it for each, then state_set_arrange() once. */
void state_set_add_secret(struct state_set *set, const json_t *secret);
/* Groups the chunks into generations and sorts those, best first. Ours are sorted by sequence, and
 * by creation time, oldest first, if the sequences are equal; clocks do not matter otherwise. Go's
 * are sorted by creation time. One of Go's comes before all of ours that were created earlier (a Go
 * deployer ran after us). Incomplete generations come last. */
void state_set_arrange(struct state_set *set);
void state_set_done(struct state_set *set);

/* The newest complete generation, or NULL. */
const struct state_generation *state_set_newest(const struct state_set *set);
/* The highest sequence of all chunks, incomplete generations included. */
int64_t state_set_last_sequence(const struct state_set *set);
/* The sequence for a new pod, usually the Unix time. A pod may save a snapshot with the number
 * before its own one, and what was found may be the snapshot of an older pod that will still save
 * its own: so this is at least the last one + 3. */
int64_t state_set_next_sequence(const struct state_set *set, int64_t unix_seconds);
/* Whether this is an interrupted upload of ours: chunk 0, which is written last, is missing. No
 * state is lost if it is removed. */
bool state_generation_is_interrupted(const struct state_generation *generation);
/* The objects that may be deleted: all but the newest `keep` complete generations. Keep at least
 * two, because a generation of Go's may turn out to be damaged when it is unpacked. Incomplete
 * generations are garbage if they are older than the newest complete one, or if is_idle (no pod of
 * this item can be uploading). If there is no complete generation, only interrupted uploads are
 * garbage: the rest may be all that is left of a state. Names are borrowed; *ret_names belongs to
 * the caller. */
size_t state_set_garbage(const struct state_set *set, size_t keep, bool is_idle,
                         const char ***ret_names);
