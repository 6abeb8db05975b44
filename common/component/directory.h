/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a directory by descriptor. */
#pragma once

#include <sys/stat.h>

#include "common/base/error.h"

/* Receives one entry; status is that of the entry itself, symlinks are not followed. -1 with err
 * set ends the reading. */
typedef int directory_entry_fn(void *data, const char *name, const struct stat *status,
                               struct error *err);

/* Calls on_entry for every entry of the directory except "." and "..", in no particular order, and
 * returns its error as it is. Any other failure names the directory as name does. The descriptor
 * stays open. */
int directory_read(int fd, const char *name, directory_entry_fn *on_entry, void *data,
                   struct error *err) must_check;
