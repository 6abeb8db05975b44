/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an untrusted tar stream (plain, gzip, zstd, xz or bzip2, told by magic bytes) below a
 * directory. libarchive only reads; every file is created by us, below the descriptor. Memory does
 * not grow with the archive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/archive/limits.h"
#include "common/base/error.h"

enum unpack_policy {
    /* Blueprints: symlinks and hard links become copies of their target inside the tree, modes are
     * 0666 and 0777 less umask, devices, FIFOs and links that lead out are errors. */
    UNPACK_BLUEPRINT,
    /* State: symlinks come back as symlinks (never followed), modes (0777) and mtimes by
     * descriptor, hard links to files unpacked before; other kinds are errors. */
    UNPACK_STATE,
};

struct unpack_options {
    enum unpack_policy policy;
    const struct archive_limits *limits;
    /* Go's state archives: a missing or short gzip trailer and bytes after the end of the archive
     * are fine once the end-of-archive blocks were seen. A full trailer with a wrong CRC never is.
     */
    bool is_go_state_tolerated;
};

struct unpack_counts {
    uint64_t entries, bytes;
};

/* Pulls packed bytes: *ret_bytes stays valid until the next call; 0 is the end, -1 failed. */
typedef ssize_t unpack_read_fn(void *data, const void **ret_bytes, struct error *err);

/* On failure what was unpacked so far is there: unpack into a fresh directory and rename. The
 * source is read to its end, so that the caller's digest covers all of it. */
int unpack_stream(int root_fd, const struct unpack_options *options, unpack_read_fn *read,
                  void *data, struct unpack_counts *ret_counts, struct error *err) must_check;
int unpack_fd(int root_fd, const struct unpack_options *options, int packed_fd,
              struct unpack_counts *ret_counts, struct error *err) must_check;
/* Hands out one regular file of a tar in memory; leading "/" and "./" of names are dropped.
 * ERROR_NOT_FOUND if it is not there. */
int unpack_find_file(const void *packed, size_t packed_size, const char *name, size_t max_bytes,
                     char **ret_data, size_t *ret_size, struct error *err) must_check;
