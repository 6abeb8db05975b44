/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a deterministic tar+gzip stream. Our own writer and not libarchive's, because its bytes
 * must not change with a library's defaults, and because names are bytes here.
 *
 * Headers are ustar. A pax header comes before an entry only where ustar can't say it: a path over
 * its fields, a link target over 100 bytes, a time with a fraction, a huge size. Bytes outside of
 * ASCII stand raw in the ustar fields; in a pax header they come with hdrcharset=BINARY, since pax
 * wants UTF-8 there and a file name can be anything. Go's archive/tar takes both as they are, and
 * so does libarchive. Internal to common/archive. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "common/archive/pack.h"

struct tar_writer;

struct tar_header {
    const char *name;
    const char *target; /* of a symlink, else NULL */
    char type;          /* '0' file, '2' symlink, '5' directory */
    mode_t mode;
    uint64_t size; /* of a file */
    struct timespec mtime;
};

struct tar_writer *tar_writer_new(pack_write_fn *write, void *data);
void tar_writer_free(struct tar_writer *writer); /* NULL is fine */
define_cleanup(struct tar_writer *, tar_writer_free)
#define cleanup_tar_writer __attribute__((cleanup(tar_writer_freep)))

int tar_writer_header(struct tar_writer *writer, const struct tar_header *header, struct error *err)
    must_check;
/* Exactly header->size bytes in all, then tar_writer_pad(). */
int tar_writer_data(struct tar_writer *writer, const void *bytes, size_t size, struct error *err)
    must_check;
int tar_writer_pad(struct tar_writer *writer, uint64_t size, struct error *err) must_check;
/* The end of the archive and of the gzip stream. */
int tar_writer_finish(struct tar_writer *writer, struct error *err) must_check;
uint64_t tar_writer_packed_bytes(const struct tar_writer *writer);
