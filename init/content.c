/* SPDX-License-Identifier: Apache-2.0 */
#include "init/content.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/unpack.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/component/directory.h"
#include "common/component/yamlfs.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "init/kind.h"

/* In the same parent directory: Landlock before ABI 2 (Linux 5.19) forbids moves between
 * directories. */
#define TEMPORARY_DIRECTORY ".longshore-init.content"
#define FILE_BLUEPRINT "blueprint.yaml"

enum { BLUEPRINT_MAX_BYTES = 4 * 1024 * 1024 };

/* ---- copying a directory ---- */

struct copied_file {
    struct content_counts *counts;
    const char *name;
    int fd;
};

static int copy_piece(void *data, const char *bytes, size_t size, struct error *err)
{
    const struct copied_file *file = data;

    file->counts->bytes += size;
    if (file->counts->bytes > ARCHIVE_LIMITS_BLUEPRINT.bytes_max)
        return error_set(err, ERROR_TOO_LARGE, "more than %" PRIu64 " bytes in all files together",
                         ARCHIVE_LIMITS_BLUEPRINT.bytes_max);
    return file_write_all(file->fd, file->name, bytes, size, err);
}

static int copy_file(struct content_counts *counts, int from_fd, int to_fd, const char *name,
                     struct error *err)
{
    struct stat status;
    cleanup_close int from = beneath_open_file(from_fd, name, &status, err);
    cleanup_close int to = -1;
    struct copied_file file = {.counts = counts, .name = name};

    if (from < 0 || (to = beneath_create_file(to_fd, name, 0666, err)) < 0)
        return -1;
    file.fd = to;
    return file_read_pieces(from, name, copy_piece, &file, err);
}

struct copied_directory {
    struct content_counts *counts;
    int from_fd, to_fd;
    unsigned depth;
};

static int copy_entry(void *data, const char *name, const struct stat *status, struct error *err)
{
    const struct copied_directory *parent = data;
    struct content_counts *counts = parent->counts;
    cleanup_close int from = -1;
    cleanup_close int to = -1;
    struct copied_directory child = {0};

    if (++counts->files > ARCHIVE_LIMITS_BLUEPRINT.entries_max)
        return error_set(err, ERROR_TOO_LARGE, "more than %" PRIu64 " files and directories",
                         ARCHIVE_LIMITS_BLUEPRINT.entries_max);
    if (!S_ISDIR(status->st_mode))
        return copy_file(counts, parent->from_fd, parent->to_fd, name, err);
    if (parent->depth >= ARCHIVE_LIMITS_BLUEPRINT.depth_max)
        return error_set(err, ERROR_TOO_LARGE, "\"%s\": nested more than %u directories deep", name,
                         ARCHIVE_LIMITS_BLUEPRINT.depth_max);
    from = beneath_open_directory(parent->from_fd, name, err);
    if (from < 0 || (to = beneath_make_directories(parent->to_fd, name, err)) < 0)
        return -1;
    child = (struct copied_directory){
        .counts = counts, .from_fd = from, .to_fd = to, .depth = parent->depth + 1};
    return directory_read(from, name, copy_entry, &child, err);
}

/* ---- writing the temporary directory ---- */

static int make_temporary_directory(int parent_fd, struct error *err)
{
    if (beneath_remove_tree(parent_fd, TEMPORARY_DIRECTORY, err) < 0)
        return -1;
    return beneath_make_directories(parent_fd, TEMPORARY_DIRECTORY, err);
}

int content_from_tree(const json_t *filesystem, int parent_fd, struct content_counts *ret_counts,
                      struct error *err)
{
    cleanup_json json_t *tree = NULL;
    cleanup_close int fd = -1;
    struct yamlfs_counts counts = {0};

    if (yamlfs_open(filesystem, &tree, err) < 0)
        return error_wrap(err, "inline blueprint");
    fd = make_temporary_directory(parent_fd, err);
    if (fd < 0)
        return -1;
    if (yamlfs_write(tree, fd, &ARCHIVE_LIMITS_BLUEPRINT, &counts, err) < 0)
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

static int copy_blob(const struct blob *blob, int content_fd, struct content_counts *ret_counts,
                     struct error *err)
{
    struct content_counts counts = {0};
    struct copied_directory root = {
        .counts = &counts, .from_fd = blob->fd, .to_fd = content_fd, .depth = 0};

    if (directory_read(blob->fd, "blueprint", copy_entry, &root, err) < 0)
        return error_wrap(err, "copy the blueprint");
    *ret_counts = counts;
    return 0;
}

int content_from_blob(const struct blob *blob, int parent_fd, struct content_counts *ret_counts,
                      struct error *err)
{
    cleanup_close int fd = -1;

    if (blob->form == BLOB_TREE)
        return content_from_tree(blob->node, parent_fd, ret_counts, err);
    fd = make_temporary_directory(parent_fd, err);
    if (fd < 0)
        return -1;
    return blob->form == BLOB_DIRECTORY ? copy_blob(blob, fd, ret_counts, err)
                                        : unpack_blob(blob, fd, ret_counts, err);
}

/* ---- publishing ---- */

static int check_blueprint(int content_fd, struct error *err)
{
    struct stat status;
    cleanup_close int fd = beneath_open_file(content_fd, FILE_BLUEPRINT, &status, err);
    cleanup_buffer struct buffer bytes = {0};
    cleanup_json json_t *doc = NULL;

    if (fd < 0 && err->kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_INVALID, "%s not found in the root directory", FILE_BLUEPRINT);
    if (fd < 0)
        return -1;
    buffer_init(&bytes, BLUEPRINT_MAX_BYTES);
    if (file_read_all(fd, FILE_BLUEPRINT, &bytes, err) < 0)
        return -1;
    if (doc_parse_yaml(bytes.data ? bytes.data : "", bytes.size, BLUEPRINT_MAX_BYTES, &doc, err) <
        0)
        return error_wrap(err, "%s", FILE_BLUEPRINT);
    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "%s: expected an object", FILE_BLUEPRINT);
    if (kind_check(doc, LANDSCAPER_API_VERSION, KIND_BLUEPRINT, err) < 0)
        return error_wrap(err, "%s", FILE_BLUEPRINT);
    return 0;
}

void content_discard(int parent_fd)
{
    struct error ignored = {0};

    (void)!beneath_remove_tree(parent_fd, TEMPORARY_DIRECTORY, &ignored);
}

int content_publish(int parent_fd, const char *name, struct error *err)
{
    cleanup_close int fd = beneath_open_directory(parent_fd, TEMPORARY_DIRECTORY, err);

    if (fd < 0)
        return -1;
    if (check_blueprint(fd, err) < 0)
        return error_wrap(err, "blueprint");
    /* rename() replaces an empty directory. One that is not empty is of an earlier start of the pod
     * and has to be exchanged. */
    if (renameat(parent_fd, TEMPORARY_DIRECTORY, parent_fd, name) == 0)
        return 0;
    if ((errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) ||
        renameat2(parent_fd, TEMPORARY_DIRECTORY, parent_fd, name, RENAME_EXCHANGE) < 0)
        return error_set_errno(err, errno, "rename the blueprint directory to \"%s\"", name);
    return beneath_remove_tree(parent_fd, TEMPORARY_DIRECTORY, err);
}
