/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a directory written by an untrusted program into a tar+gzip stream that Go's archive/tar
 * can read. Deterministic, the same tree gives the same bytes: entries sorted by name, names
 * relative without "./" and trailing "/", owner 0:0 without names, gzip mtime 0, pax headers only
 * where needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/archive/limits.h"
#include "common/base/error.h"

typedef int pack_write_fn(void *data, const void *bytes, size_t size, struct error *err);
/* Called for a socket, device or FIFO that was skipped. */
typedef void pack_skip_fn(void *data, const char *path, const char *kind);

struct pack_options {
    const struct archive_limits *limits;
    pack_write_fn *write;
    pack_skip_fn *on_skip; /* may be NULL */
    void *data;
};

struct pack_counts {
    uint64_t files, bytes, packed_bytes;
};

/* ERROR_CONFLICT if a file or directory changes while it is read (the caller may retry), so that a
 * complete archive is always consistent. Symlinks are stored, never followed. */
int pack_tree(int root_fd, const struct pack_options *options, struct pack_counts *ret_counts,
              struct error *err) must_check;
