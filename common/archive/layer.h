/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of a container image on top of a root file system: whiteouts remove, opaque directories
 * empty, links and modes stay what they are, and nothing leaves the root, whatever the layer says.
 */
#pragma once

#include <stdbool.h>

#include "common/archive/limits.h"
#include "common/archive/unpack.h"
#include "common/base/error.h"

struct layer_options {
    const struct archive_limits *limits;
    bool is_owner_kept; /* chown as the layer says; ids that can't be mapped are left at 0 */
};

/* Images: 16 GiB, 8 GiB a file, 2 000 000 entries, depth 128, no ratio, windows of 128 MiB. */
extern const struct archive_limits ARCHIVE_LIMITS_LAYER;

/* Plain, gzip, zstd, xz or bzip2, told by magic bytes. Devices and FIFOs are left out (a container
 * gets its own /dev), setuid and setgid bits of files too (main can't gain privileges anyway). */
int layer_unpack(int root_fd, const struct layer_options *options, int packed_fd,
                 struct unpack_counts *ret_counts, struct error *err) must_check;

/* Whether a tar file on disk has an entry of this name; "./" in front does not count. */
bool layer_has_entry(const char *tar_path, const char *name);
