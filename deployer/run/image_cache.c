/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: lock, blobs/<algorithm>-<hex>, rootfs/<algorithm>-<hex>/{root,size}, tmp/. Entries are
 * moved into blobs/ and rootfs/ by rename, so they are complete. Each run holds a shared lock on
 * `lock`; pruning needs an exclusive lock and is skipped if another run is in progress. */
#include "deployer/run/image_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/digest.h"
#include "common/data/uuid.h"

/* More than any image has, and small enough that sums of sizes cannot overflow. */
#define SIZE_MAX_BYTES ((uint64_t)1 << 50)

struct image_cache {
    char *path;
    int fd;
    int lock_fd;
};

struct entry {
    char name[160]; /* "blobs/...", "rootfs/..." */
    uint64_t bytes;
    int64_t used_ns;
};

static char *entry_name(const char *folder, const char *digest)
{
    char *path = xasprintf("%s/%s", folder, digest);
    char *colon = strchr(path, ':');

    if (colon)
        *colon = '-';
    return path;
}

static uint64_t read_size(int cache_fd, const char *name, const struct stat *info)
{
    cleanup_free char *path = xasprintf("%s/size", name);
    cleanup_close int fd = openat(cache_fd, path, O_RDONLY | O_CLOEXEC);
    char text[32] = {0};
    uint64_t bytes = 0;

    if (fd < 0)
        return (uint64_t)info->st_size;
    return read(fd, text, sizeof(text) - 1) > 0 && number_parse_line(text, SIZE_MAX_BYTES, &bytes)
               ? bytes
               : 0;
}

