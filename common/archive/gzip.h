/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip as a stream, with the CRC checked. Internal to common/archive. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/archive/unpack.h"

struct gzip;

/* Strict: one or more whole members, then nothing but zeros. With is_tail_tolerated: one member; a
 * trailer that is cut is compared as far as it goes, a stream that is cut ends where it ends, bytes
 * behind the trailer are not looked at. */
struct gzip *gzip_new(unpack_read_fn *read, void *data, bool is_tail_tolerated);
void gzip_free(struct gzip *gzip); /* NULL is fine */

/* *ret_bytes stays valid until the next call; 0 is the end, -1 failed (ERROR_INVALID: damaged). */
ssize_t gzip_read(struct gzip *gzip, const void **ret_bytes, struct error *err) must_check;
/* The stream ended before its last deflate block did. */
bool gzip_is_cut(const struct gzip *gzip);
