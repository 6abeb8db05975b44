/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/layer_placed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"

enum { CAPACITY_FIRST = 1024 };

void layer_placed_done(struct layer_placed *placed)
{
    free(placed->keys);
    *placed = (struct layer_placed){0};
}

/* By the directory's inode, since a directory may have several paths (symlinks). FNV-1a; a
 * collision would keep a file that should go, which takes 2^32 entries to be likely. */
static uint64_t key_of(ino_t directory, const char *name)
{
    uint64_t key = UINT64_C(14695981039346656037) ^ (uint64_t)directory;

    for (; *name; name++)
        key = (key * UINT64_C(1099511628211)) ^ (unsigned char)*name;
    key *= UINT64_C(1099511628211);
    key ^= key >> 29;
    return key ? key : 1;
}

static uint64_t *find_slot(uint64_t *keys, size_t capacity, uint64_t key)
{
    size_t at = (size_t)key & (capacity - 1);

    while (keys[at] && keys[at] != key)
        at = (at + 1) & (capacity - 1);
    return &keys[at];
}

static void grow(struct layer_placed *placed)
{
    size_t capacity = placed->capacity ? placed->capacity * 2 : CAPACITY_FIRST;
    uint64_t *keys = xcalloc(capacity, sizeof(*keys));

    for (size_t i = 0; i < placed->capacity; i++) {
        if (placed->keys[i])
            *find_slot(keys, capacity, placed->keys[i]) = placed->keys[i];
    }
    free(placed->keys);
    placed->keys = keys;
    placed->capacity = capacity;
}

int layer_placed_add(struct layer_placed *placed, int directory_fd, const char *name,
                     struct error *err)
{
    struct stat info = {0};
    uint64_t *slot = NULL;
    uint64_t key = 0;

    if (fstat(directory_fd, &info) < 0)
        return error_set_errno(err, errno, "stat the directory of \"%s\"", beneath_show(name).text);
    if (placed->count >= placed->capacity / 2)
        grow(placed);
    key = key_of(info.st_ino, name);
    slot = find_slot(placed->keys, placed->capacity, key);
    placed->count += *slot == 0;
    *slot = key;
    return 0;
}

static bool is_placed(const struct layer_placed *placed, ino_t directory, const char *name)
{
    return placed->capacity &&
           *find_slot(placed->keys, placed->capacity, key_of(directory, name)) != 0;
}

static int remove_others(const struct layer_placed *placed, int directory_fd, bool *ret_is_empty,
                         struct error *err);

/* Removes an entry of a directory unless it, or something below it, was placed. */
static int remove_other(const struct layer_placed *placed, int directory_fd, ino_t directory,
                        const char *name, bool *ret_is_removed, struct error *err)
{
    bool is_empty = true;
    cleanup_close int fd =
        openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
        return error_set_errno(err, errno, "open \"%s\"", beneath_show(name).text);
    if (fd >= 0 && remove_others(placed, fd, &is_empty, err) < 0)
        return -1;
    *ret_is_removed = is_empty && !is_placed(placed, directory, name);
    return *ret_is_removed ? beneath_remove_tree(directory_fd, name, err) : 0;
}

static int remove_others(const struct layer_placed *placed, int directory_fd, bool *ret_is_empty,
                         struct error *err)
{
    struct stat info = {0};
    int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 && fstat(fd, &info) == 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;
    int result = 0;

    if (!directory) {
        (void)error_set_errno(err, errno, "empty an opaque directory");
        closep(&fd);
        return -1;
    }
    *ret_is_empty = true;
    while (result == 0 && (errno = 0, entry = readdir(directory))) {
        bool is_removed = false;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        result = remove_other(placed, directory_fd, info.st_ino, entry->d_name, &is_removed, err);
        *ret_is_empty = *ret_is_empty && is_removed;
    }
    if (result == 0 && errno)
        result = error_set_errno(err, errno, "empty an opaque directory");
    (void)closedir(directory);
    return result;
}

int layer_placed_remove_others(const struct layer_placed *placed, int directory_fd,
                               struct error *err)
{
    bool is_empty = false;

    return remove_others(placed, directory_fd, &is_empty, err);
}
