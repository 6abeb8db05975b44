/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/limits.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

const struct archive_limits ARCHIVE_LIMITS_BLUEPRINT = {
    .bytes_max = 256 * MIB,
    .file_max = 64 * MIB,
    .entries_max = 10000,
    .depth_max = 64,
    .ratio_max = 200,
};

const struct archive_limits ARCHIVE_LIMITS_STATE = {
    .bytes_max = 4 * GIB,
    .file_max = 4 * GIB,
    .entries_max = 1000000,
    .depth_max = 128,
    .ratio_max = 0,
};
