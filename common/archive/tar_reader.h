/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the entries of an untrusted tar stream. The only place where libarchive parses tar.
 * Internal to common/archive. */
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

/* name and target are the raw bytes of the archive, borrowed until the next entry. */
struct tar_entry {
    enum tar_kind kind;
    const char *name;
    const char *target; /* of links, otherwise NULL */
    uint64_t size;      /* of files, holes included */
    mode_t mode;        /* 07777 at most */
    uid_t uid;
    gid_t gid;
    bool has_mtime;
    struct timespec mtime;
};

struct tar_reader;

/* plain is borrowed. */
int tar_reader_new(struct plain *plain, struct tar_reader **ret_reader, struct error *err)
    must_check;
void tar_reader_free(struct tar_reader *reader); /* NULL is fine */
define_cleanup(struct tar_reader *, tar_reader_free)
#define cleanup_tar_reader __attribute__((cleanup(tar_reader_freep)))

/* Returns 1 with the next entry, or 0 at the end of the archive. Unread data of the previous entry
 * is skipped. ERROR_INVALID: damaged. */
int tar_reader_next(struct tar_reader *reader, struct tar_entry *ret_entry, struct error *err)
    must_check;
/* Returns the size of the next piece of the entry's data, which belongs at *ret_offset, or 0 at the
 * end. Pieces come in order; there are holes between them. */
ssize_t tar_reader_data(struct tar_reader *reader, const void **ret_bytes, uint64_t *ret_offset,
                        struct error *err) must_check;
/* Writes the data of entry, the current one, to a new file; holes stay holes. ERROR_INVALID if
 * there is more data than the entry's size. */
int tar_reader_write_file(struct tar_reader *reader, const struct tar_entry *entry, int fd,
                          struct error *err) must_check;
/* At the end: whether the two blocks of zeros that terminate an archive were present. */
bool tar_reader_saw_end(const struct tar_reader *reader);
