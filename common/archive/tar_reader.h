/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of an untrusted tar stream, one after the other. The only user of libarchive's tar
 * reader. Internal to common/archive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/archive/plain.h"

enum tar_kind {
    TAR_FILE,
    TAR_DIRECTORY,
    TAR_SYMLINK,
    TAR_HARD_LINK,
    TAR_OTHER, /* device, FIFO, socket */
};

/* Texts are raw bytes as they stand in the archive, borrowed until the next entry. */
struct tar_entry {
    enum tar_kind kind;
    const char *name;
    const char *target; /* of links, else NULL */
    uint64_t size;      /* of files, holes included */
    mode_t mode;        /* 0777 at most */
    bool has_mtime;
    struct timespec mtime;
};

struct tar_reader;

/* plain stays the caller's. */
int tar_reader_new(struct plain *plain, struct tar_reader **ret_reader, struct error *err)
    must_check;
void tar_reader_free(struct tar_reader *reader); /* NULL is fine */
define_cleanup(struct tar_reader *, tar_reader_free)
#define cleanup_tar_reader __attribute__((cleanup(tar_reader_freep)))

/* 1: an entry, 0: the end of the archive, -1: damaged. What is left of the entry before is
 * skipped.
 */
int tar_reader_next(struct tar_reader *reader, struct tar_entry *ret_entry, struct error *err)
    must_check;
/* The next piece of a file's data and where it belongs; pieces come in order, between them are
 * holes. 0 is the end. */
ssize_t tar_reader_data(struct tar_reader *reader, const void **ret_bytes, uint64_t *ret_offset,
                        struct error *err) must_check;
/* After the end: the two blocks of zeros that end an archive were there. */
bool tar_reader_saw_end(const struct tar_reader *reader);
