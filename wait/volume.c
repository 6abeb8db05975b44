/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"

enum { PATH_DEPTH_MAX = 128 };

static int clean_absolute(const char *path, char **ret_clean, struct error *err)
{
    if (path[0] != '/')
        return error_set(err, ERROR_INVALID, "\"%s\" is not an absolute path", path);
    if (beneath_clean_any_path(path + 1, PATH_DEPTH_MAX, ret_clean, err) < 0)
        return error_wrap(err, "path \"%s\"", path);
    if (!strchr(*ret_clean, '/')) {
        free(steal(ret_clean));
        return error_set(err, ERROR_INVALID, "\"%s\" must be below a subdirectory of '/'", path);
    }
    return 0;
}

/* Length of the longest common prefix of whole components that leaves at least one component of
 * each path; 0 if there is none. Both are normalized, as in "data/ls/shared/state". */
static size_t common_length(const char *a, const char *b)
{
    size_t length = 0;

    for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
        if (a[i] == '/')
            length = i;
    }
    return length;
}

static int open_place(const char *clean, size_t root_length, struct volume_place *ret_place,
                      struct error *err)
{
    cleanup_free char *root_path = xasprintf("/%.*s", (int)root_length, clean);
    int root_fd = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root_fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", root_path);
    ret_place->root_fd = root_fd;
    ret_place->root_path = steal(&root_path);
    ret_place->path = xstrdup(clean + root_length + 1);
    return 0;
}

static size_t parent_length(const char *clean, size_t length)
{
    const char *slash = memrchr(clean, '/', length);

    return slash ? (size_t)(slash - clean) : 0;
}

int volume_open(const char *state_path, const char *exports_path, struct volume *ret_volume,
                struct error *err)
{
    cleanup_free char *state = NULL;
    cleanup_free char *exports = NULL;
    struct volume volume = VOLUME_INIT;
    size_t state_root = 0;
    size_t exports_root = 0;

    if (clean_absolute(state_path, &state, err) < 0 ||
        clean_absolute(exports_path, &exports, err) < 0)
        return -1;
    state_root = exports_root = common_length(state, exports);
    if (!state_root) {
        /* Main may also replace the directory of the export file: use its parent, if any. */
        size_t directory = parent_length(exports, strlen(exports));

        state_root = parent_length(state, strlen(state));
        exports_root = parent_length(exports, directory);
        if (!exports_root)
            exports_root = directory;
    }
    if (open_place(state, state_root, &volume.state, err) < 0 ||
        open_place(exports, exports_root, &volume.exports, err) < 0) {
        volume_done(&volume);
        return -1;
    }
    *ret_volume = volume;
    return 0;
}

static void place_done(struct volume_place *place)
{
    closep(&place->root_fd);
    free(place->root_path);
    free(place->path);
}

void volume_done(struct volume *volume)
{
    place_done(&volume->state);
    place_done(&volume->exports);
    *volume = (struct volume)VOLUME_INIT;
}
