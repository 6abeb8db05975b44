/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a generation, chunk after chunk, hashed as they go by. Internal to common/state. */
#pragma once

#include <sys/types.h>

#include "common/state/restore.h"

struct state_stream {
    const struct state_source *source;
    const struct state_generation *generation;
    struct digest *digest;
    struct buffer chunk;
    size_t place;
};

/* Both are borrowed. */
void state_stream_init(struct state_stream *stream, const struct state_generation *generation,
                       const struct state_source *source);
void state_stream_done(struct state_stream *stream); /* wipes the chunk; zeroed memory is fine */
#define cleanup_state_stream __attribute__((cleanup(state_stream_done)))

/* unpack_read_fn; data is the stream. */
ssize_t state_stream_read(void *data, const void **ret_bytes, struct error *err) must_check;
/* After the end: what went by is what the generation says that it is. Of Go's nobody knows. */
int state_stream_check(const struct state_stream *stream, struct error *err) must_check;
