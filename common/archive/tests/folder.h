/* SPDX-License-Identifier: Apache-2.0 */
/* Test helper: a temporary directory. Failures are failed assertions. */
#pragma once

#include <stddef.h>

struct folder {
    char path[64];
    int fd;
};

void folder_make(struct folder *folder);
void folder_remove(struct folder *folder);
/* Writes a file in it and creates the directories above the file. */
void folder_write(const struct folder *folder, const char *name, const void *data, size_t size);
void folder_write_text(const struct folder *folder, const char *name, const char *text);
/* The content of a file, which belongs to the caller; NULL if it does not exist. */
char *folder_read(const struct folder *folder, const char *name);
/* The number of entries of a directory, including hidden ones; -1 if it is not a directory. */
int folder_count(const struct folder *folder, const char *name);
/* An uncompressed tar archive with these files (name, text, name, text, ..., NULL); belongs to the
 * caller. */
char *folder_tar(size_t *ret_size, ...);
