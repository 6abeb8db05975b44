/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/layer_path.h"
#include "common/archive/layer_placed.h"
#include "common/archive/tar_reader.h"
#include "common/archive/unpack_directories.h"
#include "common/base/memory.h"

#define WHITEOUT_PREFIX ".wh."
#define WHITEOUT_OPAQUE ".wh..wh..opq"

const struct archive_limits ARCHIVE_LIMITS_LAYER = {
    .bytes_max = (uint64_t)16 << 30,
    .file_max = (uint64_t)8 << 30,
    .entries_max = 2000000,
    .depth_max = 128,
    .window_max = (uint64_t)128 << 20, /* the default of zstd's own decoder */
};

struct layer {
    int root_fd;
    const struct layer_options *options;
    struct fd_source *source;
    struct tar_reader *reader;
    struct unpack_counts counts;
    struct layer_placed placed;
    struct directory_spool directories;
};

static void layer_done(struct layer *layer)
{
    tar_reader_free(layer->reader);
    free(layer->source);
    layer_placed_done(&layer->placed);
    directory_spool_done(&layer->directories);
}
#define cleanup_layer __attribute__((cleanup(layer_done)))

static int apply_whiteout(const struct layer *layer, const struct layer_path *at, struct error *err)
{
    const char *removed = at->name + strlen(WHITEOUT_PREFIX);

    if (strcmp(at->name, WHITEOUT_OPAQUE) == 0)
        return layer_placed_remove_others(&layer->placed, at->parent_fd, err);
    if (strcmp(removed, "") == 0 || strcmp(removed, ".") == 0 || strcmp(removed, "..") == 0)
        return error_set(err, ERROR_INVALID, "invalid whiteout \"%s\"", at->name);
    return beneath_remove_tree(at->parent_fd, removed, err);
}

static void set_owner(const struct layer *layer, const struct layer_path *at,
                      const struct tar_entry *entry)
{
    /* Ids that are not mapped into a plain user's namespace can't be set: the file stays root's, as
     * with other rootless engines. */
    if (layer->options->is_owner_kept)
        (void)!fchownat(at->parent_fd, at->name, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW);
}

