/* SPDX-License-Identifier: Apache-2.0 */
/* zstd and xz as streams with a bound on their window, which is what they take in memory.
 * libarchive's own filters take what the stream asks for: up to 128 MiB for zstd, 4 GiB for xz.
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

/* *ret_bytes stays valid until the next call; 0 is the end, -1 failed (ERROR_INVALID: damaged or
 * cut; ERROR_TOO_LARGE: a larger window is needed). */
ssize_t decoder_read(struct decoder *decoder, const void **ret_bytes, struct error *err) must_check;
