/* SPDX-License-Identifier: Apache-2.0 */
/* Gunzip that verifies the CRC, and gzip of what is in memory. The stream is internal to
 * common/archive. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/archive/unpack.h"
#include "common/base/buffer.h"

/* Appends what is packed. ERROR_INVALID: damaged; ERROR_TOO_LARGE: there is no room for it. */
int gzip_unpack(const void *packed, size_t size, struct buffer *ret_bytes, struct error *err)
    must_check;

/* Appends one member, which is the same for the same bytes and level (1, the fastest, to 9).
 * ERROR_TOO_LARGE: there is no room for it. */
int gzip_pack(const void *bytes, size_t size, int level, struct buffer *ret_packed,
              struct error *err) must_check;

struct gzip;

/* Accepts one or more complete members followed only by zeros. With is_tail_tolerated (state
 * written by the Go deployer) it reads one member, compares a truncated trailer as far as it goes,
 * treats a truncated stream as its end (gzip_is_cut) and ignores bytes after the trailer. */
struct gzip *gzip_new(unpack_read_fn *read, void *data, bool is_tail_tolerated);
void gzip_free(struct gzip *gzip); /* NULL is fine */

/* Returns the number of bytes, which stay valid until the next call, or 0 at the end.
 * ERROR_INVALID: damaged. */
ssize_t gzip_read(struct gzip *gzip, const void **ret_bytes, struct error *err) must_check;
/* Whether the stream ended before its last deflate block did. */
bool gzip_is_cut(const struct gzip *gzip);
