/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for one test: the code under test may change root/, but nothing else. All
 * functions assert success. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
    char path[64]; /* absolute */
    int fd, root_fd;
    char *outside; /* initial description of everything except root/ */
};

void scratch_init(struct scratch *scratch);
/* Asserts that nothing around root/ has changed, then removes all. */
void scratch_done(struct scratch *scratch);
#define cleanup_scratch __attribute__((cleanup(scratch_done)))
/* Empties root/. */
void scratch_clear(struct scratch *scratch);

/* One line per entry, sorted: "path kind mode mtime size contents-or-target", without mode and
 * mtime unless is_exact. The text belongs to the caller. */
char *scratch_describe(int directory_fd, bool is_exact);
void scratch_write(int directory_fd, const char *path, const char *text);
/* Writes incompressible bytes, the same for the same seed. */
void scratch_write_noise(int directory_fd, const char *path, size_t size, uint64_t seed);
/* The contents of a file below the directory, or NULL if there is no regular file. */
char *scratch_read(int directory_fd, const char *path);
