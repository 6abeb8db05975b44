/* SPDX-License-Identifier: Apache-2.0 */
#include "init/blueprint/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "init/blueprint/yamlfs.h"

/* A sibling of the real one: an old Landlock forbids moves between directories. */
#define DIRECTORY_ASIDE ".longshore-init.content"
#define FILE_BLUEPRINT "blueprint.yaml"

enum { BLUEPRINT_MAX_BYTES = 4 * 1024 * 1024, COPY_BYTES = 64 * 1024 };

/* ---- a directory is copied ---- */

struct copying {
    struct content_counts counts;
    char *block;
};

static int copy_file(struct copying *copying, int from_fd, int to_fd, const char *name,
                     struct error *err)
{
    struct stat status;
    cleanup_close int from = beneath_open_file(from_fd, name, &status, err);
    cleanup_close int to = -1;
    ssize_t count = 0;

    if (from < 0 || (to = beneath_create_file(to_fd, name, 0666, err)) < 0)
        return -1;
    while ((count = read(from, copying->block, COPY_BYTES)) > 0) {
        copying->counts.bytes += (uint64_t)count;
        if (copying->counts.bytes > ARCHIVE_LIMITS_BLUEPRINT.bytes_max)
            return error_set(err, ERROR_TOO_LARGE, "the blueprint has too many bytes");
        for (ssize_t done = 0; done < count;) {
            ssize_t written = write(to, copying->block + done, (size_t)(count - done));

            if (written < 0)
                return error_set_errno(err, errno, "write '%s'", name);
            done += written;
        }
    }
    return count < 0 ? error_set_errno(err, errno, "read '%s'", name) : 0;
}

static int copy_directory(struct copying *copying, int from_fd, int to_fd, unsigned depth,
                          struct error *err);

