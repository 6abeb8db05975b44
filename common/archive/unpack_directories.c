/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/unpack_directories.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"

struct record {
    struct timespec mtime;
    mode_t mode;
    unsigned depth;
    uint32_t has_mtime; /* not bool: the struct is written and must have no padding */
    uint32_t path_size; /* of the path that follows, NUL included */
};

void directory_spool_done(struct directory_spool *spool)
{
    closep(&spool->fd);
    *spool = DIRECTORY_SPOOL_INIT;
}

static int open_spool(int root_fd, struct error *err)
{
    char name[BENEATH_TEMPORARY_SIZE];
    cleanup_close int fd = -1;

    beneath_temporary_name(name);
    fd = openat(root_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "create a temporary file");
    /* If it stayed it would look like a file of the archive. */
    if (unlinkat(root_fd, name, 0) < 0) {
        (void)error_set_errno(err, errno, "remove a temporary file");
        err->kind = ERROR_INTERNAL; /* not the archive's fault */
        return -1;
    }
    return steal_fd(&fd);
}

static unsigned depth_of(const char *path)
{
    unsigned depth = 1;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

int directory_spool_add(struct directory_spool *spool, int root_fd, const char *path, mode_t mode,
                        const struct tar_entry *entry, struct error *err)
{
    struct record record = {
        .mtime = entry->mtime,
        .mode = mode,
        .depth = depth_of(path),
        .has_mtime = entry->has_mtime,
        .path_size = (uint32_t)strlen(path) + 1,
    };

    if (spool->fd < 0 && (spool->fd = open_spool(root_fd, err)) < 0)
        return -1;
    if (file_write_all(spool->fd, "temporary file", &record, sizeof(record), err) < 0 ||
        file_write_all(spool->fd, "temporary file", path, record.path_size, err) < 0)
        return -1;
    if (record.depth > spool->depth)
        spool->depth = record.depth;
    return 0;
}

static int apply(const struct directory_spool *spool, int root_fd, const char *path,
                 const struct record *record, struct error *err)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, record->mtime};
    cleanup_close int fd = beneath_open_directory(root_fd, path, err);
    struct stat stat = {0};

    if (fd < 0)
        return spool->is_missing_ignored &&
                       (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_INVALID)
                   ? 0
                   : -1;
    if (fstat(fd, &stat) < 0 || (record->has_mtime && futimens(fd, times) < 0) ||
        fchmod(fd, record->mode | (stat.st_mode & S_ISGID)) < 0)
        return error_set_errno(err, errno, "set mode and time of \"%s\"", beneath_show(path).text);
    return 0;
}

static int apply_depth(const struct directory_spool *spool, FILE *file, unsigned depth, int root_fd,
                       struct error *err)
{
    char path[BENEATH_PATH_MAX];
    struct record record = {0};

    rewind(file);
    while (fread(&record, sizeof(record), 1, file) == 1) {
        if (record.path_size > sizeof(path) || fread(path, record.path_size, 1, file) != 1)
            return error_set(err, ERROR_INTERNAL, "temporary file is truncated");
        if (record.depth == depth && apply(spool, root_fd, path, &record, err) < 0)
            return -1;
    }
    if (ferror(file))
        return error_set_errno(err, EIO, "read a temporary file");
    return 0;
}

int directory_spool_apply(const struct directory_spool *spool, int root_fd, struct error *err)
{
    cleanup_close int fd = -1;
    cleanup_file FILE *file = NULL;

    if (spool->fd < 0)
        return 0;
    fd = fcntl(spool->fd, F_DUPFD_CLOEXEC, 0);
    file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file)
        return error_set_errno(err, errno, "read a temporary file");
    (void)steal_fd(&fd);
    for (unsigned depth = spool->depth; depth; depth--) {
        if (apply_depth(spool, file, depth, root_fd, err) < 0)
            return -1;
    }
    return 0;
}
