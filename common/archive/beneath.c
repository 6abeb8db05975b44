/* SPDX-License-Identifier: Apache-2.0 */
/* realpath() and a prefix check would be a race: the owner of the directory can replace a component
 * by a symlink between check and use. Here the kernel checks while it resolves (openat2), or every
 * step opens a single component relative to the descriptor of its parent. */
#include "common/archive/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "common/base/file.h"
#include "common/base/memory.h"

/* Bounds the race with a process that recreates a name as fast as we unlink it. */
enum { TRIES_MAX = 16 };

static bool is_walk_forced;

void beneath_force_walk(bool is_forced)
{
    is_walk_forced = is_forced;
}

static int clean(const char *path, char **ret_path, struct error *err)
{
    return beneath_clean_any_path(path, UINT_MAX, ret_path, err);
}

static int open_by_kernel(int root_fd, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    for (int i = 0; i < TRIES_MAX; i++) {
        long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

        if (fd >= 0 || errno != EAGAIN)
            return (int)fd;
    }
    return -1;
}

/* O_DIRECTORY|O_NOFOLLOW fails with ENOTDIR on a symlink, openat2 with the more precise ELOOP. */
static int open_step(int directory_fd, const char *name, int flags)
{
    int fd = openat(directory_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat = {0};

    if (fd < 0 && errno == ENOTDIR) {
        if (fstatat(directory_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(stat.st_mode))
            errno = ELOOP;
        else
            errno = ENOTDIR;
    }
    return fd;
}

/* st_dev reveals a mount point only for directories: files of an overlay have the numbers of its
 * layers. That suffices, since only root could mount a single file below the directory. */
static int open_directory_step(int directory_fd, const char *name, int flags, dev_t device)
{
    cleanup_close int fd = open_step(directory_fd, name, flags | O_DIRECTORY);
    struct stat stat = {0};

    if (fd < 0 || fstat(fd, &stat) < 0)
        return -1;
    if (stat.st_dev != device) {
        errno = EXDEV;
        return -1;
    }
    return steal_fd(&fd);
}

static int open_by_walk(int root_fd, const char *path, int flags)
{
    cleanup_close int directory_fd = -1;
    char name[BENEATH_NAME_MAX + 1];
    struct stat root = {0};

    if (fstat(root_fd, &root) < 0)
        return -1;
    for (;;) {
        size_t length = strcspn(path, "/");
        int from_fd = directory_fd >= 0 ? directory_fd : root_fd;
        int next_fd = -1;

        if (!path[length]) {
            if (flags & O_DIRECTORY)
                return open_directory_step(from_fd, path, flags, root.st_dev);
            return open_step(from_fd, path, flags);
        }
        memcpy(name, path, length);
        name[length] = '\0';
        next_fd = open_directory_step(from_fd, name, O_PATH, root.st_dev);
        if (next_fd < 0)
            return -1;
        closep(&directory_fd);
        directory_fd = next_fd;
        path += length + 1;
    }
}

/* path is clean. Returns a descriptor, or -1 with errno. */
static int open_clean(int root_fd, const char *path, int flags)
{
    int fd = -1;

    if (!path[0])
        path = ".";
    if (is_walk_forced)
        return open_by_walk(root_fd, path, flags);
    fd = open_by_kernel(root_fd, path, flags | O_NOFOLLOW);
    /* Older kernels lack openat2; seccomp profiles of container engines may forbid it. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open_by_walk(root_fd, path, flags);
    return fd;
}

static int set_open_error(struct error *err, int os, const char *path)
{
    struct beneath_shown shown = beneath_show(path);

    switch (os) {
    case ELOOP:
        return error_set(err, ERROR_INVALID, "\"%s\" is a symlink or goes through one", shown.text);
    case ENOTDIR:
        return error_set(err, ERROR_INVALID,
                         "\"%s\" goes through something that is not a directory", shown.text);
    case EXDEV:
        return error_set(err, ERROR_INVALID, "\"%s\" is on another file system", shown.text);
    case ENXIO: /* open() of a socket */
        return error_set(err, ERROR_INVALID, "\"%s\" is not a regular file", shown.text);
    default:
        return error_set_errno(err, os, "open \"%s\"", shown.text);
    }
}

int beneath_open_file(int root_fd, const char *path, struct stat *ret_stat, struct error *err)
{
    cleanup_free char *name = NULL;
    cleanup_close int fd = -1;
    struct stat stat = {0};

    if (clean(path, &name, err) < 0)
        return -1;
    fd = open_clean(root_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return set_open_error(err, errno, path);
    if (fstat(fd, &stat) < 0)
        return error_set_errno(err, errno, "stat \"%s\"", beneath_show(path).text);
    if (!S_ISREG(stat.st_mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is not a regular file",
                         beneath_show(path).text);
    if (ret_stat)
        *ret_stat = stat;
    return steal_fd(&fd);
}

int beneath_open_directory(int root_fd, const char *path, struct error *err)
{
    cleanup_free char *name = NULL;
    int fd = -1;

    if (clean(path, &name, err) < 0)
        return -1;
    fd = open_clean(root_fd, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return set_open_error(err, errno, path);
    return fd;
}

/* mkdir -p for a clean path, component by component relative to the parent's descriptor. Returns an
 * O_PATH descriptor of the last directory. */
static int make_directories(int root_fd, const char *path, struct error *err)
{
    cleanup_close int directory_fd = open_clean(root_fd, path, O_PATH | O_DIRECTORY);
    char name[BENEATH_NAME_MAX + 1];
    const char *from = path;

    if (directory_fd >= 0)
        return steal_fd(&directory_fd);
    if (errno != ENOENT)
        return set_open_error(err, errno, path);
    while (*from) {
        size_t length = strcspn(from, "/");
        int from_fd = directory_fd >= 0 ? directory_fd : root_fd;
        int next_fd = -1;

        memcpy(name, from, length);
        name[length] = '\0';
        if (mkdirat(from_fd, name, 0777) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "create directory \"%s\"", beneath_show(path).text);
        next_fd = open_clean(from_fd, name, O_PATH | O_DIRECTORY);
        if (next_fd < 0)
            return set_open_error(err, errno, path);
        closep(&directory_fd);
        directory_fd = next_fd;
        from += length;
        from += strspn(from, "/");
    }
    return steal_fd(&directory_fd);
}

int beneath_make_directories(int root_fd, const char *path, struct error *err)
{
    cleanup_free char *name = NULL;
    cleanup_close int directory_fd = -1;
    int fd = -1;

    if (clean(path, &name, err) < 0)
        return -1;
    directory_fd = make_directories(root_fd, name, err);
    if (directory_fd < 0)
        return -1;
    fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return set_open_error(err, errno, path);
    return fd;
}

int beneath_open_parent(int root_fd, const char *path, bool is_made, const char **ret_name,
                        struct error *err)
{
    cleanup_free char *name = NULL;
    char *slash = NULL;
    int fd = -1;

    if (clean(path, &name, err) < 0)
        return -1;
    if (!name[0] || strcmp(name, path) != 0)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a clean path of a file",
                         beneath_show(path).text);
    slash = strrchr(name, '/');
    if (slash)
        *slash = '\0';
    else
        name[0] = '\0';
    if (is_made)
        fd = make_directories(root_fd, name, err);
    else if ((fd = open_clean(root_fd, name, O_PATH | O_DIRECTORY)) < 0)
        return set_open_error(err, errno, path);
    if (fd >= 0)
        *ret_name = slash ? path + (slash + 1 - name) : path;
    return fd;
}

/* Unlinks what exists under this name, unless it is a directory. */
static int clear_way(int parent_fd, const char *name, const char *path, struct error *err)
{
    struct stat stat = {0};

    if (fstatat(parent_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode))
        return error_set(err, ERROR_INVALID, "\"%s\" already exists as a directory",
                         beneath_show(path).text);
    if (unlinkat(parent_fd, name, 0) < 0 && errno != ENOENT) {
        if (errno == EISDIR)
            return error_set(err, ERROR_INVALID, "\"%s\" already exists as a directory",
                             beneath_show(path).text);
        return error_set_errno(err, errno, "replace \"%s\"", beneath_show(path).text);
    }
    return 0;
}

/* An operation that creates something and fails with EEXIST if the name is taken. */
struct make {
    int (*run)(int parent_fd, const char *name, const struct make *make); /* -1 with errno */
    mode_t mode;
    const char *target;
    int target_fd;
};

static int make_at(int root_fd, const char *path, const struct make *make, struct error *err)
{
    cleanup_free char *whole = NULL;
    cleanup_close int parent_fd = -1;
    const char *name = NULL;

    if (clean(path, &whole, err) < 0)
        return -1;
    parent_fd = beneath_open_parent(root_fd, whole, true, &name, err);
    if (parent_fd < 0)
        return -1;
    for (int i = 0; i < TRIES_MAX; i++) {
        int made = make->run(parent_fd, name, make);

        if (made >= 0)
            return made;
        if (errno != EEXIST)
            return error_set_errno(err, errno, "create \"%s\"", beneath_show(path).text);
        if (clear_way(parent_fd, name, path, err) < 0)
            return -1;
    }
    return error_set(err, ERROR_CONFLICT, "\"%s\" keeps being recreated by another process",
                     beneath_show(path).text);
}

static int run_create(int parent_fd, const char *name, const struct make *make)
{
    return openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  make->mode);
}

int beneath_create_file(int root_fd, const char *path, mode_t mode, struct error *err)
{
    const struct make make = {.run = run_create, .mode = mode};

    return make_at(root_fd, path, &make, err);
}

static int run_symlink(int parent_fd, const char *name, const struct make *make)
{
    return symlinkat(make->target, parent_fd, name);
}

int beneath_make_symlink(int root_fd, const char *path, const char *target, struct error *err)
{
    const struct make make = {.run = run_symlink, .target = target};

    return make_at(root_fd, path, &make, err);
}

static int run_link(int parent_fd, const char *name, const struct make *make)
{
    return linkat(make->target_fd, make->target, parent_fd, name, 0);
}

int beneath_make_link(int root_fd, const char *path, const char *existing, struct error *err)
{
    cleanup_free char *target = NULL;
    cleanup_close int target_fd = -1;
    struct make make = {.run = run_link};
    struct stat stat = {0};

    if (clean(existing, &target, err) < 0)
        return -1;
    target_fd = beneath_open_parent(root_fd, target, false, &make.target, err);
    if (target_fd < 0)
        return -1;
    if (fstatat(target_fd, make.target, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(err, errno, "stat \"%s\"", beneath_show(existing).text);
    if (!S_ISREG(stat.st_mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is not a regular file",
                         beneath_show(existing).text);
    make.target_fd = target_fd;
    return make_at(root_fd, path, &make, err);
}

void beneath_temporary_name(char ret_name[BENEATH_TEMPORARY_SIZE])
{
    unsigned long long random = 0;

    /* Reads of up to 256 bytes are complete or fail; a collision is caught by O_EXCL. */
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        random ^= (unsigned long long)getpid();
    (void)snprintf(ret_name, BENEATH_TEMPORARY_SIZE, ".longshore-%016llx", random);
}

int beneath_write_file(int root_fd, const char *path, const void *data, size_t size, mode_t mode,
                       struct error *err)
{
    char temporary[BENEATH_TEMPORARY_SIZE];
    cleanup_free char *whole = NULL;
    cleanup_close int parent_fd = -1, fd = -1;
    const char *name = NULL;

    if (clean(path, &whole, err) < 0)
        return -1;
    parent_fd = beneath_open_parent(root_fd, whole, true, &name, err);
    if (parent_fd < 0)
        return -1;
    beneath_temporary_name(temporary);
    fd = beneath_create_file(parent_fd, temporary, mode, err);
    if (fd < 0)
        return -1;
    if (file_write_all(fd, beneath_show(path).text, data, size, err) < 0) {
        (void)unlinkat(parent_fd, temporary, 0);
        return -1;
    }
    if (renameat(parent_fd, temporary, parent_fd, name) < 0) {
        int os = errno;

        (void)unlinkat(parent_fd, temporary, 0);
        return error_set_errno(err, os, "rename to \"%s\"", beneath_show(path).text);
    }
    return 0;
}
