/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the chunks of a generation one after another and hashes them. Internal to common/state. */
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

/* generation and source are borrowed. */
void state_stream_init(struct state_stream *stream, const struct state_generation *generation,
                       const struct state_source *source);
void state_stream_done(struct state_stream *stream); /* wipes the chunk; zeroed memory is fine */
#define cleanup_state_stream __attribute__((cleanup(state_stream_done)))

/* unpack_read_fn; data is the stream. */
ssize_t state_stream_read(void *data, const void **ret_bytes, struct error *err) must_check;
/* To be called at the end of the stream: compares the sha256. Go's generations have none. */
int state_stream_check(const struct state_stream *stream, struct error *err) must_check;
