/* SPDX-License-Identifier: Apache-2.0 */
/* A generation is adopted chunk by chunk by rename; the last rename makes it whole (a reader counts
 * chunks), and only then older ones go. So a crash at any point leaves the old or the new one
 * whole. */
#include "deployer/run/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/names.h"
#include "common/state/restore.h"

#define STATE_FOLDER "state"
#define RUN_FOLDER "run"
#define SINK_STATE RUN_FOLDER "/sink/state"

struct workspace {
    char *path, *run_path;
    int fd, lock_fd, state_fd;
};

static char *default_path(const char *namespace_name, const char *name)
{
    cleanup_free char *folder = name_make(namespace_name, name, "", NAME_MAX_LABEL);
    const char *state_home = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (state_home && *state_home == '/')
        return xasprintf("%s/longshore/%s", state_home, folder);
    return xasprintf("%s/.local/state/longshore/%s", home ? home : "/root", folder);
}

/* mkdir -p below a directory that is the user's own: symlinks on the way are the user's, too. */
static int make_path(const char *path, struct error *err)
{
    cleanup_free char *copy = xstrdup(path);

    for (char *slash = copy + 1;; slash++) {
        char was = *slash;

        if (was != '/' && was != '\0')
            continue;
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "make directory '%s'", copy);
        *slash = was;
        if (was == '\0')
            return 0;
    }
}

static int lock(struct workspace *workspace, struct error *err)
{
    workspace->lock_fd = openat(workspace->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (workspace->lock_fd < 0)
        return error_set_errno(err, errno, "open the lock of '%s'", workspace->path);
    if (flock(workspace->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return error_set(
            err, ERROR_CONFLICT,
            "another run of this item is under way in '%s'; wait for it, or give this one "
            "a state directory of its own (--state DIR)",
            workspace->path);
    return error_set_errno(err, errno, "lock '%s'", workspace->path);
}

int workspace_open(const char *path, const char *namespace_name, const char *name,
                   struct workspace **ret_workspace, struct error *err)
{
    struct workspace *workspace = xcalloc(1, sizeof(*workspace));
    cleanup_free char *wanted = path ? xstrdup(path) : default_path(namespace_name, name);
    int result = make_path(wanted, err);

    workspace->fd = workspace->lock_fd = workspace->state_fd = -1;
    if (result == 0) {
        workspace->path = realpath(wanted, NULL);
        workspace->fd = open(wanted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!workspace->path || workspace->fd < 0)
            result = error_set_errno(err, errno, "open '%s'", wanted);
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

int workspace_state_fd(const struct workspace *workspace)
{
    return workspace->state_fd;
}

/* As a kubelet makes an emptyDir for fsGroup 2000: everybody may write, new files get the group. */
static int make_volume(int run_fd, const char *path, struct error *err)
{
    cleanup_close int fd = beneath_make_directories(run_fd, path, err);

    if (fd < 0)
        return -1;
    if (fchown(fd, 0, POD_FSGROUP_NUMBER) < 0 || fchmod(fd, 02777) < 0)
        return error_set_errno(err, errno, "prepare '%s' for the pod's user", path);
    return 0;
}

static int make_sink(int run_fd, struct error *err)
{
    cleanup_close int fd = beneath_make_directories(run_fd, "sink", err);

    if (fd < 0)
        return -1;
    if (fchown(fd, POD_UID_NUMBER, POD_GID_NUMBER) < 0 || fchmod(fd, 0700) < 0)
        return error_set_errno(err, errno, "prepare the sink for the pod's user");
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
            return error_set_errno(err, errno, "make '%s/%s'", workspace->run_path, folders[i]);
    }
    return make_volume(run_fd, "ls/shared", err) < 0 ? -1 : make_sink(run_fd, err);
}

/* ---- Adopting what wait delivered. ---- */

static int adopt_chunk(struct workspace *workspace, int generation_fd, const char *generation,
                       const char *number, struct error *err)
{
    cleanup_free char *name = xasprintf("%s-%s", generation, number);
    static const char *const files[] = {"config", "metadata.json"};

    for (size_t i = 0; i < array_length(files); i++) {
        cleanup_free char *path = xasprintf("%s/%s", number, files[i]);

        /* The user must be able to remove what is the user's: no ids of the namespace stay behind.
         */
        if (fchownat(generation_fd, path, 0, 0, AT_SYMLINK_NOFOLLOW) < 0)
            return error_set_errno(err, errno, "take over '%s'", path);
    }
    if (fchownat(generation_fd, number, 0, 0, AT_SYMLINK_NOFOLLOW) < 0 ||
        renameat(generation_fd, number, workspace->state_fd, name) < 0)
        return error_set_errno(err, errno, "keep state '%s'", name);
    return 0;
}

/* Chunk directories are "0", "1", ...; 0 goes last, as in a cluster. */
static int adopt_generation(struct workspace *workspace, const char *generation, struct error *err)
{
    cleanup_free char *path = xasprintf(SINK_STATE "/%s", generation);
    cleanup_close int fd = beneath_open_directory(workspace->fd, path, err);
    struct stat info = {0};

    if (fd < 0)
        return -1;
    for (long number = 1; number >= 0;) {
        cleanup_free char *text = xasprintf("%ld", number);

        if (fstatat(fd, text, &info, AT_SYMLINK_NOFOLLOW) < 0) {
            if (number == 0)
                return 0;
            number = 0;
            continue;
        }
        if (adopt_chunk(workspace, fd, generation, text, err) < 0)
            return -1;
        number = number == 0 ? -1 : number + 1;
    }
    return 0;
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
    int fd = openat(workspace->fd, SINK_STATE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;
    int result = 0;

    /* Names with a dot in front are still being written. */
    while (result == 0 && directory && (entry = readdir(directory))) {
        if (entry->d_name[0] != '.')
            result = adopt_generation(workspace, entry->d_name, err);
    }
    if (directory)
        (void)closedir(directory);
    if (result == 0 && fsync(workspace->state_fd) < 0)
        result = error_set_errno(err, errno, "keep the state");
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

int workspace_state_size(struct workspace *workspace, uint64_t *ret_bytes, struct error *err)
{
    struct state_set set = {0};
    const struct state_generation *newest = NULL;
    uint64_t bytes = 0;

    if (state_set_add_directory(&set, workspace->state_fd, err) < 0)
        return -1;
    state_set_arrange(&set);
    newest = state_set_newest(&set);
    for (size_t i = 0; newest && i < newest->chunk_count; i++) {
        cleanup_free char *path = xasprintf("%s/config", newest->chunks[i]->object);
        struct stat info = {0};

        if (fstatat(workspace->state_fd, path, &info, 0) == 0)
            bytes += (uint64_t)info.st_size;
    }
    state_set_done(&set);
    *ret_bytes = bytes;
    return 0;
}