static int set_time(const struct layer_path *at, const struct tar_entry *entry, struct error *err)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, entry->mtime};

    if (entry->has_mtime && utimensat(at->parent_fd, at->name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(err, errno, "set the time of \"%s\"", beneath_show(at->name).text);
    return 0;
}

static int count_bytes(struct layer *layer, uint64_t size, struct error *err)
{
    const struct archive_limits *limits = layer->options->limits;

    if (size > limits->file_max || size > limits->bytes_max - layer->counts.bytes)
        return error_set(err, ERROR_TOO_LARGE,
                         "layer exceeds the limit of %llu bytes, or of %llu bytes per file",
                         (unsigned long long)limits->bytes_max,
                         (unsigned long long)limits->file_max);
    layer->counts.bytes += size;
    return 0;
}

static int place_file(struct layer *layer, const struct layer_path *at,
                      const struct tar_entry *entry, struct error *err)
{
    cleanup_close int fd = -1;

    if (count_bytes(layer, entry->size, err) < 0 ||
        beneath_remove_tree(at->parent_fd, at->name, err) < 0)
        return -1;
    fd =
        openat(at->parent_fd, at->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "create the file");
    if (tar_reader_write_file(layer->reader, entry, fd, err) < 0)
        return -1;
    set_owner(layer, at, entry);
    if (fchmod(fd, entry->mode & 0777) < 0)
        return error_set_errno(err, errno, "set the mode");
    return set_time(at, entry, err);
}

/* An existing directory is kept with its content; anything else of that name, also a symlink to a
 * directory, is replaced. */
static int make_directory(const struct layer_path *at, struct error *err)
{
    int fd = -1;

    if (mkdirat(at->parent_fd, at->name, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "create the directory");
    fd = openat(at->parent_fd, at->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        if (beneath_remove_tree(at->parent_fd, at->name, err) < 0)
            return -1;
        if (mkdirat(at->parent_fd, at->name, 0755) < 0)
            return error_set_errno(err, errno, "create the directory");
        fd = openat(at->parent_fd, at->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0)
        return error_set_errno(err, errno, "open the directory");
    return fd;
}

static int place_directory(struct layer *layer, const struct layer_path *at,
                           const struct tar_entry *entry, struct error *err)
{
    cleanup_free char *path =
        xasprintf("%s%s%s", at->directory, *at->directory ? "/" : "", at->name);
    /* The owner keeps all rights, or a plain user could not place later layers. */
    mode_t mode = (entry->mode & 03777) | 0700;
    cleanup_close int fd = make_directory(at, err);

    if (fd < 0)
        return -1;
    set_owner(layer, at, entry);
    if (fchmod(fd, mode) < 0)
        return error_set_errno(err, errno, "set the mode");
    return directory_spool_add(&layer->directories, layer->root_fd, path, mode, entry, err);
}

static int place_symlink(const struct layer *layer, const struct layer_path *at,
                         const struct tar_entry *entry, struct error *err)
{
    if (beneath_remove_tree(at->parent_fd, at->name, err) < 0)
        return -1;
    if (symlinkat(entry->target, at->parent_fd, at->name) < 0)
        return error_set_errno(err, errno, "create the symbolic link");
    set_owner(layer, at, entry);
    return set_time(at, entry, err);
}

static int clean_name(const struct layer *layer, const char *name, char **ret_path,
                      struct error *err)
{
    /* Relative to the image's root, whether it begins with a slash or not. */
    return beneath_clean_any_path(name + strspn(name, "/"), layer->options->limits->depth_max,
                                  ret_path, err);
}

/* Owner, mode and time are those of the last entry for the file, be it a link. */
static int place_hard_link(const struct layer *layer, const struct layer_path *at,
                           const struct tar_entry *entry, struct error *err)
{
    cleanup_layer_path struct layer_path target = LAYER_PATH_INIT;
    cleanup_free char *path = NULL;
    struct stat info = {0};

    if (clean_name(layer, entry->target, &path, err) < 0)
        return error_wrap(err, "target of the hard link");
    if (!*path || layer_path_open(layer->root_fd, path, &target, err) < 0 ||
        fstatat(target.parent_fd, target.name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INVALID,
                         "target \"%s\" of the hard link is not a file in the image",
                         beneath_show(entry->target).text);
    if (beneath_remove_tree(at->parent_fd, at->name, err) < 0)
        return -1;
    if (linkat(target.parent_fd, target.name, at->parent_fd, at->name, 0) < 0)
        return error_set_errno(err, errno, "create the hard link");
    set_owner(layer, at, entry);
    if (S_ISREG(info.st_mode) && fchmodat(at->parent_fd, at->name, entry->mode & 0777, 0) < 0)
        return error_set_errno(err, errno, "set the mode");
    return set_time(at, entry, err);
}

static int place_at(struct layer *layer, const struct layer_path *at, const struct tar_entry *entry,
                    struct error *err)
{
    if (strncmp(at->name, WHITEOUT_PREFIX, strlen(WHITEOUT_PREFIX)) == 0)
        return apply_whiteout(layer, at, err);
    if (layer_placed_add(&layer->placed, at->parent_fd, at->name, err) < 0)
        return -1;
    switch (entry->kind) {
    case TAR_FILE:
        return place_file(layer, at, entry, err);
    case TAR_DIRECTORY:
        return place_directory(layer, at, entry, err);
    case TAR_SYMLINK:
        return place_symlink(layer, at, entry, err);
    case TAR_HARD_LINK:
        return place_hard_link(layer, at, entry, err);
    case TAR_OTHER:
        break;
    }
    return beneath_remove_tree(at->parent_fd, at->name, err);
}

static int place(struct layer *layer, struct tar_entry *entry, struct error *err)
{
    cleanup_layer_path struct layer_path at = LAYER_PATH_INIT;
    cleanup_free char *path = NULL;

    if (++layer->counts.entries > layer->options->limits->entries_max)
        return error_set(err, ERROR_TOO_LARGE, "layer has more than %llu entries",
                         (unsigned long long)layer->options->limits->entries_max);
    if (clean_name(layer, entry->name, &path, err) < 0)
        return -1;
    if (*path == '\0')
        return 0; /* the root directory, whose mode the caller has chosen */
    if (entry->mtime.tv_sec < 0)
        entry->mtime = (struct timespec){0}; /* as containerd does */
    if (layer_path_open(layer->root_fd, path, &at, err) < 0 || place_at(layer, &at, entry, err) < 0)
        return error_wrap(err, "entry \"%s\"", beneath_show(path).text);
    return 0;
}

static ssize_t read_block(void *data, const void **ret_bytes, struct error *err)
{
    struct layer *layer = data;
    const struct layer_options *options = layer->options;

    if (options->on_block && options->on_block(options->data, layer->counts.bytes, err) < 0)
        return -1;
    return fd_source_read(layer->source, ret_bytes, err);
}

int layer_unpack(int root_fd, const struct layer_options *options, int packed_fd,
                 struct unpack_counts *ret_counts, struct error *err)
{
    const struct plain_options plain_options = {.limits = options->limits};
    cleanup_plain struct plain *plain = NULL;
    cleanup_layer struct layer layer = {.root_fd = root_fd,
                                        .options = options,
                                        .source = fd_source_new(packed_fd),
                                        .directories = DIRECTORY_SPOOL_INIT};
    struct tar_entry entry = {0};
    int found = 0;

    layer.directories.is_missing_ignored = true;
    if (plain_new(&plain_options, read_block, &layer, &plain, err) < 0 ||
        tar_reader_new(plain, &layer.reader, err) < 0)
        return -1;
    while ((found = tar_reader_next(layer.reader, &entry, err)) > 0) {
        if (place(&layer, &entry, err) < 0)
            return -1;
    }
    if (found < 0 || directory_spool_apply(&layer.directories, root_fd, err) < 0)
        return -1;
    *ret_counts = layer.counts;
    return 0;
}

bool layer_has_entry(const char *tar_path, const char *name)
{
    const struct plain_options options = {.limits = &ARCHIVE_LIMITS_LAYER};
    cleanup_close int fd = open(tar_path, O_RDONLY | O_CLOEXEC);
    cleanup_free struct fd_source *source = fd_source_new(fd);
    cleanup_plain struct plain *plain = NULL;
    cleanup_tar_reader struct tar_reader *reader = NULL;
    struct tar_entry entry = {0};
    struct error ignored = {0};

    if (fd < 0 || plain_new(&options, fd_source_read, source, &plain, &ignored) < 0 ||
        tar_reader_new(plain, &reader, &ignored) < 0)
        return false;
    while (tar_reader_next(reader, &entry, &ignored) > 0) {
        if (strcmp(entry.name + (strncmp(entry.name, "./", 2) == 0 ? 2 : 0), name) == 0)
            return true;
    }
    return false;
}
