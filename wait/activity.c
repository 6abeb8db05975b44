/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/quiet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/number.h"

enum {
    TABLE_MAX_BYTES = 1 << 20,
    OWN_MAX = 64,
    ENTRIES_MAX = 200000, /* a look at more would cost more than it is worth */
    DEPTH_MAX = 64,
};

static const struct {
    const char *path;
    size_t inode_column;
} tables[] = {
    {"net/tcp", 9}, {"net/tcp6", 9}, {"net/udp", 9}, {"net/udp6", 9}, {"net/unix", 6},
};

struct quiet {
    const struct volume *volume;
    int own_fd;                          /* the directory of our descriptors */
    int table_fds[array_length(tables)]; /* -1: the kernel has no such table */
    bool has_looked;
    uint64_t fingerprint;
};

int quiet_new(const struct volume *volume, const char *process_dir, struct quiet **ret_quiet,
              struct error *err)
{
    cleanup_quiet struct quiet *quiet = xcalloc(1, sizeof(*quiet));
    cleanup_close int process_fd = open(process_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    quiet->volume = volume;
    quiet->own_fd = -1;
    for (size_t i = 0; i < array_length(tables); i++)
        quiet->table_fds[i] = openat(process_fd, tables[i].path, O_RDONLY | O_CLOEXEC);
    if (process_fd >= 0)
        quiet->own_fd = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (quiet->own_fd < 0 || quiet->table_fds[0] < 0)
        return error_set_errno(err, errno, "open the list of sockets in '%s'", process_dir);
    *ret_quiet = steal(&quiet);
    return 0;
}

void quiet_free(struct quiet *quiet)
{
    if (!quiet)
        return;
    closep(&quiet->own_fd);
    for (size_t i = 0; i < array_length(tables); i++)
        closep(&quiet->table_fds[i]);
    free(quiet);
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

/* False if the line is shorter, or has something else than a number in this column. */
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

bool quiet_has_foreign_socket(const char *table, size_t inode_column, const uint64_t *own,
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

uint64_t quiet_socket_inode(const char *target)
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
            (own[count] = quiet_socket_inode(target)))
            count++;
    }
    (void)closedir(directory);
    return count;
}

static int read_table(int fd, struct buffer *text, struct error *err)
{
    char piece[4096];
    ssize_t size = 0;

    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "read the list of sockets from its start");
    buffer_clear(text);
    while ((size = read(fd, piece, sizeof(piece))) > 0) {
        if (buffer_append(text, piece, (size_t)size, err) < 0)
            return -1;
    }
    return size < 0 ? error_set_errno(err, errno, "read the list of sockets") : 0;
}

static bool has_foreign_sockets(const struct quiet *quiet)
{
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    uint64_t own[OWN_MAX] = {0};
    size_t own_count = list_own_sockets(quiet->own_fd, own);

    buffer_init(&text, TABLE_MAX_BYTES);
    for (size_t i = 0; i < array_length(tables); i++) {
        if (quiet->table_fds[i] < 0)
            continue;
        /* What can't be read may be anything. */
        if (read_table(quiet->table_fds[i], &text, &ignored) < 0)
            return true;
        if (text.data &&
            quiet_has_foreign_socket(text.data, tables[i].inode_column, own, own_count))
            return true;
    }
    return false;
}

/* ---- files ---- */

struct walk {
    uint64_t hash;
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

/* Takes fd over. Order is the file system's own, which is the same as long as nothing changes. */
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

bool quiet_look(struct quiet *quiet)
{
    struct walk walk = {.hash = 0xcbf29ce484222325ULL};
    bool is_same = false;

    walk_place(&walk, &quiet->volume->state);
    if (strcmp(quiet->volume->state.root_path, quiet->volume->exports.root_path) != 0)
        walk_place(&walk, &quiet->volume->exports);
    is_same = quiet->has_looked && walk.hash == quiet->fingerprint && !walk.is_too_large;
    quiet->has_looked = true;
    quiet->fingerprint = walk.hash;
    return is_same && !has_foreign_sockets(quiet);
}
