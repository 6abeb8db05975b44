/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/tar_reader.h"
#include "common/archive/unpack_directories.h"
#include "common/archive/unpack_links.h"
#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"

struct unpacker {
    int root_fd;
    const struct unpack_options *options;
    struct plain *plain;
    struct tar_reader *reader;
    struct unpack_counts counts;
    struct link_table links;            /* blueprints */
    struct directory_spool directories; /* state */
};

static void unpacker_done(struct unpacker *unpacker)
{
    tar_reader_free(unpacker->reader);
    plain_free(unpacker->plain);
    link_table_done(&unpacker->links);
    directory_spool_done(&unpacker->directories);
}
#define cleanup_unpacker __attribute__((cleanup(unpacker_done)))

/* Holes count, since a reader of the file sees them as bytes. */
static int count_bytes(struct unpacker *unpacker, const char *path, uint64_t size,
                       struct error *err)
{
    const struct archive_limits *limits = unpacker->options->limits;

    if (size > limits->file_max)
        return error_set(err, ERROR_TOO_LARGE, "\"%s\" is larger than %llu bytes",
                         beneath_show(path).text, (unsigned long long)limits->file_max);
    if (size > limits->bytes_max - unpacker->counts.bytes)
        return error_set(err, ERROR_TOO_LARGE, "archive unpacks to more than %llu bytes",
                         (unsigned long long)limits->bytes_max);
    unpacker->counts.bytes += size;
    return plain_check_ratio(unpacker->plain, unpacker->counts.bytes, err);
}

static int unpack_file(struct unpacker *unpacker, const struct tar_entry *entry, const char *path,
                       struct error *err)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, entry->mtime};
    bool is_state = unpacker->options->policy == UNPACK_STATE;
    cleanup_close int fd = -1;

    if (count_bytes(unpacker, path, entry->size, err) < 0)
        return -1;
    fd = beneath_create_file(unpacker->root_fd, path, is_state ? 0600 : 0666, err);
    if (fd < 0 || tar_reader_write_file(unpacker->reader, entry, fd, err) < 0)
        return -1;
    if (is_state &&
        (fchmod(fd, entry->mode & 0777) < 0 || (entry->has_mtime && futimens(fd, times) < 0)))
        return error_set_errno(err, errno, "set mode and time of \"%s\"", beneath_show(path).text);
    return 0;
}

static int unpack_directory(struct unpacker *unpacker, const struct tar_entry *entry,
                            const char *path, struct error *err)
{
    cleanup_close int fd = beneath_make_directories(unpacker->root_fd, path, err);

    if (fd < 0)
        return -1;
    if (unpacker->options->policy != UNPACK_STATE || !path[0])
        return 0;
    return directory_spool_add(&unpacker->directories, unpacker->root_fd, path, entry->mode & 0777,
                               entry, err);
}

