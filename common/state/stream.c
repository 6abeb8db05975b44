/* SPDX-License-Identifier: Apache-2.0 */
#include "common/state/stream.h"

#include <string.h>

#include "common/archive/beneath.h"
#include "common/contract.h"
#include "common/data/digest.h"

/* Other writers may use slightly larger chunks. */
enum { CHUNK_MAX_BYTES = STATE_CHUNK_BYTES + 64 * 1024 };

void state_stream_init(struct state_stream *stream, const struct state_generation *generation,
                       const struct state_source *source)
{
    *stream = (struct state_stream){.source = source, .generation = generation};
    stream->digest = digest_new(DIGEST_SHA256);
    buffer_init(&stream->chunk, CHUNK_MAX_BYTES);
}

void state_stream_done(struct state_stream *stream)
{
    digest_free(stream->digest);
    if (stream->chunk.data)
        explicit_bzero(stream->chunk.data, stream->chunk.capacity);
    buffer_done(&stream->chunk);
}

ssize_t state_stream_read(void *data, const void **ret_bytes, struct error *err)
{
    struct state_stream *stream = data;

    while (stream->place < stream->generation->chunk_count) {
        const struct state_chunk *chunk = stream->generation->chunks[stream->place++];

        buffer_clear(&stream->chunk);
        if (stream->source->read_chunk(stream->source->data, chunk, &stream->chunk, err) < 0)
            return error_wrap(err, "state chunk \"%s\"", beneath_show(chunk->object).text);
        if (!stream->chunk.size)
            continue;
        digest_update(stream->digest, stream->chunk.data, stream->chunk.size);
        *ret_bytes = stream->chunk.data;
        return (ssize_t)stream->chunk.size;
    }
    return 0;
}

int state_stream_check(const struct state_stream *stream, struct error *err)
{
    char hex[DIGEST_HEX_MAX];

    digest_hex(stream->digest, hex);
    if (stream->generation->is_ours && strcmp(hex, stream->generation->sha256) != 0)
        return error_set(err, ERROR_INVALID, "sha256 mismatch");
    return 0;
}
