/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/activity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/base/number.h"

enum {
    TABLE_MAX_BYTES = 1 << 20,
    OWN_MAX = 64,
    ENTRIES_MAX = 200000, /* a check of more files would cost too much CPU time */
    DEPTH_MAX = 64,
};

static const struct {
    const char *path;
    size_t inode_column;
} tables[] = {
    {"net/tcp", 9}, {"net/tcp6", 9}, {"net/udp", 9}, {"net/udp6", 9}, {"net/unix", 6},
};

struct activity {
    const struct volume *volume;
    int own_fd;                          /* /proc/self/fd */
    int table_fds[array_length(tables)]; /* -1: this kernel does not have it */
    bool has_fingerprint;
    uint64_t fingerprint;
};

int activity_new(const struct volume *volume, const char *process_dir,
                 struct activity **ret_activity, struct error *err)
{
    cleanup_activity struct activity *activity = xcalloc(1, sizeof(*activity));
    cleanup_close int process_fd = open(process_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    activity->volume = volume;
    activity->own_fd = -1;
    for (size_t i = 0; i < array_length(tables); i++)
        activity->table_fds[i] = openat(process_fd, tables[i].path, O_RDONLY | O_CLOEXEC);
    if (process_fd >= 0)
        activity->own_fd = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (activity->own_fd < 0 || activity->table_fds[0] < 0)
        return error_set_errno(err, errno, "open the socket tables in \"%s\"", process_dir);
    *ret_activity = steal(&activity);
    return 0;
}

void activity_free(struct activity *activity)
{
    if (!activity)
        return;
    closep(&activity->own_fd);
    for (size_t i = 0; i < array_length(tables); i++)
        closep(&activity->table_fds[i]);
    free(activity);
}

/* ---- sockets ---- */

static bool is_own(uint64_t inode, const uint64_t *own, size_t own_count)
{
    for (size_t i = 0; i < own_count; i++) {
        if (own[i] == inode)
            return true;
    }
    return false;
}

/* False if the line has no such column or the column is not a number. */
static bool number_in_column(const char *line, size_t column, uint64_t *ret_number)
{
    size_t length = 0;

    for (; column > 0; column--) {
        line += strspn(line, " ");
        line += strcspn(line, " \n");
    }
    line += strspn(line, " ");
    length = number_scan(line, UINT64_MAX, ret_number);
    return length > 0 && (line[length] == ' ' || line[length] == '\n' || line[length] == '\0');
}

bool activity_has_foreign_socket(const char *table, size_t inode_column, const uint64_t *own,
                                 size_t own_count)
{
    const char *line = strchr(table, '\n'); /* the first line is the header */

    while (line && line[1]) {
        uint64_t inode = 0;

        if (!number_in_column(line + 1, inode_column, &inode) ||
            (inode && !is_own(inode, own, own_count)))
            return true;
        line = strchr(line + 1, '\n');
    }
    return false;
}

uint64_t activity_socket_inode(const char *target)
{
    static const char prefix[] = "socket:[";
    const char *digits = target + strlen(prefix);
    uint64_t inode = 0;
    size_t length = 0;

    if (strncmp(target, prefix, strlen(prefix)) != 0)
        return 0;
    length = number_scan(digits, UINT64_MAX, &inode);
    return strcmp(digits + length, "]") == 0 ? inode : 0;
}

static size_t list_own_sockets(int own_fd, uint64_t own[OWN_MAX])
{
    int copy_fd = fcntl(own_fd, F_DUPFD_CLOEXEC, 0);
    DIR *directory = copy_fd < 0 ? NULL : fdopendir(copy_fd);
    const struct dirent *entry = NULL;
    size_t count = 0;

    if (!directory) {
        closep(&copy_fd);
        return 0;
    }
    rewinddir(directory);
    while (count < OWN_MAX && (entry = readdir(directory))) {
        char target[64] = "";

        if (readlinkat(own_fd, entry->d_name, target, sizeof(target) - 1) > 0 &&
            (own[count] = activity_socket_inode(target)))
            count++;
    }
    (void)closedir(directory);
    return count;
}

static int read_table(int fd, struct buffer *text, struct error *err)
{
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "rewind the socket table");
    buffer_clear(text);
    return file_read_all(fd, "socket table", text, err);
}

