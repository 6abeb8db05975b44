/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a directory that an untrusted program wrote into a deterministic tar+gzip stream: the same
 * tree gives the same bytes. Sorted lexically, names relative without "./" and without trailing
 * "/", owner 0:0 without names, gzip mtime 0; pax headers only where needed. What Go's archive/tar
 * reads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/archive/limits.h"
#include "common/base/error.h"

typedef int pack_write_fn(void *data, const void *bytes, size_t size, struct error *err);
/* A socket, device or FIFO that was left out. */
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

/* A file that shrinks, grows or is replaced while it is read is ERROR_CONFLICT (the caller may try
 * again), never a torn archive. Symlinks are stored, never followed. */
int pack_tree(int root_fd, const struct pack_options *options, struct pack_counts *ret_counts,
              struct error *err) must_check;
