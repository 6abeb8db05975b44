/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry is placed below a descriptor of its parent directory, which is reached without
 * following symlinks. Where a lower layer made a parent a symlink (/lib -> usr/lib) the layer's
 * path goes through it in the container, so such a link is resolved by hand inside the root: a
 * bounded number of steps,
 * ".." never above the root. */
#include "common/archive/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/archive/plain.h"
#include "common/base/memory.h"

#define WHITEOUT_PREFIX ".wh."
#define WHITEOUT_OPAQUE ".wh..wh..opq"
enum { READ_BYTES = 65536, LINK_STEPS_MAX = 40, LINK_TEXT_MAX = 4096 };

const struct archive_limits ARCHIVE_LIMITS_LAYER = {
    .bytes_max = (uint64_t)16 << 30,
    .file_max = (uint64_t)8 << 30,
    .entries_max = 2000000,
    .depth_max = 128,
    .window_max = (uint64_t)128 << 20, /* what zstd itself takes without being asked for more */
};

/* The image's bytes, unpacked before libarchive sees them. */
struct source {
    int fd;
    struct plain *plain;
    struct error err;
    char block[READ_BYTES];
};

struct layer {
    int root_fd;
    const struct layer_options *options;
    struct archive *archive;
    const struct source *source;
    struct unpack_counts counts;
};

static void source_free(struct source *source)
{
    if (source)
        plain_free(source->plain);
    free(source);
}
define_cleanup(struct source *, source_free)

static ssize_t read_packed(void *data, const void **ret_bytes, struct error *err)
{
    struct source *source = data;
    ssize_t size = 0;

    do {
        size = read(source->fd, source->block, sizeof(source->block));
    } while (size < 0 && errno == EINTR);
    if (size < 0)
        return error_set_errno(err, errno, "read the layer");
    *ret_bytes = source->block;
    return size;
}

static la_ssize_t read_plain(struct archive *archive, void *data, const void **ret_bytes)
{
    struct source *source = data;
    ssize_t size = plain_read(source->plain, ret_bytes, &source->err);

    if (size < 0)
        archive_set_error(archive, EIO, "%s", source->err.text);
    return size;
}

/* libarchive has the text of what went wrong below it, but not its kind. */
static int reader_failed(const struct source *source, struct archive *archive, const char *what,
                         struct error *err)
{
    if (source->err.kind == ERROR_NONE)
        return error_set(err, ERROR_INVALID, "%s: %s", what, archive_error_string(archive));
    *err = source->err;
    return error_wrap(err, "%s", what);
}

static int open_reader(int fd, const struct archive_limits *limits, struct source **ret_source,
                       struct archive **ret_archive, struct error *err)
{
    const struct plain_options options = {.limits = limits};
    struct source *source = xcalloc(1, sizeof(*source));
    struct archive *archive = archive_read_new();

    *ret_source = source;
    *ret_archive = archive;
    source->fd = fd;
    if (plain_new(&options, read_packed, source, &source->plain, err) < 0)
        return error_wrap(err, "no tar archive");
    (void)archive_read_support_format_tar(archive);
    if (archive_read_open(archive, source, NULL, read_plain, NULL) != ARCHIVE_OK)
        return reader_failed(source, archive, "no tar archive", err);
    return 0;
}

static void reader_freep(struct archive **archive)
{
    if (*archive)
        (void)archive_read_free(*archive);
}

/* ---- Finding the parent. ---- */

/* Replaces the first length bytes of *path, which are a symlink, by where it leads. */
static int splice_link(const struct layer *layer, char **path, size_t length, struct error *err)
{
    cleanup_free char *link = xstrndup(*path, length);
    cleanup_free char *joined = NULL;
    const char *slash = strrchr(link, '/');
    char target[LINK_TEXT_MAX] = {0};
    ssize_t size = 0;
    cleanup_free char *parent = slash ? xstrndup(link, (size_t)(slash - link)) : xstrdup("");
    cleanup_close int parent_fd = beneath_open_directory(layer->root_fd, parent, err);

    if (parent_fd < 0)
        return -1;
    size = readlinkat(parent_fd, slash ? slash + 1 : link, target, sizeof(target) - 1);
    if (size <= 0)
        return error_set_errno(err, errno, "read link '%s'", link);
    joined = target[0] == '/' ? xasprintf("%s%s", target, *path + length)
                              : xasprintf("%s/%s%s", parent, target, *path + length);
    free(*path);
    *path = steal(&joined);
    return 0;
}

/* Drops ".", empty parts and "..", the last of which never leaves the root. */
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

