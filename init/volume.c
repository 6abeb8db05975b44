/* SPDX-License-Identifier: Apache-2.0 */
#include "init/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"

#define DIRECTORY_WORK ".longshore-init"

enum { OUTPUT_COUNT = 6 };

static size_t parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) : 0;
}

static void list_outputs(const struct options *options, const char *ret_paths[OUTPUT_COUNT])
{
    ret_paths[0] = options->imports_path;
    ret_paths[1] = options->exports_path;
    ret_paths[2] = options->component_descriptor_path;
    ret_paths[3] = options->target_path;
    ret_paths[4] = options->content_path;
    ret_paths[5] = options->state_path;
}

/* The length of the deepest directory that contains all outputs. */
static size_t common_length(const char *const paths[OUTPUT_COUNT])
{
    size_t length = parent_length(paths[0]);

    for (size_t i = 1; i < OUTPUT_COUNT; i++) {
        size_t limit = parent_length(paths[i]);

        if (length > limit)
            length = limit;
        while (length > 0 && (strncmp(paths[0], paths[i], length) != 0 || paths[0][length] != '/' ||
                              paths[i][length] != '/'))
            length--;
    }
    return length;
}

/* path relative to root. Borrowed from path. */
static const char *relative_to_root(const struct volume *volume, const char *path)
{
    return path + strlen(volume->root) + 1;
}

int volume_open_parent(const struct volume *volume, const char *path, const char **ret_name,
                       struct error *err)
{
    const char *relative = relative_to_root(volume, path);
    cleanup_free char *parent = xstrndup(relative, parent_length(relative));
    const char *slash = strrchr(path, '/');
    int fd = beneath_make_directories(volume->root_fd, parent, err);

    if (fd < 0)
        return error_wrap(err, "\"%s\"", path);
    *ret_name = slash + 1;
    return fd;
}

static int make_outputs(const struct options *options, const struct volume *volume,
                        struct error *err)
{
    const char *const directories[] = {options->content_path, options->state_path};
    const char *paths[OUTPUT_COUNT];
    const char *name = NULL;

    list_outputs(options, paths);
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        cleanup_close int fd = -1;

        if (!*(strrchr(paths[i], '/') + 1))
            return error_set(err, ERROR_INVALID, "output path \"%s\" ends with a slash", paths[i]);
        fd = volume_open_parent(volume, paths[i], &name, err);
        if (fd < 0)
            return -1;
    }
    for (size_t i = 0; i < array_length(directories); i++) {
        cleanup_close int fd = beneath_make_directories(
            volume->root_fd, relative_to_root(volume, directories[i]), err);

        if (fd < 0)
            return error_wrap(err, "\"%s\"", directories[i]);
    }
    return 0;
}

/* Next to the content, hence on the volume that has the space for a blueprint. */
static int make_workspace(const struct options *options, struct volume *volume, struct error *err)
{
    const char *relative = relative_to_root(volume, options->content_path);
    size_t length = parent_length(relative);
    cleanup_free char *work =
        xasprintf("%.*s%s%s", (int)length, relative, length > 0 ? "/" : "", DIRECTORY_WORK);

    if (beneath_remove_tree(volume->root_fd, work, err) < 0)
        return -1;
    volume->work_fd = beneath_make_directories(volume->root_fd, work, err);
    if (volume->work_fd < 0)
        return -1;
    volume->work_path = steal(&work);
    return 0;
}

int volume_open(const struct options *options, struct volume *ret_volume, struct error *err)
{
    cleanup_volume struct volume volume = {.root_fd = -1, .work_fd = -1};
    const char *paths[OUTPUT_COUNT];

    list_outputs(options, paths);
    volume.root = xstrndup(paths[0], common_length(paths));
    if (!*volume.root)
        return error_set(err, ERROR_INVALID,
                         "environment: the output paths have no common parent directory");
    /* Its path is given by the controller, so that symlinks in it may be followed. */
    if (file_make_directories(volume.root, 0777, err) < 0)
        return -1;
    volume.root_fd = open(volume.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (volume.root_fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", volume.root);
    if (make_outputs(options, &volume, err) < 0 || make_workspace(options, &volume, err) < 0)
        return -1;
    *ret_volume = volume;
    volume = (struct volume){.root_fd = -1, .work_fd = -1};
    return 0;
}

void volume_done(struct volume *volume)
{
    struct error ignored = {0};

    if (volume->work_fd >= 0) {
        (void)close(volume->work_fd);
        (void)!beneath_remove_tree(volume->root_fd, volume->work_path, &ignored);
    }
    if (volume->root_fd >= 0)
        (void)close(volume->root_fd);
    free(volume->root);
    free(volume->work_path);
    *volume = (struct volume){.root_fd = -1, .work_fd = -1};
}

int volume_write(const struct volume *volume, const char *path, const void *data, size_t size,
                 struct error *err)
{
    if (beneath_write_file(volume->root_fd, relative_to_root(volume, path), data, size, 0666, err) <
        0)
        return error_wrap(err, "write \"%s\"", path);
    return 0;
}

int volume_file_begin(const struct volume *volume, const char *path, struct volume_file *ret_file,
                      struct error *err)
{
    struct volume_file file = {.fd = -1};

    file.parent_fd = volume_open_parent(volume, path, &file.name, err);
    if (file.parent_fd < 0)
        return -1;
    file.temporary_name = xasprintf(".longshore-init.%s", file.name);
    file.fd = beneath_create_file(file.parent_fd, file.temporary_name, 0666, err);
    if (file.fd < 0) {
        volume_file_done(&file);
        return error_wrap(err, "write \"%s\"", path);
    }
    *ret_file = file;
    return 0;
}

int volume_file_publish(struct volume_file *file, struct error *err)
{
    if (close(steal_fd(&file->fd)) < 0 ||
        renameat(file->parent_fd, file->temporary_name, file->parent_fd, file->name) < 0)
        return error_set_errno(err, errno, "write \"%s\"", file->name);
    free(file->temporary_name);
    file->temporary_name = NULL;
    return 0;
}

void volume_file_done(struct volume_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    if (file->temporary_name)
        (void)unlinkat(file->parent_fd, file->temporary_name, 0);
    if (file->parent_fd >= 0)
        (void)close(file->parent_fd);
    free(file->temporary_name);
    *file = (struct volume_file){.fd = -1, .parent_fd = -1};
}
