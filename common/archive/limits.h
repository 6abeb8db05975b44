/* SPDX-License-Identifier: Apache-2.0 */
/* What an archive may cost, unpacked. */
#pragma once

#include <stdint.h>

enum { ARCHIVE_WINDOW_DEFAULT = 8 * 1024 * 1024 };

struct archive_limits {
    uint64_t bytes_max;   /* of all files together */
    uint64_t file_max;    /* of one file */
    uint64_t entries_max; /* entries of any kind */
    unsigned depth_max;   /* components of a path */
    unsigned ratio_max;   /* unpacked to packed bytes, looked at after the first MiB; 0: none */
    uint64_t window_max; /* of zstd and xz: memory while unpacking; 0: 8 MiB, what any may expect */
};

/* Blueprints: 256 MiB, 64 MiB a file, 10 000 entries, depth 64, 200:1. */
extern const struct archive_limits ARCHIVE_LIMITS_BLUEPRINT;
/* State: 4 GiB, 4 GiB a file, 1 000 000 entries, depth 128, no ratio. */
extern const struct archive_limits ARCHIVE_LIMITS_STATE;
