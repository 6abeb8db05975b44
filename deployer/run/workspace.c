/* SPDX-License-Identifier: Apache-2.0 */
/* A generation is adopted by renaming its chunks one by one; it is complete after the last rename,
 * because readers count chunks. Older generations are removed only then. So a crash at any point
 * leaves at least one complete generation. */
#include "deployer/run/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/state/restore.h"
#include "deployer/run/object_list.h"

#define STATE_FOLDER "state"
#define RUN_FOLDER "run"
#define ORIGIN_FILE "origin"
#define SINK_STATE RUN_FOLDER "/sink/state"

struct workspace {
    char *path, *run_path;
    int fd, lock_fd, state_fd;
};

char *workspace_default_path(const char *namespace_name, const char *name)
{
    cleanup_free char *folder = name_make(namespace_name, name, "", NAME_MAX_LABEL);
    const char *state_home = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (state_home && *state_home == '/')
        return xasprintf("%s/longshore/%s", state_home, folder);
    return xasprintf("%s/.local/state/longshore/%s", home ? home : "/root", folder);
}

static int lock(struct workspace *workspace, struct error *err)
{
    workspace->lock_fd = openat(workspace->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (workspace->lock_fd < 0)
        return error_set_errno(err, errno, "open the lock file in \"%s\"", workspace->path);
    if (flock(workspace->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return error_set(
            err, ERROR_CONFLICT,
            "another run of this item is in progress in \"%s\"; wait for it, or use a separate "
            "state directory (--state DIR)",
            workspace->path);
    return error_set_errno(err, errno, "lock \"%s\"", workspace->path);
}

int workspace_open(const char *path, const char *namespace_name, const char *name,
                   struct workspace **ret_workspace, struct error *err)
{
    struct workspace *workspace = xcalloc(1, sizeof(*workspace));
    cleanup_free char *wanted = path ? xstrdup(path) : workspace_default_path(namespace_name, name);
    int result = file_make_directories(wanted, 0700, err);

    workspace->fd = workspace->lock_fd = workspace->state_fd = -1;
    if (result == 0) {
        workspace->path = realpath(wanted, NULL);
        workspace->fd = open(wanted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!workspace->path || workspace->fd < 0)
            result = error_set_errno(err, errno, "open \"%s\"", wanted);
    }
    if (result == 0) {
        workspace->run_path = xasprintf("%s/" RUN_FOLDER, workspace->path);
        result = lock(workspace, err);
    }
    if (result == 0) {
        workspace->state_fd = beneath_make_directories(workspace->fd, STATE_FOLDER, err);
        result = workspace->state_fd < 0 ? -1 : workspace_adopt(workspace, 2, err);
    }
    if (result < 0) {
        workspace_close(workspace, true);
        return error_wrap(err, "state directory");
    }
    *ret_workspace = workspace;
    return 0;
}

void workspace_close(struct workspace *workspace, bool is_run_kept)
{
    struct error ignored = {0};

    if (!workspace)
        return;
    if (!is_run_kept && workspace->fd >= 0)
        (void)!beneath_remove_tree(workspace->fd, RUN_FOLDER, &ignored);
    if (workspace->state_fd >= 0)
        (void)close(workspace->state_fd);
    if (workspace->lock_fd >= 0)
        (void)close(workspace->lock_fd);
    if (workspace->fd >= 0)
        (void)close(workspace->fd);
    free(workspace->path);
    free(workspace->run_path);
    free(workspace);
}

const char *workspace_path(const struct workspace *workspace)
{
    return workspace->path;
}

const char *workspace_run_path(const struct workspace *workspace)
{
    return workspace->run_path;
}

int workspace_fd(const struct workspace *workspace)
{
    return workspace->fd;
}

int workspace_state_fd(const struct workspace *workspace)
{
    return workspace->state_fd;
}

static bool has_state(const struct workspace *workspace)
{
    struct state_set set = {0};
    struct error ignored = {0};
    bool is_found = (state_set_add_directory(&set, workspace->state_fd, &ignored) == 0 &&
                     set.chunk_count > 0) ||
                    object_list_count(workspace->fd, NULL) > 0;

    state_set_done(&set);
    return is_found;
}

void workspace_remember_origin(struct workspace *workspace, const char *path, char **ret_previous)
{
    cleanup_free char *file = xasprintf("%s/" ORIGIN_FILE, workspace->path);
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    bool is_known = false;

    *ret_previous = NULL;
    buffer_init(&text, PATH_MAX);
    is_known = doc_read_file(file, PATH_MAX, &text, &ignored) == 0 && text.size > 0;
    if (is_known && strcmp(text.data, path) != 0 && has_state(workspace))
        *ret_previous = buffer_take(&text);
    else if (is_known && strcmp(text.data, path) == 0)
        return;
    (void)!beneath_write_file(workspace->fd, ORIGIN_FILE, path, strlen(path), 0600, &ignored);
}

/* As a kubelet creates an emptyDir for an fsGroup: writable for all, new files get the group. */
static int make_volume(int run_fd, const char *path, struct error *err)
{
    cleanup_close int fd = beneath_make_directories(run_fd, path, err);

    if (fd < 0)
        return -1;
    if (fchown(fd, 0, POD_FSGROUP_NUMBER) < 0 || fchmod(fd, 02777) < 0)
        return error_set_errno(err, errno, "set owner and mode of \"%s\"", path);
    return 0;
}

static int make_sink(int run_fd, struct error *err)
{
    cleanup_close int fd = beneath_make_directories(run_fd, "sink", err);

    if (fd < 0)
        return -1;
    if (fchown(fd, POD_UID_NUMBER, POD_GID_NUMBER) < 0 || fchmod(fd, 0700) < 0)
        return error_set_errno(err, errno, "set owner and mode of the sink directory");
    return 0;
}

int workspace_begin(struct workspace *workspace, struct error *err)
{
    static const char *const folders[] = {"bundle", "upper", "work", "root", "runtime"};
    cleanup_close int run_fd = -1;

    if (beneath_remove_tree(workspace->fd, RUN_FOLDER, err) < 0)
        return -1;
    run_fd = beneath_make_directories(workspace->fd, RUN_FOLDER, err);
    if (run_fd < 0)
        return -1;
    for (size_t i = 0; i < array_length(folders); i++) {
        if (mkdirat(run_fd, folders[i], 0755) < 0)
            return error_set_errno(err, errno, "create \"%s/%s\"", workspace->run_path, folders[i]);
    }
    return make_volume(run_fd, "ls/shared", err) < 0 ? -1 : make_sink(run_fd, err);
}

/* ---- Adopting the state that wait delivered. ---- */

static int adopt_chunk(struct workspace *workspace, int generation_fd, const char *generation,
                       const char *number, struct error *err)
{
    cleanup_free char *name = xasprintf("%s-%s", generation, number);
    static const char *const files[] = {"config", "metadata.json"};

    for (size_t i = 0; i < array_length(files); i++) {
        cleanup_free char *path = xasprintf("%s/%s", number, files[i]);

        /* So that the user can remove the files: no file may keep a subordinate id as its owner. */
        if (fchownat(generation_fd, path, 0, 0, AT_SYMLINK_NOFOLLOW) < 0)
            return error_set_errno(err, errno, "change the owner of \"%s\"", path);
    }
    if (fchownat(generation_fd, number, 0, 0, AT_SYMLINK_NOFOLLOW) < 0 ||
        renameat(generation_fd, number, workspace->state_fd, name) < 0)
        return error_set_errno(err, errno, "store state \"%s\"", name);
    return 0;
}

/* Calls take for every entry of a directory whose name has no leading dot. A missing directory has
 * no entries; any other failure to open or read it is an error. */
static int for_each_entry(int parent_fd, const char *path,
                          int (*take)(void *data, const char *name, struct error *err), void *data,
                          struct error *err)
{
    cleanup_close int fd = openat(parent_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = NULL;
    const struct dirent *entry = NULL;
    int result = 0;

    if (fd < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "open \"%s\"", path);
    directory = fdopendir(fd);
    if (!directory)
        return error_set_errno(err, errno, "read \"%s\"", path);
    (void)steal_fd(&fd); /* owned by the stream */
    while (result == 0 && (errno = 0, entry = readdir(directory))) {
        if (entry->d_name[0] != '.')
            result = take(data, entry->d_name, err);
    }
    if (result == 0 && errno != 0)
        result = error_set_errno(err, errno, "read \"%s\"", path);
    (void)closedir(directory);
    return result;
}

struct adoption {
    struct workspace *workspace;
    const char *generation;
    int generation_fd;
    bool has_first; /* chunk 0 */
};

static int take_chunk(void *data, const char *name, struct error *err)
{
    struct adoption *adoption = data;

    if (strcmp(name, "0") == 0) {
        adoption->has_first = true;
        return 0;
    }
    return adopt_chunk(adoption->workspace, adoption->generation_fd, adoption->generation, name,
                       err);
}

/* Chunk directories are "0", "1", ...; 0 goes last, as in a cluster. An adoption that was cut off
 * has moved some of them already, so the numbers may have gaps. */
static int take_generation(void *data, const char *name, struct error *err)
{
    struct workspace *workspace = data;
    cleanup_free char *path = xasprintf(SINK_STATE "/%s", name);
    cleanup_close int fd = beneath_open_directory(workspace->fd, path, err);
    struct adoption adoption = {.workspace = workspace, .generation = name, .generation_fd = fd};

    if (fd < 0 || for_each_entry(fd, ".", take_chunk, &adoption, err) < 0)
        return -1;
    return adoption.has_first ? adopt_chunk(workspace, fd, name, "0", err) : 0;
}

static int remove_garbage(struct workspace *workspace, size_t keep, struct error *err)
{
    struct state_set set = {0};
    cleanup_free const char **names = NULL;
    size_t count = 0;
    int result = state_set_add_directory(&set, workspace->state_fd, err);

    if (result == 0) {
        state_set_arrange(&set);
        count = state_set_garbage(&set, keep, true, &names);
    }
    for (size_t i = 0; result == 0 && i < count; i++)
        result = beneath_remove_tree(workspace->state_fd, names[i], err);
    state_set_done(&set);
    return result;
}

int workspace_adopt(struct workspace *workspace, size_t keep, struct error *err)
{
    int result = for_each_entry(workspace->fd, SINK_STATE, take_generation, workspace, err);

    if (result == 0 && fsync(workspace->state_fd) < 0)
        result = error_set_errno(err, errno, "sync the state directory");
    return result == 0 ? remove_garbage(workspace, keep, err) : -1;
}

int workspace_forget(struct workspace *workspace, struct error *err)
{
    struct state_set set = {0};
    int result = state_set_add_directory(&set, workspace->state_fd, err);

    for (size_t i = 0; result == 0 && i < set.chunk_count; i++)
        result = beneath_remove_tree(workspace->state_fd, set.chunks[i].object, err);
    state_set_done(&set);
    return result;
}