/* The length of the first part of path that is a symlink in the root, or 0. */
static size_t find_link(const struct layer *layer, const char *path)
{
    cleanup_close int fd = dup(layer->root_fd);
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

/* The directory path with symlinks of the root resolved inside it; made if it is missing. */
static int open_parent(const struct layer *layer, const char *directory, struct error *err)
{
    cleanup_free char *path = normalize(directory);

    for (int step = 0; step < LINK_STEPS_MAX; step++) {
        size_t length = find_link(layer, path);
        char *clean = NULL;

        if (length == 0)
            return beneath_make_directories(layer->root_fd, path, err);
        if (splice_link(layer, &path, length, err) < 0)
            return -1;
        clean = normalize(path);
        free(path);
        path = clean;
    }
    return error_set(err, ERROR_INVALID, "'%s' goes through too many symbolic links", directory);
}

static int split(const struct layer *layer, const char *path, int *ret_parent_fd, char **ret_name,
                 struct error *err)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *directory = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
    int fd = open_parent(layer, directory, err);

    if (fd < 0)
        return error_wrap(err, "entry '%s'", path);
    *ret_parent_fd = fd;
    *ret_name = xstrdup(slash ? slash + 1 : path);
    return 0;
}

/* ---- Placing. ---- */

static int empty_directory(int parent_fd, struct error *err)
{
    int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;
    int result = 0;

    if (!directory) {
        if (fd >= 0)
            (void)close(fd);
        return error_set_errno(err, errno, "empty an opaque directory");
    }
    while (result == 0 && (errno = 0, entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = beneath_remove_tree(parent_fd, entry->d_name, err);
    }
    if (result == 0 && errno)
        result = error_set_errno(err, errno, "empty an opaque directory");
    (void)closedir(directory);
    return result;
}

static int apply_whiteout(int parent_fd, const char *name, struct error *err)
{
    const char *removed = name + strlen(WHITEOUT_PREFIX);

    if (strcmp(name, WHITEOUT_OPAQUE) == 0)
        return empty_directory(parent_fd, err);
    if (strcmp(removed, "") == 0 || strcmp(removed, ".") == 0 || strcmp(removed, "..") == 0)
        return error_set(err, ERROR_INVALID, "whiteout '%s' names nothing", name);
    return beneath_remove_tree(parent_fd, removed, err);
}

static void own(const struct layer *layer, int parent_fd, const char *name,
                struct archive_entry *entry)
{
    /* Ids outside of a plain user's range can't be given: the file stays root's, as rootless
     * engines do. */
    if (layer->options->is_owner_kept)
        (void)!fchownat(parent_fd, name, (uid_t)archive_entry_uid(entry),
                        (gid_t)archive_entry_gid(entry), AT_SYMLINK_NOFOLLOW);
}

static int copy_data(struct layer *layer, int fd, const char *path, struct error *err)
{
    const void *bytes = NULL;
    size_t size = 0;
    la_int64_t offset = 0;
    uint64_t end = 0;
    int result = 0;

    while ((result = archive_read_data_block(layer->archive, &bytes, &size, &offset)) ==
           ARCHIVE_OK) {
        const char *at = bytes;

        end = (uint64_t)offset + size;
        layer->counts.bytes += size;
        if (end > layer->options->limits->file_max ||
            layer->counts.bytes > layer->options->limits->bytes_max)
            return error_set(err, ERROR_TOO_LARGE, "entry '%s' makes the layer too large", path);
        while (size > 0) {
            ssize_t written = pwrite(fd, at, size, offset);

            if (written < 0 && errno != EINTR)
                return error_set_errno(err, errno, "write '%s'", path);
            if (written > 0) {
                at += written;
                size -= (size_t)written;
                offset += written;
            }
        }
    }
    if (result != ARCHIVE_EOF) {
        (void)reader_failed(layer->source, layer->archive, "broken archive", err);
        return error_wrap(err, "entry '%s'", path);
    }
    if (end > 0 && ftruncate(fd, (off_t)end) < 0)
        return error_set_errno(err, errno, "write '%s'", path);
    return 0;
}

static int place_file(struct layer *layer, int parent_fd, const char *name, const char *path,
                      struct archive_entry *entry, struct error *err)
{
    cleanup_close int fd = -1;

    if (beneath_remove_tree(parent_fd, name, err) < 0)
        return -1;
    fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "create '%s'", path);
    if (copy_data(layer, fd, path, err) < 0)
        return -1;
    own(layer, parent_fd, name, entry);
    if (fchmod(fd, archive_entry_perm(entry) & 0777) < 0)
        return error_set_errno(err, errno, "set the mode of '%s'", path);
    return 0;
}

