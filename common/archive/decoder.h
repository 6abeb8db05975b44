/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming decoders for zstd and xz with a limit on the window, which determines their memory.
 * libarchive's filters allocate what the stream asks for: up to 128 MiB for zstd, 4 GiB for xz.
 * Internal to common/archive. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/archive/unpack.h"

enum decoder_kind { DECODER_ZSTD, DECODER_XZ };

struct decoder;

/* window_max is a power of two. */
struct decoder *decoder_new(enum decoder_kind kind, uint64_t window_max, unpack_read_fn *read,
                            void *data);
void decoder_free(struct decoder *decoder); /* NULL is fine */

/* Returns the number of bytes, which stay valid until the next call, or 0 at the end.
 * ERROR_INVALID: damaged or truncated; ERROR_TOO_LARGE: a larger window is needed. */
ssize_t decoder_read(struct decoder *decoder, const void **ret_bytes, struct error *err) must_check;
