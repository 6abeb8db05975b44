/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: lock, blobs/<alg>-<hex>, rootfs/<alg>-<hex>/{root,size}, tmp/. A directory appears in
 * rootfs/ by rename, so that it is there whole or not at all. Each run holds a shared lock on
 * `lock`; pruning takes it exclusively, or not at all. */
#include "deployer/run/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/digest.h"
#include "common/data/uuid.h"

/* No image is so large, and the sizes of thousands of them are still a number. */
#define SIZE_MAX_BYTES ((uint64_t)1 << 50)

struct store {
    char *path;
    int fd;
    int lock_fd;
};

struct kept {
    char name[160]; /* "blobs/...", "rootfs/..." */
    uint64_t bytes;
    int64_t used_ns;
};

static char *place(const char *folder, const char *digest)
{
    char *path = xasprintf("%s/%s", folder, digest);
    char *colon = strchr(path, ':');

    if (colon)
        *colon = '-';
    return path;
}

static int make_path(const char *path, struct error *err)
{
    cleanup_free char *copy = xstrdup(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "make directory '%s'", copy);
        *slash = '/';
    }
    if (mkdir(copy, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "make directory '%s'", copy);
    return 0;
}

static uint64_t read_size(int store_fd, const char *name, const struct stat *info)
{
    cleanup_free char *path = xasprintf("%s/size", name);
    cleanup_close int fd = openat(store_fd, path, O_RDONLY | O_CLOEXEC);
    char text[32] = {0};
    uint64_t bytes = 0;

    if (fd < 0)
        return (uint64_t)info->st_size;
    return read(fd, text, sizeof(text) - 1) > 0 && number_parse_line(text, SIZE_MAX_BYTES, &bytes)
               ? bytes
               : 0;
}

