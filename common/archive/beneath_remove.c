/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a tree of any depth with three descriptors and without recursion: non-empty
 * subdirectories are moved to the top directory under temporary names and removed from there. Each
 * directory moves at most once, so the time is linear. Deep nesting can't exhaust descriptors or
 * stack, and ".." is never opened. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/archive/beneath.h"

static void closedirp(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}
#define cleanup_directory __attribute__((cleanup(closedirp)))

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Adds missing permissions, since the directory is removed anyway. */
static int open_to_empty(int parent_fd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent_fd, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(parent_fd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent_fd, name, flags);
    return fd;
}

/* Moves a non-empty directory to the top directory. Renaming needs write permission on the moved
 * directory itself, because its ".." changes. */
static int move_to_top(int directory_fd, const char *name, int top_fd)
{
    char temporary[BENEATH_TEMPORARY_SIZE];

    beneath_temporary_name(temporary);
    if (renameat(directory_fd, name, top_fd, temporary) == 0)
        return 0;
    if (errno != EACCES || fchmodat(directory_fd, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return renameat(directory_fd, name, top_fd, temporary);
}

/* Unlinks the entry. A non-empty directory is moved to top_fd, or left alone if top_fd is -1. */
static int remove_entry(int directory_fd, const char *name, int top_fd)
{
    if (unlinkat(directory_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(directory_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    return top_fd < 0 ? 0 : move_to_top(directory_fd, name, top_fd);
}

/* Removes the directory with its files; its non-empty subdirectories move to top_fd. */
static int flatten(int parent_fd, const char *name, int top_fd)
{
    cleanup_directory DIR *directory = NULL;
    cleanup_close int fd = open_to_empty(parent_fd, name);
    const struct dirent *entry = NULL;

    if (fd < 0)
        return -1;
    (void)fchmod(fd, 0700);
    directory = fdopendir(fd);
    if (!directory)
        return -1;
    (void)steal_fd(&fd);
    while ((errno = 0, entry = readdir(directory))) {
        if (!is_dot(entry->d_name) && remove_entry(dirfd(directory), entry->d_name, top_fd) < 0)
            return -1;
    }
    if (errno)
        return -1;
    return unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* One pass over the top directory. *ret_is_clean: it was empty. */
static int sweep(int top_fd, bool *ret_is_clean)
{
    cleanup_directory DIR *directory = NULL;
    cleanup_close int fd = openat(top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry = NULL;
    bool is_clean = true;

    if (fd < 0)
        return -1;
    directory = fdopendir(fd);
    if (!directory)
        return -1;
    (void)steal_fd(&fd);
    while ((errno = 0, entry = readdir(directory))) {
        struct stat stat = {0};

        if (is_dot(entry->d_name))
            continue;
        is_clean = false;
        if (remove_entry(top_fd, entry->d_name, -1) < 0)
            return -1;
        if (fstatat(top_fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(stat.st_mode) && flatten(top_fd, entry->d_name, top_fd) < 0)
            return -1;
    }
    if (errno)
        return -1;
    *ret_is_clean = is_clean;
    return 0;
}

int beneath_remove_tree(int root_fd, const char *path, struct error *err)
{
    cleanup_free char *whole = NULL;
    cleanup_close int parent_fd = -1, top_fd = -1;
    const char *name = NULL;
    bool is_clean = false;

    if (beneath_clean_any_path(path, ~0U, &whole, err) < 0)
        return -1;
    parent_fd = beneath_open_parent(root_fd, whole, false, &name, err);
    if (parent_fd < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (remove_entry(parent_fd, name, -1) < 0)
        return error_set_errno(err, errno, "remove \"%s\"", beneath_show(path).text);
    top_fd = open_to_empty(parent_fd, name);
    if (top_fd < 0 && errno == ENOENT)
        return 0;
    if (top_fd < 0)
        return error_set_errno(err, errno, "remove \"%s\"", beneath_show(path).text);
    (void)fchmod(top_fd, 0700);
    while (!is_clean) {
        if (sweep(top_fd, &is_clean) < 0)
            return error_set_errno(err, errno, "empty \"%s\"", beneath_show(path).text);
    }
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "remove \"%s\"", beneath_show(path).text);
    return 0;
}
