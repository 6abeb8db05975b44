/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and times of directories, which can only be set once nothing more is created in them. Kept
 * in an unlinked file on the same volume, so that memory does not grow with their number. Internal
 * to common/archive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/archive/tar_reader.h"

struct directory_spool {
    int fd;                  /* -1: nothing is in it */
    unsigned depth;          /* of the deepest */
    bool is_missing_ignored; /* directories that were removed or replaced since are skipped */
};

#define DIRECTORY_SPOOL_INIT ((struct directory_spool){.fd = -1})
void directory_spool_done(struct directory_spool *spool);

/* path is clean. */
int directory_spool_add(struct directory_spool *spool, int root_fd, const char *path, mode_t mode,
                        const struct tar_entry *entry, struct error *err) must_check;
/* Sets them, deepest first, since a mode can make the directories below inaccessible; the last
 * entry for a path wins. A set-gid bit inherited from the volume is kept. */
int directory_spool_apply(const struct directory_spool *spool, int root_fd, struct error *err)
    must_check;
