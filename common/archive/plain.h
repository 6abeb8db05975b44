/* SPDX-License-Identifier: Apache-2.0 */
/* The plain bytes of a packed stream (gzip, zstd, xz, bzip2 or as it is, told by its first bytes),
 * with limits on what they may cost. Internal to common/archive.
 *
 * gzip is decoded here with zlib, because libarchive ignores its CRC and because the state archives
 * of the Go deployer have cut trailers and stale bytes behind them; zstd and xz with their own
 * libraries, because libarchive does not bound their memory (decoder.h). bzip2, which takes 4 MiB
 * at most, goes through libarchive's filter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/archive/limits.h"
#include "common/archive/unpack.h"

struct plain;

struct plain_options {
    const struct archive_limits *limits;
    /* What comes after the first gzip member is not looked at, and a trailer that is cut is
     * compared as far as it goes. */
    bool is_tail_tolerated;
};

int plain_new(const struct plain_options *options, unpack_read_fn *read, void *data,
              struct plain **ret_plain, struct error *err) must_check;
void plain_free(struct plain *plain); /* NULL is fine */
define_cleanup(struct plain *, plain_free)
#define cleanup_plain __attribute__((cleanup(plain_freep)))

/* *ret_bytes stays valid until the next call; 0 is the end, -1 failed. Once it has failed it
 * fails again. */
ssize_t plain_read(struct plain *plain, const void **ret_bytes, struct error *err) must_check;

/* At most this many more plain bytes may be read; UINT64_MAX: as many as the limits allow. */
void plain_set_allowance(struct plain *plain, uint64_t bytes);
/* Fails if this many unpacked bytes are too many for what was read so far (limits->ratio_max). */
int plain_check_ratio(const struct plain *plain, uint64_t unpacked_bytes, struct error *err)
    must_check;
/* True if the packed stream stopped in the middle, which only is_tail_tolerated lets happen. */
bool plain_is_cut(const struct plain *plain);
/* Reads both streams to their ends: checksums are compared, the caller's digest covers all. */
int plain_drain(struct plain *plain, struct error *err) must_check;
