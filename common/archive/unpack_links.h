/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a blueprint: remembered while the archive is read, made into copies of their targets
 * when all files are there. No link ever exists on the disk, so none can be followed. Internal to
 * common/archive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct link {
    char *path;   /* clean */
    char *target; /* as it stands in the archive */
    bool is_hard; /* the target counts from the root, not from the link's directory */
    size_t order; /* the last one of a path wins */
};

struct link_table {
    struct link *links;
    size_t count, capacity;
    size_t text_bytes;
    bool is_sorted;
};

void link_table_done(struct link_table *table);
/* ERROR_TOO_LARGE if the table's texts would take more than 1 MiB. */
int link_table_add(struct link_table *table, const char *path, const char *target, bool is_hard,
                   struct error *err) must_check;
/* Drops links of which a file has taken the place; a directory in the place is an error. Sorts. */
int link_table_settle(struct link_table *table, int root_fd, struct error *err) must_check;
/* The clean path of the file that the link leads to in the end. Fails if it leads out of the tree,
 * in a circle or to no name. Nothing is known yet about what is there. */
int link_table_resolve(const struct link_table *table, const struct link *link, char **ret_path,
                       struct error *err) must_check;
