/* SPDX-License-Identifier: Apache-2.0 */
/* A source of packed bytes in memory for unpack_stream(). For tests and fuzzers. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

struct memory_source {
    const void *bytes;
    size_t size, place;
    size_t piece; /* at most this many at once */
};

static inline ssize_t memory_source_read(void *data, const void **ret_bytes, struct error *err)
{
    struct memory_source *source = data;
    size_t left = source->size - source->place;
    size_t size = left < source->piece ? left : source->piece;

    (void)err;
    *ret_bytes = (const char *)source->bytes + source->place;
    source->place += size;
    return (ssize_t)size;
}
