/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a test's own, gone when the test ends. Any failure aborts the test. */
#pragma once

#include <stddef.h>

struct folder {
    char path[64];
    int fd;
};

void folder_make(struct folder *folder);
void folder_remove(struct folder *folder);
/* Writes a file below it, with its directories. */
void folder_write(const struct folder *folder, const char *name, const void *data, size_t size);
void folder_write_text(const struct folder *folder, const char *name, const char *text);
/* The text of a file, of the caller; NULL if there is none. */
char *folder_read(const struct folder *folder, const char *name);
/* How many entries a directory has, hidden ones too; -1 if it is none. */
int folder_count(const struct folder *folder, const char *name);
/* A plain tar with these files (name, text, name, text, ..., NULL); of the caller. */
char *folder_tar(size_t *ret_size, ...);
