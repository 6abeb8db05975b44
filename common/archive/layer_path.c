/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/layer_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"

enum { LINK_STEPS_MAX = 40, LINK_TEXT_MAX = 4096 };

void layer_path_done(struct layer_path *path)
{
    free(path->directory);
    free(path->name);
    closep(&path->parent_fd);
    *path = LAYER_PATH_INIT;
}

/* Replaces the first length bytes of *path, which are a symlink, by its target. */
static int splice_link(int root_fd, char **path, size_t length, struct error *err)
{
    cleanup_free char *link = xstrndup(*path, length);
    cleanup_free char *joined = NULL;
    const char *slash = strrchr(link, '/');
    char target[LINK_TEXT_MAX] = {0};
    ssize_t size = 0;
    cleanup_free char *parent = slash ? xstrndup(link, (size_t)(slash - link)) : xstrdup("");
    cleanup_close int parent_fd = beneath_open_directory(root_fd, parent, err);

    if (parent_fd < 0)
        return -1;
    size = readlinkat(parent_fd, slash ? slash + 1 : link, target, sizeof(target) - 1);
    if (size <= 0)
        return error_set_errno(err, errno, "read symbolic link \"%s\"", beneath_show(link).text);
    joined = target[0] == '/' ? xasprintf("%s%s", target, *path + length)
                              : xasprintf("%s/%s%s", parent, target, *path + length);
    free(*path);
    *path = steal(&joined);
    return 0;
}

/* Drops empty components, "." and "..", which stops at the root. */
static char *normalize(const char *path)
{
    char *out = xcalloc(strlen(path) + 2, 1);
    size_t used = 0;

    while (*path) {
        size_t length = strcspn(path, "/");

        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (used > 0 && out[used - 1] != '/')
                used--;
            used -= used > 0;
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (used > 0)
                out[used++] = '/';
            memcpy(out + used, path, length);
            used += length;
        }
        path += length + (path[length] == '/');
    }
    out[used] = '\0';
    return out;
}

/* The length of the shortest prefix of path that is a symlink, or 0. */
static size_t find_link(int root_fd, const char *path)
{
    cleanup_close int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    size_t at = 0;

    while (path[at] && fd >= 0) {
        size_t length = strcspn(path + at, "/");
        cleanup_free char *part = xstrndup(path + at, length);
        struct stat info = {0};
        int next = -1;

        if (fstatat(fd, part, &info, AT_SYMLINK_NOFOLLOW) < 0)
            return 0;
        if (S_ISLNK(info.st_mode))
            return at + length;
        next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)close(fd);
        fd = next;
        at += length + (path[at + length] == '/');
    }
    return 0;
}

static int resolve(int root_fd, const char *directory, char **ret_directory, struct error *err)
{
    cleanup_free char *path = normalize(directory);

    for (int step = 0; step < LINK_STEPS_MAX; step++) {
        size_t length = find_link(root_fd, path);
        char *clean = NULL;

        if (length == 0) {
            *ret_directory = steal(&path);
            return 0;
        }
        if (splice_link(root_fd, &path, length, err) < 0)
            return -1;
        clean = normalize(path);
        free(path);
        path = clean;
    }
    return error_set(err, ERROR_INVALID, "too many levels of symbolic links");
}

int layer_path_open(int root_fd, const char *path, struct layer_path *ret_path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *directory = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
    cleanup_free char *resolved = NULL;
    int parent_fd = -1;

    if (resolve(root_fd, directory, &resolved, err) < 0)
        return -1;
    parent_fd = beneath_make_directories(root_fd, resolved, err);
    if (parent_fd < 0)
        return -1;
    *ret_path = (struct layer_path){.directory = steal(&resolved),
                                    .name = xstrdup(slash ? slash + 1 : path),
                                    .parent_fd = parent_fd};
    return 0;
}
