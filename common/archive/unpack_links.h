/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a blueprint. They are collected while the archive is read and become copies of their
 * targets at the end, so that no link ever exists on disk. Internal to common/archive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct link {
    char *path;   /* clean */
    char *target; /* as in the archive */
    bool is_hard; /* target is relative to the root, not to the link's directory */
    size_t order; /* position in the archive: the last link of a path wins */
};

struct link_table {
    struct link *links;
    size_t count, capacity;
    size_t text_bytes;
    bool is_sorted;
};

void link_table_done(struct link_table *table);
/* ERROR_TOO_LARGE if paths and targets exceed 1 MiB in total. */
int link_table_add(struct link_table *table, const char *path, const char *target, bool is_hard,
                   struct error *err) must_check;
/* Call once after all links were added. Sorts, and drops links that were replaced by a file;
 * ERROR_INVALID if a directory has the same path. */
int link_table_settle(struct link_table *table, int root_fd, struct error *err) must_check;
/* *ret_path is the clean path that the link finally points to, whether it exists or not.
 * ERROR_INVALID if it is outside of the tree, or the link is part of a loop. */
int link_table_resolve(const struct link_table *table, const struct link *link, char **ret_path,
                       struct error *err) must_check;