static int unpack_symlink(struct unpacker *unpacker, const struct tar_entry *entry,
                          const char *path, struct error *err)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, entry->mtime};
    cleanup_close int parent_fd = -1;
    const char *name = NULL;

    if (beneath_make_symlink(unpacker->root_fd, path, entry->target, err) < 0)
        return -1;
    if (!entry->has_mtime)
        return 0;
    parent_fd = beneath_open_parent(unpacker->root_fd, path, false, &name, err);
    if (parent_fd < 0)
        return -1;
    if (utimensat(parent_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(err, errno, "set time of \"%s\"", beneath_show(path).text);
    return 0;
}

/* Replaces an earlier file of the same name; a later one replaces the link (link_table_settle). */
static int remember_link(struct unpacker *unpacker, const struct tar_entry *entry, const char *path,
                         struct error *err)
{
    cleanup_close int parent_fd = -1;
    const char *name = NULL;

    parent_fd = beneath_open_parent(unpacker->root_fd, path, true, &name, err);
    if (parent_fd < 0)
        return -1;
    if (unlinkat(parent_fd, name, 0) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "replace \"%s\" by a link", beneath_show(path).text);
    return link_table_add(&unpacker->links, path, entry->target, entry->kind == TAR_HARD_LINK, err);
}

static int unpack_entry(struct unpacker *unpacker, const struct tar_entry *entry, struct error *err)
{
    const struct archive_limits *limits = unpacker->options->limits;
    bool is_state = unpacker->options->policy == UNPACK_STATE;
    cleanup_free char *path = NULL;

    if (++unpacker->counts.entries > limits->entries_max)
        return error_set(err, ERROR_TOO_LARGE, "archive has more than %llu entries",
                         (unsigned long long)limits->entries_max);
    if (is_state ? beneath_clean_any_path(entry->name, limits->depth_max, &path, err) < 0
                 : beneath_clean_path(entry->name, limits->depth_max, &path, err) < 0)
        return -1;
    if (!path[0] && entry->kind != TAR_DIRECTORY)
        return error_set(err, ERROR_INVALID, "\"%s\" would replace the target directory",
                         beneath_show(entry->name).text);
    switch (entry->kind) {
    case TAR_FILE:
        return unpack_file(unpacker, entry, path, err);
    case TAR_DIRECTORY:
        return unpack_directory(unpacker, entry, path, err);
    case TAR_SYMLINK:
        return is_state ? unpack_symlink(unpacker, entry, path, err)
                        : remember_link(unpacker, entry, path, err);
    case TAR_HARD_LINK:
        return is_state ? beneath_make_link(unpacker->root_fd, path, entry->target, err)
                        : remember_link(unpacker, entry, path, err);
    case TAR_OTHER:
        break;
    }
    return error_set(err, ERROR_INVALID, "\"%s\" is a device, FIFO or socket",
                     beneath_show(entry->name).text);
}

static int copy_file(struct unpacker *unpacker, const char *from, const char *to, struct error *err)
{
    cleanup_close int from_fd = -1, to_fd = -1;
    struct stat stat = {0};

    from_fd = beneath_open_file(unpacker->root_fd, from, &stat, err);
    if (from_fd < 0) {
        if (err->kind == ERROR_NOT_FOUND)
            return error_set(err, ERROR_INVALID, "\"%s\" is not in the archive",
                             beneath_show(from).text);
        return -1;
    }
    if (count_bytes(unpacker, to, (uint64_t)stat.st_size, err) < 0)
        return -1;
    to_fd = beneath_create_file(unpacker->root_fd, to, 0666, err);
    if (to_fd < 0)
        return -1;
    return file_copy(from_fd, to_fd, beneath_show(to).text, err);
}

static int make_copies(struct unpacker *unpacker, struct error *err)
{
    struct link_table *table = &unpacker->links;

    if (link_table_settle(table, unpacker->root_fd, err) < 0)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        const struct link *link = &table->links[i];
        cleanup_free char *target = NULL;

        if (link_table_resolve(table, link, &target, err) < 0)
            return -1;
        if (copy_file(unpacker, target, link->path, err) < 0)
            return error_wrap(err, "link \"%s\"", beneath_show(link->path).text);
    }
    return 0;
}

/* Some writers omit the blocks of zeros at the end. That is accepted for blueprints, whose digest
 * has been verified; state archives have no other proof that they are complete. */
static int check_end(const struct unpacker *unpacker, struct error *err)
{
    if (tar_reader_saw_end(unpacker->reader))
        return 0;
    if (unpacker->options->policy == UNPACK_STATE || plain_is_cut(unpacker->plain))
        return error_set(err, ERROR_INVALID, "archive is truncated");
    return 0;
}

int unpack_stream(int root_fd, const struct unpack_options *options, unpack_read_fn *read,
                  void *data, struct unpack_counts *ret_counts, struct error *err)
{
    const struct plain_options plain_options = {
        .limits = options->limits, .is_tail_tolerated = options->is_go_state_tolerated};
    cleanup_unpacker struct unpacker unpacker = {
        .root_fd = root_fd, .options = options, .directories = DIRECTORY_SPOOL_INIT};
    struct tar_entry entry = {0};
    int found = 0;

    if (plain_new(&plain_options, read, data, &unpacker.plain, err) < 0 ||
        tar_reader_new(unpacker.plain, &unpacker.reader, err) < 0)
        return -1;
    while ((found = tar_reader_next(unpacker.reader, &entry, err)) > 0) {
        if (unpack_entry(&unpacker, &entry, err) < 0)
            return -1;
    }
    if (found < 0 || check_end(&unpacker, err) < 0 || plain_drain(unpacker.plain, err) < 0 ||
        make_copies(&unpacker, err) < 0 ||
        directory_spool_apply(&unpacker.directories, root_fd, err) < 0)
        return -1;
    *ret_counts = unpacker.counts;
    return 0;
}

int unpack_fd(int root_fd, const struct unpack_options *options, int packed_fd,
              struct unpack_counts *ret_counts, struct error *err)
{
    cleanup_free struct fd_source *source = fd_source_new(packed_fd);

    return unpack_stream(root_fd, options, fd_source_read, source, ret_counts, err);
}