static void collect(int cache_fd, const char *folder, struct entry **rows, size_t *count)
{
    cleanup_close int fd = openat(cache_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;

    if (!directory)
        return;
    (void)steal_fd(&fd); /* owned by the stream */
    while ((entry = readdir(directory))) {
        struct entry row = {0};
        struct stat info = {0};

        if (entry->d_name[0] == '.' || strlen(entry->d_name) > sizeof(row.name) - 10)
            continue;
        (void)snprintf(row.name, sizeof(row.name), "%s/%.150s", folder, entry->d_name);
        if (fstatat(cache_fd, row.name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        row.bytes = read_size(cache_fd, row.name, &info);
        row.used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        *rows = xreallocarray(*rows, *count + 1, sizeof(**rows));
        (*rows)[(*count)++] = row;
    }
    (void)closedir(directory);
}

static int by_use(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;

    return (a->used_ns > b->used_ns) - (a->used_ns < b->used_ns);
}

static void prune(struct image_cache *cache, uint64_t max_bytes)
{
    cleanup_free struct entry *rows = NULL;
    struct error ignored = {0};
    size_t count = 0;
    uint64_t total = 0;

    (void)!beneath_remove_tree(cache->fd, "tmp", &ignored);
    collect(cache->fd, "blobs", &rows, &count);
    collect(cache->fd, "rootfs", &rows, &count);
    if (count)
        qsort(rows, count, sizeof(*rows), by_use);
    for (size_t i = 0; i < count; i++)
        total += rows[i].bytes;
    for (size_t i = 0; i < count && total > max_bytes; i++) {
        if (beneath_remove_tree(cache->fd, rows[i].name, &ignored) == 0)
            total -= rows[i].bytes;
    }
}

int image_cache_open(const char *path, uint64_t max_bytes, struct image_cache **ret_cache,
                     struct error *err)
{
    static const char *const folders[] = {"blobs", "rootfs", "tmp"};
    cleanup_image_cache struct image_cache *cache = xcalloc(1, sizeof(*cache));

    cache->fd = cache->lock_fd = -1;
    cache->path = xstrdup(path);
    if (file_make_directories(path, 0755, err) < 0)
        return error_wrap(err, "image cache");
    cache->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cache->fd < 0)
        return error_set_errno(err, errno, "open the image cache \"%s\"", path);
    cache->lock_fd = openat(cache->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (cache->lock_fd < 0)
        return error_set_errno(err, errno, "open the lock file of the image cache \"%s\"", path);
    if (flock(cache->lock_fd, LOCK_EX | LOCK_NB) == 0)
        prune(cache, max_bytes);
    /* Not atomic: another process may prune in between, but nothing of this run exists yet. */
    if (flock(cache->lock_fd, LOCK_SH) < 0)
        return error_set_errno(err, errno, "lock the image cache \"%s\"", path);
    for (size_t i = 0; i < array_length(folders); i++) {
        if (mkdirat(cache->fd, folders[i], 0755) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "image cache \"%s\": create \"%s\"", path,
                                   folders[i]);
    }
    *ret_cache = steal(&cache);
    return 0;
}

void image_cache_close(struct image_cache *cache)
{
    if (!cache)
        return;
    if (cache->lock_fd >= 0)
        (void)close(cache->lock_fd);
    if (cache->fd >= 0)
        (void)close(cache->fd);
    free(cache->path);
    free(cache);
}

char *image_cache_default_path(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (cache && *cache == '/')
        return xasprintf("%s/longshore/images", cache);
    return xasprintf("%s/.cache/longshore/images", home ? home : "/root");
}

int image_cache_make_temporary(struct image_cache *cache, char **ret_path, struct error *err)
{
    char uuid[UUID_TEXT_SIZE] = {0};
    cleanup_free char *path = NULL;

    uuid_make(uuid);
    path = xasprintf("%s/tmp/%s", cache->path, uuid);
    if (mkdir(path, 0755) < 0)
        return error_set_errno(err, errno, "create directory \"%s\"", path);
    *ret_path = steal(&path);
    return 0;
}

void image_cache_discard(struct image_cache *cache, const char *path)
{
    struct error ignored = {0};

    /* If this fails, the next pruning removes it. */
    if (path)
        (void)!beneath_remove_tree(cache->fd, path + strlen(cache->path) + 1, &ignored);
}

int image_cache_open_blob(struct image_cache *cache, const char *digest, struct error *err)
{
    cleanup_free char *name = entry_name("blobs", digest);
    int fd = openat(cache->fd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "open blob %s in the image cache", digest);
    (void)futimens(fd, NULL);
    return fd;
}

int image_cache_keep_blob(struct image_cache *cache, const char *digest, const char *file,
                          struct error *err)
{
    cleanup_free char *name = entry_name("blobs", digest);

    if (renameat(AT_FDCWD, file, cache->fd, name) < 0)
        return error_set_errno(err, errno, "move blob %s to the image cache", digest);
    return 0;
}

char *image_cache_find_rootfs(struct image_cache *cache, const char *digest)
{
    cleanup_free char *name = entry_name("rootfs", digest);
    cleanup_free char *path = xasprintf("%s/%s/root", cache->path, name);

    if (access(path, F_OK) < 0)
        return NULL;
    (void)utimensat(cache->fd, name, NULL, 0);
    return steal(&path);
}

static int write_size(const char *directory, uint64_t bytes, struct error *err)
{
    cleanup_free char *path = xasprintf("%s/size", directory);
    cleanup_file FILE *file = fopen(path, "we");

    if (!file || fprintf(file, "%llu\n", (unsigned long long)bytes) < 0 || fflush(file) != 0)
        return error_set_errno(err, errno, "write \"%s\"", path);
    return 0;
}

int image_cache_keep_rootfs(struct image_cache *cache, const char *digest, const char *tree,
                            uint64_t bytes, char **ret_path, struct error *err)
{
    cleanup_free char *name = entry_name("rootfs", digest);
    cleanup_free char *wrapper = NULL;
    cleanup_free char *inner = NULL;

    if (image_cache_make_temporary(cache, &wrapper, err) < 0 || write_size(wrapper, bytes, err) < 0)
        return -1;
    inner = xasprintf("%s/root", wrapper);
    if (rename(tree, inner) < 0)
        return error_set_errno(err, errno, "move \"%s\"", tree);
    /* If another run has stored the same image meanwhile, that one is used. */
    if (renameat(AT_FDCWD, wrapper, cache->fd, name) < 0 && errno != EEXIST && errno != ENOTEMPTY)
        return error_set_errno(err, errno, "move image %s to the image cache", digest);
    *ret_path = xasprintf("%s/%s/root", cache->path, name);
    return 0;
}
