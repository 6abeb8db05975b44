/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses a stream (gzip, zstd, xz, bzip2 or uncompressed, detected by its first bytes) within
 * limits. Internal to common/archive.
 *
 * gzip is decoded with zlib, because libarchive ignores the CRC and rejects state archives of the
 * Go deployer, which have truncated trailers and stale bytes after them. zstd and xz are decoded
 * with their own libraries, because libarchive does not limit their memory (decoder.h). bzip2,
 * which needs 4 MiB at most, is decoded by libarchive's filter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/archive/limits.h"
#include "common/archive/unpack.h"

enum { FD_SOURCE_PIECE = 64 * 1024 };

/* A source of packed bytes that reads a file; to be freed with free(). */
struct fd_source {
    int fd; /* borrowed */
    char piece[FD_SOURCE_PIECE];
};
struct fd_source *fd_source_new(int fd);
unpack_read_fn fd_source_read; /* data is a struct fd_source */

struct plain;

struct plain_options {
    const struct archive_limits *limits;
    /* Ignore bytes after the first gzip member, and compare a truncated trailer as far as it goes.
     */
    bool is_tail_tolerated;
    bool is_gzip_only;  /* anything else is ERROR_INVALID */
    uint64_t plain_max; /* more plain bytes are ERROR_TOO_LARGE; 0: what limits allow */
};

int plain_new(const struct plain_options *options, unpack_read_fn *read, void *data,
              struct plain **ret_plain, struct error *err) must_check;
void plain_free(struct plain *plain); /* NULL is fine */
define_cleanup(struct plain *, plain_free)
#define cleanup_plain __attribute__((cleanup(plain_freep)))

/* Returns the number of bytes, which stay valid until the next call, or 0 at the end. After a
 * failure every further call fails with the same error. */
ssize_t plain_read(struct plain *plain, const void **ret_bytes, struct error *err) must_check;

/* Limits the number of plain bytes that may be read from now on; UINT64_MAX: no such limit. */
void plain_set_allowance(struct plain *plain, uint64_t bytes);
/* Plain bytes read so far, at most plain_max if that was set. */
uint64_t plain_bytes(const struct plain *plain);
/* ERROR_TOO_LARGE if unpacked_bytes exceed limits->ratio_max times the packed bytes so far. */
int plain_check_ratio(const struct plain *plain, uint64_t unpacked_bytes, struct error *err)
    must_check;
/* Whether the packed stream was truncated, which is an error unless is_tail_tolerated. */
bool plain_is_cut(const struct plain *plain);
/* Reads both streams to their ends, so that checksums are verified and a digest computed by the
 * source covers everything. */
int plain_drain(struct plain *plain, struct error *err) must_check;
