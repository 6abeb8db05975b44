/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an untrusted tar stream (plain, gzip, zstd, xz or bzip2, detected by magic bytes) below a
 * directory. libarchive only parses; files are created with common/archive/beneath.h. Memory does
 * not grow with the archive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/archive/limits.h"
#include "common/base/error.h"

enum unpack_policy {
    /* Symlinks and hard links become copies of their targets, modes are 0666 and 0777 & ~umask.
     * Devices, FIFOs and links that point outside of the tree are errors. */
    UNPACK_BLUEPRINT,
    /* Restores symlinks, hard links, modes (0777) and modification times. Other kinds of entries
     * are errors. */
    UNPACK_STATE,
};

struct unpack_options {
    enum unpack_policy policy;
    const struct archive_limits *limits;
    /* State of the Go deployer: accept a missing or truncated gzip trailer and bytes after the end
     * of the archive, if the end-of-archive blocks are present. A wrong CRC is always an error. */
    bool is_go_state_tolerated;
};

struct unpack_counts {
    uint64_t entries, bytes;
};

/* Returns the number of packed bytes, which stay valid until the next call, 0 at the end, or -1. */
typedef ssize_t unpack_read_fn(void *data, const void **ret_bytes, struct error *err);

/* A failure leaves a partial tree: unpack into a new directory and rename it. The source is read to
 * its end, so that a digest computed by it covers everything. */
int unpack_stream(int root_fd, const struct unpack_options *options, unpack_read_fn *read,
                  void *data, struct unpack_counts *ret_counts, struct error *err) must_check;
int unpack_fd(int root_fd, const struct unpack_options *options, int packed_fd,
              struct unpack_counts *ret_counts, struct error *err) must_check;
/* Reads one regular file of a tar in memory; leading "/" and "./" of names are ignored. name NULL:
 * the first file, but not the "._" files that macOS adds. The data belongs to the caller.
 * ERROR_NOT_FOUND if the archive has no such file, ERROR_INVALID if it has the named file twice. */
int unpack_find_file(const void *packed, size_t packed_size, const char *name, size_t max_bytes,
                     char **ret_data, size_t *ret_size, struct error *err) must_check;
