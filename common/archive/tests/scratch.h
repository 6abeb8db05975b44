/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for one test: root/ is what the code under test may touch, outside/ what it may not.
 * Help for tests; failures are failed assertions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
    char path[64]; /* absolute */
    int fd, root_fd;
    char *outside; /* what was around root/ in the beginning, as scratch_describe() tells it */
};

void scratch_init(struct scratch *scratch);
/* Asserts that nothing around root/ has changed, then removes all. */
void scratch_done(struct scratch *scratch);
#define cleanup_scratch __attribute__((cleanup(scratch_done)))
/* Empties root/. */
void scratch_clear(struct scratch *scratch);

/* A line an entry, sorted: "path kind mode mtime size contents-or-target". With is_exact false
 * without mode and mtime. The text is the caller's. */
char *scratch_describe(int directory_fd, bool is_exact);
void scratch_write(int directory_fd, const char *path, const char *text);
/* So many bytes that don't compress, the same for the same seed. */
void scratch_write_noise(int directory_fd, const char *path, size_t size, uint64_t seed);
/* The contents of a file below the directory, or NULL if there is no regular file. */
char *scratch_read(int directory_fd, const char *path);
