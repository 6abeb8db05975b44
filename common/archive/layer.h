/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a layer of a container image to a root file system with the result that containerd gets
 * (e2e/local/test_layers.py compares the trees): whiteouts, opaque directories, links, modes,
 * owners and times. Nothing outside the root is read or changed, whatever the layer contains: every
 * entry is placed by a descriptor of its parent directory, and symlinks are resolved inside the
 * root (layer_path.h). */
#pragma once

#include <stdbool.h>

#include "common/archive/limits.h"
#include "common/archive/unpack.h"
#include "common/base/error.h"

struct layer_options {
    const struct archive_limits *limits;
    bool is_owner_kept; /* chown as the layer says; ids that can't be mapped become 0 */
    /* Called before each block that is read, with the bytes unpacked so far; -1 with err set stops
     * the unpacking. NULL: not called. */
    int (*on_block)(void *data, uint64_t bytes, struct error *err);
    void *data;
};

/* 16 GiB, 8 GiB per file, 2 000 000 entries, depth 128, no ratio, windows of 128 MiB. */
extern const struct archive_limits ARCHIVE_LIMITS_LAYER;

/* Reads packed_fd (tar; plain, gzip, zstd, xz or bzip2, detected by magic bytes) and applies it to
 * root_fd. Call it once per layer, the lowest first. On failure the root holds a part of the layer.
 *
 * Differences to containerd: devices, FIFOs and sockets are skipped (a container gets its own
 * /dev); so are extended attributes and the setuid and setgid bits of files (main can't gain
 * privileges); directories stay writable for their owner; an entry whose name has ".." in it is
 * ERROR_INVALID. */
int layer_unpack(int root_fd, const struct layer_options *options, int packed_fd,
                 struct unpack_counts *ret_counts, struct error *err) must_check;

/* Whether the tar file (packed as above) has an entry of this name, with or without a leading "./".
 * False if it can't be read. */
bool layer_has_entry(const char *tar_path, const char *name);