static void collect(int store_fd, const char *folder, struct kept **rows, size_t *count)
{
    int fd = openat(store_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;

    while (directory && (entry = readdir(directory))) {
        struct kept row = {0};
        struct stat info = {0};

        if (entry->d_name[0] == '.' || strlen(entry->d_name) > sizeof(row.name) - 10)
            continue;
        (void)snprintf(row.name, sizeof(row.name), "%s/%.150s", folder, entry->d_name);
        if (fstatat(store_fd, row.name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        row.bytes = read_size(store_fd, row.name, &info);
        row.used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        *rows = xreallocarray(*rows, *count + 1, sizeof(**rows));
        (*rows)[(*count)++] = row;
    }
    if (directory)
        (void)closedir(directory);
}

static int by_use(const void *left, const void *right)
{
    const struct kept *a = left;
    const struct kept *b = right;

    return (a->used_ns > b->used_ns) - (a->used_ns < b->used_ns);
}

static void prune(struct store *store, uint64_t max_bytes)
{
    cleanup_free struct kept *rows = NULL;
    struct error ignored = {0};
    size_t count = 0;
    uint64_t total = 0;

    (void)!beneath_remove_tree(store->fd, "tmp", &ignored);
    collect(store->fd, "blobs", &rows, &count);
    collect(store->fd, "rootfs", &rows, &count);
    if (count)
        qsort(rows, count, sizeof(*rows), by_use);
    for (size_t i = 0; i < count; i++)
        total += rows[i].bytes;
    for (size_t i = 0; i < count && total > max_bytes; i++) {
        if (beneath_remove_tree(store->fd, rows[i].name, &ignored) == 0)
            total -= rows[i].bytes;
    }
}

int store_open(const char *path, uint64_t max_bytes, struct store **ret_store, struct error *err)
{
    static const char *const folders[] = {"blobs", "rootfs", "tmp"};
    cleanup_store struct store *store = xcalloc(1, sizeof(*store));

    store->fd = store->lock_fd = -1;
    store->path = xstrdup(path);
    if (make_path(path, err) < 0)
        return error_wrap(err, "image cache");
    store->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    store->lock_fd = openat(store->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->fd < 0 || store->lock_fd < 0)
        return error_set_errno(err, errno, "image cache '%s'", path);
    if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
        prune(store, max_bytes);
    /* Going from exclusive to shared may let another pruner in between: it finds nothing of ours.
     */
    if (flock(store->lock_fd, LOCK_SH) < 0)
        return error_set_errno(err, errno, "lock the image cache '%s'", path);
    for (size_t i = 0; i < array_length(folders); i++) {
        if (mkdirat(store->fd, folders[i], 0755) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "image cache '%s': make '%s'", path, folders[i]);
    }
    *ret_store = steal(&store);
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    if (store->lock_fd >= 0)
        (void)close(store->lock_fd);
    if (store->fd >= 0)
        (void)close(store->fd);
    free(store->path);
    free(store);
}

char *store_default_path(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (cache && *cache == '/')
        return xasprintf("%s/longshore/images", cache);
    return xasprintf("%s/.cache/longshore/images", home ? home : "/root");
}

const char *store_path(const struct store *store)
{
    return store->path;
}

int store_make_temporary(struct store *store, char **ret_path, struct error *err)
{
    char uuid[UUID_TEXT_SIZE] = {0};
    cleanup_free char *path = NULL;

    uuid_make(uuid);
    path = xasprintf("%s/tmp/%s", store->path, uuid);
    if (mkdir(path, 0755) < 0)
        return error_set_errno(err, errno, "make directory '%s'", path);
    *ret_path = steal(&path);
    return 0;
}

void store_discard(struct store *store, const char *path)
{
    struct error ignored = {0};

    /* What can't be removed now goes with the next pruning. */
    if (path)
        (void)!beneath_remove_tree(store->fd, path + strlen(store->path) + 1, &ignored);
}

int store_open_blob(struct store *store, const char *digest, struct error *err)
{
    cleanup_free char *name = place("blobs", digest);
    int fd = openat(store->fd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "blob '%s'", digest);
    (void)futimens(fd, NULL);
    return fd;
}

int store_keep_blob(struct store *store, const char *digest, const char *file, struct error *err)
{
    cleanup_free char *name = place("blobs", digest);

    if (renameat(AT_FDCWD, file, store->fd, name) < 0)
        return error_set_errno(err, errno, "keep blob '%s'", digest);
    return 0;
}

char *store_find_rootfs(struct store *store, const char *digest)
{
    cleanup_free char *name = place("rootfs", digest);
    cleanup_free char *path = xasprintf("%s/%s/root", store->path, name);

    if (access(path, F_OK) < 0)
        return NULL;
    (void)utimensat(store->fd, name, NULL, 0);
    return steal(&path);
}

static int note_size(const char *directory, uint64_t bytes, struct error *err)
{
    cleanup_free char *path = xasprintf("%s/size", directory);
    cleanup_file FILE *file = fopen(path, "we");

    if (!file || fprintf(file, "%llu\n", (unsigned long long)bytes) < 0 || fflush(file) != 0)
        return error_set_errno(err, errno, "write '%s'", path);
    return 0;
}

int store_keep_rootfs(struct store *store, const char *digest, const char *tree, uint64_t bytes,
                      char **ret_path, struct error *err)
{
    cleanup_free char *name = place("rootfs", digest);
    cleanup_free char *wrapper = NULL;
    cleanup_free char *inner = NULL;

    if (store_make_temporary(store, &wrapper, err) < 0 || note_size(wrapper, bytes, err) < 0)
        return -1;
    inner = xasprintf("%s/root", wrapper);
    if (rename(tree, inner) < 0)
        return error_set_errno(err, errno, "move '%s'", tree);
    /* Another run may have been faster; its tree is as good. */
    if (renameat(AT_FDCWD, wrapper, store->fd, name) < 0 && errno != EEXIST && errno != ENOTEMPTY)
        return error_set_errno(err, errno, "keep image '%s'", digest);
    *ret_path = xasprintf("%s/%s/root", store->path, name);
    return 0;
}