static int copy_entry(struct copying *copying, int from_fd, int to_fd, const char *name,
                      unsigned depth, struct error *err)
{
    cleanup_close int from = -1;
    cleanup_close int to = -1;
    struct stat status;

    if (++copying->counts.files > ARCHIVE_LIMITS_BLUEPRINT.entries_max)
        return error_set(err, ERROR_TOO_LARGE, "the blueprint has too many files");
    if (fstatat(from_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(err, errno, "look at '%s'", name);
    if (!S_ISDIR(status.st_mode))
        return copy_file(copying, from_fd, to_fd, name, err);
    if (depth >= ARCHIVE_LIMITS_BLUEPRINT.depth_max)
        return error_set(err, ERROR_TOO_LARGE, "'%s' lies too deep", name);
    from = beneath_open_directory(from_fd, name, err);
    if (from < 0 || (to = beneath_make_directories(to_fd, name, err)) < 0)
        return -1;
    return copy_directory(copying, from, to, depth + 1, err);
}

static int copy_directory(struct copying *copying, int from_fd, int to_fd, unsigned depth,
                          struct error *err)
{
    int fd = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;
    int result = 0;

    if (!directory)
        return error_set_errno(err, errno, "list a directory of the blueprint");
    while (result == 0 && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = copy_entry(copying, from_fd, to_fd, entry->d_name, depth, err);
    }
    (void)closedir(directory);
    return result;
}

/* ---- putting it together ---- */

static int make_content(int parent_fd, struct error *err)
{
    if (beneath_remove_tree(parent_fd, DIRECTORY_ASIDE, err) < 0)
        return -1;
    return beneath_make_directories(parent_fd, DIRECTORY_ASIDE, err);
}

int content_from_tree(const json_t *filesystem, int parent_fd, struct content_counts *ret_counts,
                      struct error *err)
{
    cleanup_json json_t *tree = NULL;
    cleanup_close int fd = -1;
    struct yamlfs_counts counts = {0};

    if (yamlfs_open(filesystem, &tree, err) < 0)
        return error_wrap(err, "inline blueprint");
    fd = make_content(parent_fd, err);
    if (fd < 0)
        return -1;
    if (yamlfs_write(tree, fd, &counts, err) < 0)
        return error_wrap(err, "inline blueprint");
    *ret_counts = (struct content_counts){
        .files = counts.files, .bytes = counts.bytes, .lists = counts.lists};
    return 0;
}

static int unpack_blob(const struct blob *blob, int content_fd, struct content_counts *ret_counts,
                       struct error *err)
{
    static const struct unpack_options options = {.policy = UNPACK_BLUEPRINT,
                                                  .limits = &ARCHIVE_LIMITS_BLUEPRINT};
    struct unpack_counts counts = {0};

    if (unpack_fd(content_fd, &options, blob->fd, &counts, err) < 0)
        return error_wrap(err, "unpack the blueprint");
    *ret_counts = (struct content_counts){.files = counts.entries, .bytes = counts.bytes};
    return 0;
}

int content_from_blob(const struct blob *blob, int parent_fd, struct content_counts *ret_counts,
                      struct error *err)
{
    struct copying copying = {0};
    cleanup_close int fd = -1;
    int result = 0;

    switch (blob->form) {
    case BLOB_TREE:
        return content_from_tree(blob->node, parent_fd, ret_counts, err);
    case BLOB_PACKED:
        fd = make_content(parent_fd, err);
        return fd < 0 ? -1 : unpack_blob(blob, fd, ret_counts, err);
    case BLOB_DIRECTORY:
        fd = make_content(parent_fd, err);
        if (fd < 0)
            return -1;
        copying.block = xmalloc(COPY_BYTES);
        result = copy_directory(&copying, blob->fd, fd, 0, err);
        free(copying.block);
        *ret_counts = copying.counts;
        return result;
    }
    return error_set(err, ERROR_INTERNAL, "unknown form of blob");
}

/* ---- publishing ---- */

static int check_member(const json_t *doc, const char *key, const char *wanted, struct error *err)
{
    const char *text = NULL;

    if (doc_want_text(doc, key, &text, err) < 0)
        return -1;
    if (text && strcmp(text, wanted) != 0)
        return error_set(err, ERROR_INVALID, "%s: is '%.100s', must be '%s'", key, text, wanted);
    return 0;
}

static int check_blueprint(int content_fd, struct error *err)
{
    struct stat status;
    cleanup_close int fd = beneath_open_file(content_fd, FILE_BLUEPRINT, &status, err);
    cleanup_buffer struct buffer bytes = {0};
    cleanup_json json_t *doc = NULL;
    char block[4096];
    ssize_t count = 0;

    if (fd < 0 && err->kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_INVALID, "there is no '%s' at its root", FILE_BLUEPRINT);
    if (fd < 0)
        return -1;
    buffer_init(&bytes, BLUEPRINT_MAX_BYTES);
    while ((count = read(fd, block, sizeof(block))) > 0) {
        if (buffer_append(&bytes, block, (size_t)count, err) < 0)
            return error_wrap(err, "%s", FILE_BLUEPRINT);
    }
    if (count < 0)
        return error_set_errno(err, errno, "read '%s'", FILE_BLUEPRINT);
    if (doc_parse_yaml(bytes.data ? bytes.data : "", bytes.size, BLUEPRINT_MAX_BYTES, &doc, err) <
        0)
        return error_wrap(err, "%s", FILE_BLUEPRINT);
    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "%s: expected an object", FILE_BLUEPRINT);
    if (check_member(doc, "apiVersion", LANDSCAPER_API_VERSION, err) < 0 ||
        check_member(doc, "kind", KIND_BLUEPRINT, err) < 0)
        return error_wrap(err, "%s", FILE_BLUEPRINT);
    return 0;
}

void content_discard(int parent_fd)
{
    struct error ignored = {0};

    (void)!beneath_remove_tree(parent_fd, DIRECTORY_ASIDE, &ignored);
}

int content_publish(int parent_fd, const char *name, struct error *err)
{
    cleanup_close int fd = beneath_open_directory(parent_fd, DIRECTORY_ASIDE, err);

    if (fd < 0)
        return -1;
    if (check_blueprint(fd, err) < 0)
        return error_wrap(err, "blueprint");
    /* Over the empty directory that is there; or in exchange for one with something in it (the pod
     * was started anew), which goes. */
    if (renameat(parent_fd, DIRECTORY_ASIDE, parent_fd, name) == 0)
        return 0;
    if ((errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) ||
        renameat2(parent_fd, DIRECTORY_ASIDE, parent_fd, name, RENAME_EXCHANGE) < 0)
        return error_set_errno(err, errno, "move the blueprint's files to '%s'", name);
    return beneath_remove_tree(parent_fd, DIRECTORY_ASIDE, err);
}
