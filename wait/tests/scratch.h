/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory, removed at the end of the test. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    char path[64];
    int fd;
};

static inline int scratch_remove(const char *path, const struct stat *status, int type,
                                 struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline int scratch_set_up(void **state)
{
    struct scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return -1;
    (void)snprintf(scratch->path, sizeof(scratch->path), "/tmp/longshore-wait-test-XXXXXX");
    if (!mkdtemp(scratch->path))
        return -1;
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = scratch;
    return scratch->fd < 0 ? -1 : 0;
}

static inline int scratch_tear_down(void **state)
{
    struct scratch *scratch = *state;

    (void)close(scratch->fd);
    (void)nftw(scratch->path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(scratch);
    return 0;
}

static inline void scratch_write(const struct scratch *scratch, const char *path, const void *bytes,
                                 size_t size)
{
    int fd = openat(scratch->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(close(fd), 0);
}

/* The content of a file as a string, which belongs to the caller; NULL if it does not exist. */
static inline char *scratch_read(const struct scratch *scratch, const char *path)
{
    int fd = openat(scratch->fd, path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    ssize_t size = 0;

    if (fd < 0)
        return NULL;
    text = calloc(1, 1 << 21);
    assert_non_null(text);
    size = read(fd, text, (1 << 21) - 1);
    assert_true(size >= 0);
    (void)close(fd);
    return text;
}
