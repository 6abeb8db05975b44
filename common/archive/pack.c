/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes may still write to the tree: everything is opened relative to the descriptor of
 * its directory, and the stat of a file or directory must be the same before and after reading it.
 */
#include "common/archive/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/sorted_names.h"
#include "common/archive/tar_writer.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"

enum { PIECE_SIZE = 64 * 1024, NAMES_MAX_BYTES = 256 * 1024 };

/* A directory on the path from the root to the current one. */
struct level {
    DIR *directory;
    struct stat stat; /* when it was opened */
    struct sorted_names names;
    size_t path_size; /* of the directory's own path */
};

struct packer {
    const struct pack_options *options;
    struct tar_writer *writer;
    struct pack_counts counts;
    uint64_t entries;
    dev_t device;
    struct level *levels;
    unsigned depth, capacity;
    struct buffer path;
    char *piece;
};

static void level_done(struct level *level)
{
    if (level->directory)
        (void)closedir(level->directory);
    sorted_names_done(&level->names);
}

static void packer_done(struct packer *packer)
{
    for (unsigned i = 0; i < packer->depth; i++)
        level_done(&packer->levels[i]);
    free(packer->levels);
    tar_writer_free(packer->writer);
    buffer_done(&packer->path);
    free(packer->piece);
}
#define cleanup_packer __attribute__((cleanup(packer_done)))

static const char *path_of(const struct packer *packer)
{
    return packer->path.size ? packer->path.data : ".";
}

static void cut_path(struct packer *packer, size_t size)
{
    packer->path.size = size;
    if (packer->path.data)
        packer->path.data[size] = '\0';
}

static int set_changed(const struct packer *packer, struct error *err)
{
    return error_set(err, ERROR_CONFLICT, "\"%s\" changed while it was read",
                     beneath_show(path_of(packer)).text);
}

static int set_failed(const struct packer *packer, const char *what, struct error *err)
{
    /* It existed a moment ago, so the tree is being changed. */
    if (errno == ENOENT || errno == ESTALE)
        return set_changed(packer, err);
    if (errno == ELOOP || errno == ENOTDIR || errno == ENXIO)
        return set_changed(packer, err);
    return error_set_errno(err, errno, "%s \"%s\"", what, beneath_show(path_of(packer)).text);
}

/* Compares identity, type, content and times, but not the access time and the number of links. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           ((a->st_mode ^ b->st_mode) & S_IFMT) == 0 && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static struct tar_header header_of(const struct packer *packer, char type, const struct stat *stat)
{
    return (struct tar_header){.name = path_of(packer),
                               .type = type,
                               .mode = stat->st_mode & 0777,
                               .mtime = stat->st_mtim};
}

static int push_level(struct packer *packer, int directory_fd, struct error *err)
{
    cleanup_close int fd = directory_fd;
    struct level level = {.path_size = packer->path.size};

    if (fstat(fd, &level.stat) < 0)
        return set_failed(packer, "stat", err);
    level.directory = fdopendir(fd);
    if (!level.directory)
        return set_failed(packer, "read", err);
    (void)steal_fd(&fd);
    sorted_names_init(&level.names, NAMES_MAX_BYTES);
    if (packer->depth == packer->capacity) {
        packer->capacity = packer->capacity ? packer->capacity * 2 : 8;
        packer->levels = xreallocarray(packer->levels, packer->capacity, sizeof(*packer->levels));
    }
    packer->levels[packer->depth++] = level;
    return 0;
}

/* Entries may have been added or removed while the directory was read. */
static int pop_level(struct packer *packer, struct error *err)
{
    struct level *level = &packer->levels[packer->depth - 1];
    struct stat stat = {0};

    cut_path(packer, level->path_size);
    if (fstat(dirfd(level->directory), &stat) < 0)
        return set_failed(packer, "stat", err);
    if (!is_same(&stat, &level->stat))
        return set_changed(packer, err);
    level_done(level);
    packer->depth--;
    return 0;
}

static int pack_directory(struct packer *packer, int parent_fd, const char *name,
                          const struct stat *seen, struct error *err)
{
    struct tar_header header = header_of(packer, '5', seen);
    cleanup_close int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat = {0};

    if (fd < 0)
        return set_failed(packer, "open", err);
    if (fstat(fd, &stat) < 0)
        return set_failed(packer, "stat", err);
    if (!is_same(&stat, seen))
        return set_changed(packer, err);
    if (stat.st_dev != packer->device)
        return error_set(err, ERROR_INVALID, "\"%s\" is on another file system",
                         beneath_show(path_of(packer)).text);
    if (tar_writer_header(packer->writer, &header, err) < 0)
        return -1;
    return push_level(packer, steal_fd(&fd), err);
}

