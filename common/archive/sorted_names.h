/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates over the names in a directory in byte order with bounded memory: if not all names fit,
 * the smallest ones are kept, and the directory is read again for the following ones. Internal to
 * common/archive. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct sorted_names {
    char **names; /* those from place on have not been returned yet */
    size_t count, capacity, place, bytes, bytes_max;
    char *last; /* returned before, or NULL */
    bool is_whole;
};

void sorted_names_init(struct sorted_names *names, size_t bytes_max);
void sorted_names_done(struct sorted_names *names); /* also for zeroed memory */
/* *ret_name is the next name except "." and "..", borrowed until the next call, or NULL at the end.
 * Rewinds and reads the directory when needed. */
int sorted_names_next(struct sorted_names *names, DIR *directory, const char **ret_name,
                      struct error *err) must_check;
