/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for fuzzers that write files, with a canary (outside/secret) next to the
 * directory they write to. Created once, removed when the program ends. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"

static char place_path[] = "/tmp/longshore-fuzz-XXXXXX";

static inline void require(bool is_true)
{
    if (!is_true)
        abort();
}

static inline void place_remove(void)
{
    cleanup_close int tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err = {0};

    (void)!beneath_remove_tree(tmp_fd, strrchr(place_path, '/') + 1, &err);
}

static inline int place(void)
{
    static int fd = -1;
    struct error err = {0};

    if (fd >= 0)
        return fd;
    require(mkdtemp(place_path) != NULL && atexit(place_remove) == 0);
    fd = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(beneath_write_file(fd, "outside/secret", "secret", 6, 0600, &err) == 0);
    return fd;
}

static inline int place_count_entries(int directory_fd)
{
    DIR *directory = fdopendir(openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int count = 0;

    require(directory != NULL);
    while (readdir(directory))
        count++;
    (void)closedir(directory);
    return count - 2;
}

/* The canary is unchanged, and there is one other directory. */
static inline void place_check(void)
{
    cleanup_close int fd = -1, outside_fd = -1;
    struct error err = {0};
    struct stat stat = {0};
    char text[16] = {0};

    require(place_count_entries(place()) == 2);
    outside_fd = beneath_open_directory(place(), "outside", &err);
    require(outside_fd >= 0 && place_count_entries(outside_fd) == 1);
    fd = beneath_open_file(outside_fd, "secret", &stat, &err);
    require(fd >= 0 && (stat.st_mode & 07777) == 0600 && stat.st_nlink == 1);
    require(read(fd, text, sizeof(text)) == 6 && memcmp(text, "secret", 6) == 0);
}
