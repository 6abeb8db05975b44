/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a deterministic tar+gzip stream. libarchive's writer is not used, because the output must
 * not depend on a library's defaults, and because names are treated as bytes.
 *
 * Headers are ustar. A pax header is added only if ustar can't represent an entry: a long path, a
 * link target over 100 bytes, a time with a fraction, a huge size. Non-ASCII bytes are written
 * unchanged in ustar fields, and with hdrcharset=BINARY in pax headers, which otherwise require
 * UTF-8. Go's archive/tar and libarchive read both. Internal to common/archive. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "common/archive/pack.h"

struct tar_writer;

struct tar_header {
    const char *name;
    const char *target; /* of a symlink, otherwise NULL */
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
/* Call with header->size bytes in total, then tar_writer_pad(). */
int tar_writer_data(struct tar_writer *writer, const void *bytes, size_t size, struct error *err)
    must_check;
int tar_writer_pad(struct tar_writer *writer, uint64_t size, struct error *err) must_check;
/* Ends the archive and the gzip stream. */
int tar_writer_finish(struct tar_writer *writer, struct error *err) must_check;
/* Ends the gzip stream only: the archive goes on in what follows it. */
int tar_writer_finish_open(struct tar_writer *writer, struct error *err) must_check;
uint64_t tar_writer_packed_bytes(const struct tar_writer *writer);
