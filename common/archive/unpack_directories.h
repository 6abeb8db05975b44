/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and times of directories, which can only be set when nothing more is made below them: kept
 * in an unlinked file on the same volume, so that a million of them cost no memory. Internal to
 * common/archive. */
#pragma once

#include <stdint.h>

#include "common/archive/tar_reader.h"

struct directory_spool {
    int fd;         /* -1: nothing is in it */
    unsigned depth; /* of the deepest */
};

#define DIRECTORY_SPOOL_INIT ((struct directory_spool){.fd = -1})
void directory_spool_done(struct directory_spool *spool);

/* path is clean. */
int directory_spool_add(struct directory_spool *spool, int root_fd, const char *path,
                        const struct tar_entry *entry, struct error *err) must_check;
/* Deepest first, since a mode can lock us out of what is below; the last one of a path wins. The
 * set-gid bit that the volume gave a directory stays. */
int directory_spool_apply(const struct directory_spool *spool, int root_fd, struct error *err)
    must_check;
