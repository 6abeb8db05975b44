/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a directory in byte order, in memory that does not grow with the directory: when not
 * all fit, the smallest that do are taken, and the directory is read again for those after them.
 * Internal to common/archive. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct sorted_names {
    char **names; /* from place on they are still to be given out */
    size_t count, capacity, place, bytes, bytes_max;
    char *last; /* given out before; NULL: none */
    bool is_whole;
};

void sorted_names_init(struct sorted_names *names, size_t bytes_max);
void sorted_names_done(struct sorted_names *names); /* zeroed memory is fine */
/* The next name, borrowed until the next call, or NULL at the end. The directory is rewound and
 * read when needed. *ret_name without "." and "..". */
int sorted_names_next(struct sorted_names *names, DIR *directory, const char **ret_name,
                      struct error *err) must_check;