static int pack_symlink(struct packer *packer, int parent_fd, const char *name,
                        const struct stat *seen, struct error *err)
{
    struct tar_header header = header_of(packer, '2', seen);
    char target[BENEATH_PATH_MAX]; /* the maximum of Linux */
    ssize_t size = readlinkat(parent_fd, name, target, sizeof(target) - 1);
    struct stat stat = {0};

    if (size < 0 && errno == EINVAL)
        return set_changed(packer, err);
    if (size < 0)
        return set_failed(packer, "read link", err);
    target[size] = '\0';
    if (fstatat(parent_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return set_failed(packer, "stat", err);
    if (!is_same(&stat, seen))
        return set_changed(packer, err);
    header.target = target;
    header.mode = 0777;
    return tar_writer_header(packer->writer, &header, err);
}

static void note_progress(const struct packer *packer)
{
    if (packer->options->on_progress)
        packer->options->on_progress(packer->options->data);
}

static int count_file(struct packer *packer, uint64_t size, struct error *err)
{
    const struct archive_limits *limits = packer->options->limits;

    if (size > limits->file_max)
        return error_set(err, ERROR_TOO_LARGE, "\"%s\" is larger than %llu bytes",
                         beneath_show(path_of(packer)).text, (unsigned long long)limits->file_max);
    if (size > limits->bytes_max - packer->counts.bytes)
        return error_set(err, ERROR_TOO_LARGE, "the files exceed %llu bytes in total",
                         (unsigned long long)limits->bytes_max);
    packer->counts.bytes += size;
    packer->counts.files++;
    return 0;
}

static int copy_data(struct packer *packer, int fd, uint64_t size, struct error *err)
{
    uint64_t left = size;

    while (left) {
        size_t wanted = left < PIECE_SIZE ? (size_t)left : PIECE_SIZE;
        ssize_t got = read(fd, packer->piece, wanted);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return set_failed(packer, "read", err);
        if (got == 0)
            return set_changed(packer, err);
        if (tar_writer_data(packer->writer, packer->piece, (size_t)got, err) < 0)
            return -1;
        left -= (uint64_t)got;
        note_progress(packer);
    }
    return tar_writer_pad(packer->writer, size, err);
}

/* Hard links are stored as separate files, since the Go deployer ignores hard links. */
static int pack_file(struct packer *packer, int parent_fd, const char *name,
                     const struct stat *seen, struct error *err)
{
    struct tar_header header = header_of(packer, '0', seen);
    cleanup_close int fd =
        openat(parent_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat stat = {0};

    if (fd < 0)
        return set_failed(packer, "open", err);
    if (fstat(fd, &stat) < 0)
        return set_failed(packer, "stat", err);
    if (!is_same(&stat, seen))
        return set_changed(packer, err);
    header.size = (uint64_t)stat.st_size;
    if (count_file(packer, header.size, err) < 0 ||
        tar_writer_header(packer->writer, &header, err) < 0 ||
        copy_data(packer, fd, header.size, err) < 0)
        return -1;
    if (fstat(fd, &stat) < 0)
        return set_failed(packer, "stat", err);
    return is_same(&stat, seen) ? 0 : set_changed(packer, err);
}

static int pack_entry(struct packer *packer, int parent_fd, const char *name, struct error *err)
{
    const struct archive_limits *limits = packer->options->limits;
    struct stat stat = {0};
    const char *kind = NULL;

    note_progress(packer);
    if (++packer->entries > limits->entries_max)
        return error_set(err, ERROR_TOO_LARGE, "the directory has more than %llu entries",
                         (unsigned long long)limits->entries_max);
    if (fstatat(parent_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return set_failed(packer, "stat", err);
    if (packer->depth > limits->depth_max)
        return error_set(err, ERROR_TOO_LARGE, "\"%s\" is deeper than %u",
                         beneath_show(path_of(packer)).text, limits->depth_max);
    switch (stat.st_mode & S_IFMT) {
    case S_IFREG:
        return pack_file(packer, parent_fd, name, &stat, err);
    case S_IFDIR:
        return pack_directory(packer, parent_fd, name, &stat, err);
    case S_IFLNK:
        return pack_symlink(packer, parent_fd, name, &stat, err);
    case S_IFSOCK:
        kind = "socket";
        break;
    case S_IFIFO:
        kind = "FIFO";
        break;
    default:
        kind = "device";
        break;
    }
    if (packer->options->on_skip)
        packer->options->on_skip(packer->options->data, path_of(packer), kind);
    return 0;
}

static int set_path(struct packer *packer, const struct level *level, const char *name,
                    struct error *err)
{
    cut_path(packer, level->path_size);
    if ((level->path_size && buffer_append(&packer->path, "/", 1, err) < 0) ||
        buffer_append(&packer->path, name, strlen(name), err) < 0)
        return error_set(err, ERROR_TOO_LARGE, "a path below \"%s\" is longer than %d bytes",
                         beneath_show(path_of(packer)).text, BENEATH_PATH_MAX - 1);
    return 0;
}

static int walk(struct packer *packer, struct error *err)
{
    while (packer->depth) {
        struct level *level = &packer->levels[packer->depth - 1];
        const char *name = NULL;

        if (sorted_names_next(&level->names, level->directory, &name, err) < 0)
            return -1;
        if (!name) {
            if (pop_level(packer, err) < 0)
                return -1;
            continue;
        }
        if (set_path(packer, level, name, err) < 0 ||
            pack_entry(packer, dirfd(level->directory), name, err) < 0)
            return -1;
    }
    return 0;
}

int pack_tree(int root_fd, const struct pack_options *options, struct pack_counts *ret_counts,
              struct error *err)
{
    cleanup_packer struct packer packer = {.options = options};
    cleanup_close int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat stat = {0};

    if (fd < 0 || fstat(fd, &stat) < 0)
        return error_set_errno(err, errno, "open the directory");
    packer.device = stat.st_dev;
    packer.piece = xmalloc(PIECE_SIZE);
    buffer_init(&packer.path, BENEATH_PATH_MAX - 1);
    packer.writer = tar_writer_new(options->write, options->data);
    if (push_level(&packer, steal_fd(&fd), err) < 0 || walk(&packer, err) < 0 ||
        tar_writer_finish(packer.writer, err) < 0)
        return -1;
    packer.counts.packed_bytes = tar_writer_packed_bytes(packer.writer);
    *ret_counts = packer.counts;
    return 0;
}
