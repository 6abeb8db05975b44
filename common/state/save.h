/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a state directory into chunks. The directory is packed twice: first to get size and sha256,
 * which tell whether the state has changed, then to write the chunks. Needs memory for two chunks.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/archive/pack.h"
#include "common/base/error.h"

struct state_summary {
    char sha256[65];
    uint64_t packed_bytes, files, bytes;
    int64_t chunk_count; /* at least 1, also for an empty directory */
};

/* Called while the directory is packed. Members may be NULL. */
struct state_listener {
    pack_skip_fn *on_skip; /* an entry that can't be stored; in the first pass */
    pack_progress_fn *on_progress;
    void *data;
};

/* First pass. listener may be NULL. */
int state_summarize(int state_fd, const struct state_listener *listener,
                    struct state_summary *ret_summary, struct error *err) must_check;

/* Writes one chunk; blocks until it is stored. Called in the order 1, 2, ... count-1, 0: without
 * chunk 0 an interrupted upload is recognized as such, and the Go deployer does not read it. */
typedef int state_chunk_fn(void *data, int64_t number, const void *bytes, size_t size,
                           struct error *err);

/* Second pass. listener may be NULL. ERROR_CONFLICT if the directory has changed since the first
 * one; chunk 0 is not written then, so the generation stays incomplete. */
int state_write_chunks(int state_fd, const struct state_summary *summary,
                       const struct state_listener *listener, state_chunk_fn *write, void *data,
                       struct error *err) must_check;

/* The annotations of a chunk (new reference), those of the Go deployer and ours. */
json_t *state_chunk_annotations(const struct state_summary *summary, int64_t number,
                                const char *uuid, int64_t sequence, const char *job,
                                const char *pod_uid);
