/* SPDX-License-Identifier: Apache-2.0 */
/* Limits for unpacking an archive. */
#pragma once

#include <stdint.h>

/* What every decoder must support (RFC 8878). */
enum { ARCHIVE_WINDOW_DEFAULT = 8 * 1024 * 1024 };

struct archive_limits {
    uint64_t bytes_max;   /* total size of all files */
    uint64_t file_max;    /* size of one file */
    uint64_t entries_max; /* entries of any kind */
    unsigned depth_max;   /* components of a path */
    unsigned ratio_max;   /* unpacked to packed bytes, checked after the first MiB; 0: no limit */
    uint64_t window_max;  /* decompression window of zstd and xz; 0: ARCHIVE_WINDOW_DEFAULT */
};

/* Blueprints: 256 MiB, 64 MiB per file, 10 000 entries, depth 64, 200:1. */
extern const struct archive_limits ARCHIVE_LIMITS_BLUEPRINT;
/* State: 4 GiB, 4 GiB per file, 1 000 000 entries, depth 128, no ratio. */
extern const struct archive_limits ARCHIVE_LIMITS_STATE;