static int place_directory(const struct layer *layer, int parent_fd, const char *name,
                           const char *path, struct archive_entry *entry, struct error *err)
{
    cleanup_close int fd = -1;

    if (mkdirat(parent_fd, name, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "make directory '%s'", path);
    fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        struct stat info = {0};

        /* A directory entry over a symlink to a directory keeps the link, as other engines do. */
        if (fstatat(parent_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
            return 0;
        if (beneath_remove_tree(parent_fd, name, err) < 0)
            return -1;
        if (mkdirat(parent_fd, name, 0755) < 0)
            return error_set_errno(err, errno, "make directory '%s'", path);
        fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0)
        return error_set_errno(err, errno, "open directory '%s'", path);
    own(layer, parent_fd, name, entry);
    /* The owner keeps its rights, or later layers could not be placed by a plain user. */
    if (fchmod(fd, (archive_entry_perm(entry) & 01777) | 0700) < 0)
        return error_set_errno(err, errno, "set the mode of '%s'", path);
    return 0;
}

static int place_hard_link(const struct layer *layer, int parent_fd, const char *name,
                           const char *path, const char *target, struct error *err)
{
    cleanup_free char *clean = NULL;
    cleanup_free char *target_name = NULL;
    cleanup_close int target_fd = -1;
    struct stat info = {0};

    if (beneath_clean_path(target, layer->options->limits->depth_max, &clean, err) < 0 ||
        split(layer, clean, &target_fd, &target_name, err) < 0)
        return error_wrap(err, "hard link '%s'", path);
    if (fstatat(target_fd, target_name, &info, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INVALID,
                         "hard link '%s' leads to '%s', which is no file of the image", path,
                         target);
    if (beneath_remove_tree(parent_fd, name, err) < 0)
        return -1;
    if (linkat(target_fd, target_name, parent_fd, name, 0) < 0)
        return error_set_errno(err, errno, "hard link '%s'", path);
    return 0;
}

static int place_symlink(const struct layer *layer, int parent_fd, const char *name,
                         const char *path, struct archive_entry *entry, struct error *err)
{
    const char *target = archive_entry_symlink(entry);

    if (!target || !target[0])
        return error_set(err, ERROR_INVALID, "symbolic link '%s' leads nowhere", path);
    if (beneath_remove_tree(parent_fd, name, err) < 0)
        return -1;
    if (symlinkat(target, parent_fd, name) < 0)
        return error_set_errno(err, errno, "symbolic link '%s'", path);
    own(layer, parent_fd, name, entry);
    return 0;
}

static int place(struct layer *layer, struct archive_entry *entry, struct error *err)
{
    const char *raw = archive_entry_pathname(entry);
    const char *hard_link = archive_entry_hardlink(entry);
    cleanup_free char *path = NULL;
    cleanup_free char *name = NULL;
    cleanup_close int parent_fd = -1;

    if (!raw || beneath_clean_path(raw, layer->options->limits->depth_max, &path, err) < 0)
        return raw ? -1 : error_set(err, ERROR_INVALID, "an entry has no name");
    if (*path == '\0')
        return 0; /* the root itself: its mode is ours */
    if (split(layer, path, &parent_fd, &name, err) < 0)
        return -1;
    if (strncmp(name, WHITEOUT_PREFIX, strlen(WHITEOUT_PREFIX)) == 0)
        return apply_whiteout(parent_fd, name, err);
    if (hard_link)
        return place_hard_link(layer, parent_fd, name, path, hard_link, err);
    if (archive_entry_filetype(entry) == AE_IFREG)
        return place_file(layer, parent_fd, name, path, entry, err);
    if (archive_entry_filetype(entry) == AE_IFDIR)
        return place_directory(layer, parent_fd, name, path, entry, err);
    if (archive_entry_filetype(entry) == AE_IFLNK)
        return place_symlink(layer, parent_fd, name, path, entry, err);
    return 0;
}

int layer_unpack(int root_fd, const struct layer_options *options, int packed_fd,
                 struct unpack_counts *ret_counts, struct error *err)
{
    __attribute__((cleanup(source_freep))) struct source *source = NULL;
    __attribute__((cleanup(reader_freep))) struct archive *archive = NULL;
    struct layer layer = {.root_fd = root_fd, .options = options};
    struct archive_entry *entry = NULL;
    int result = 0;

    if (open_reader(packed_fd, options->limits, &source, &archive, err) < 0)
        return -1;
    layer.archive = archive;
    layer.source = source;
    while ((result = archive_read_next_header(archive, &entry)) == ARCHIVE_OK ||
           result == ARCHIVE_WARN) {
        if (++layer.counts.entries > options->limits->entries_max)
            return error_set(err, ERROR_TOO_LARGE, "more than %llu entries",
                             (unsigned long long)options->limits->entries_max);
        if (place(&layer, entry, err) < 0)
            return -1;
    }
    if (result != ARCHIVE_EOF)
        return reader_failed(source, archive, "broken archive", err);
    *ret_counts = layer.counts;
    return 0;
}

bool layer_has_entry(const char *tar_path, const char *name)
{
    __attribute__((cleanup(source_freep))) struct source *source = NULL;
    __attribute__((cleanup(reader_freep))) struct archive *archive = NULL;
    cleanup_close int fd = open(tar_path, O_RDONLY | O_CLOEXEC);
    struct archive_entry *entry = NULL;
    struct error ignored = {0};

    if (fd < 0 || open_reader(fd, &ARCHIVE_LIMITS_LAYER, &source, &archive, &ignored) < 0)
        return false;
    while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        const char *path = archive_entry_pathname(entry);

        if (path && strncmp(path, "./", 2) == 0)
            path += 2;
        if (path && strcmp(path, name) == 0)
            return true;
    }
    return false;
}
