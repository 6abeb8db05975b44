/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a state directory into chunks for a sink, twice: once to learn size and sha256 (and whether
 * anything changed at all), once to hand the chunks out. Memory is two chunks, whatever the size.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/archive/pack.h"
#include "common/base/error.h"

struct state_summary {
    char sha256[65];
    uint64_t packed_bytes, files, bytes;
    int64_t chunk_count; /* at least 1: an empty directory is an archive too */
};

/* First pass. */
int state_summarize(int state_fd, pack_skip_fn *on_skip, void *data,
                    struct state_summary *ret_summary, struct error *err) must_check;

/* One chunk; called in the order 1, 2, ... count-1, 0: the first chunk comes last, so that an
 * interrupted upload can be told from a damaged generation, and Go's reader takes none of it.
 * Blocks until stored. */
typedef int state_chunk_fn(void *data, int64_t number, const void *bytes, size_t size,
                           struct error *err);

/* Second pass; ERROR_CONFLICT if the tree no longer gives the summary's bytes. That is known before
 * the first chunk is handed out, so what was written until then never becomes a generation. */
int state_write_chunks(int state_fd, const struct state_summary *summary, state_chunk_fn *write,
                       void *data, struct error *err) must_check;

/* The annotations of a chunk (new reference): Go's uuid and num, and ours. */
json_t *state_chunk_annotations(const struct state_summary *summary, int64_t number,
                                const char *uuid, int64_t sequence, const char *job,
                                const char *pod_uid);