static bool has_foreign_sockets(const struct activity *activity)
{
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    uint64_t own[OWN_MAX] = {0};
    size_t own_count = list_own_sockets(activity->own_fd, own);

    buffer_init(&text, TABLE_MAX_BYTES);
    for (size_t i = 0; i < array_length(tables); i++) {
        if (activity->table_fds[i] < 0)
            continue;
        /* Assume that main is active if it can't be checked. */
        if (read_table(activity->table_fds[i], &text, &ignored) < 0)
            return true;
        if (text.data &&
            activity_has_foreign_socket(text.data, tables[i].inode_column, own, own_count))
            return true;
    }
    return false;
}

/* ---- files ---- */

#define WALK_INIT                                                                                  \
    {                                                                                              \
        .hash = 0xcbf29ce484222325ULL                                                              \
    }

struct walk {
    uint64_t hash, bytes;
    size_t entries;
    bool is_too_large;
};

static void mix(struct walk *walk, uint64_t value)
{
    walk->hash = (walk->hash ^ value) * 0x100000001b3ULL;
    walk->hash ^= walk->hash >> 29;
}

static void mix_stat(struct walk *walk, const struct stat *stat)
{
    mix(walk, (uint64_t)stat->st_ino);
    mix(walk, (uint64_t)stat->st_mode);
    mix(walk, (uint64_t)stat->st_size);
    mix(walk, (uint64_t)stat->st_mtim.tv_sec * 1000000007ULL + (uint64_t)stat->st_mtim.tv_nsec);
    mix(walk, (uint64_t)stat->st_ctim.tv_sec * 1000000007ULL + (uint64_t)stat->st_ctim.tv_nsec);
}

/* Takes fd over. Does not sort: a directory that is not changed is listed in the same order again.
 */
static void walk_directory(struct walk *walk, int fd, unsigned depth)
{
    DIR *directory = fdopendir(fd);
    const struct dirent *entry = NULL;

    if (!directory) {
        closep(&fd);
        return;
    }
    while (!walk->is_too_large && (entry = readdir(directory))) {
        struct stat stat = {0};
        int child_fd = -1;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        walk->is_too_large = ++walk->entries > ENTRIES_MAX || depth > DEPTH_MAX;
        mix_stat(walk, &stat);
        if (S_ISREG(stat.st_mode))
            walk->bytes += (uint64_t)stat.st_size;
        if (!S_ISDIR(stat.st_mode) || walk->is_too_large)
            continue;
        child_fd = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child_fd >= 0)
            walk_directory(walk, child_fd, depth + 1);
    }
    (void)closedir(directory);
}

static void walk_place(struct walk *walk, const struct volume_place *place)
{
    int fd = openat(place->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        walk_directory(walk, fd, 1);
}

static struct walk walk_state(const struct volume *volume)
{
    struct walk walk = WALK_INIT;
    struct error ignored = {0};
    int fd = beneath_open_directory(volume->state.root_fd, volume->state.path, &ignored);

    if (fd < 0)
        return (struct walk){0};
    walk_directory(&walk, fd, 1);
    return walk;
}

uint64_t activity_state_fingerprint(const struct volume *volume)
{
    struct walk walk = walk_state(volume);

    return walk.is_too_large ? 0 : walk.hash;
}

uint64_t activity_state_bytes(const struct volume *volume)
{
    return walk_state(volume).bytes;
}

bool activity_is_idle(struct activity *activity)
{
    struct walk walk = WALK_INIT;
    bool is_same = false;

    walk_place(&walk, &activity->volume->state);
    if (strcmp(activity->volume->state.root_path, activity->volume->exports.root_path) != 0)
        walk_place(&walk, &activity->volume->exports);
    is_same = activity->has_fingerprint && walk.hash == activity->fingerprint && !walk.is_too_large;
    activity->has_fingerprint = true;
    activity->fingerprint = walk.hash;
    return is_same && !has_foreign_sockets(activity);
}
