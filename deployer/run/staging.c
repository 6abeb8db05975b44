/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/run/program.h"

#define STAGING_ROOT "/mnt"
#define STAGING_FOLDER STAGING_ROOT "/longshore"

static int open_program(const char *directory, const char *folder, const char *name)
{
    cleanup_free char *path = xasprintf("%s%s/%s", directory, folder, name);

    return open(path, O_PATH | O_CLOEXEC);
}

static int find_program(const char *name, const char *build_folder, struct error *err)
{
    char self[PATH_MAX] = {0};
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = size > 0 ? strrchr(self, '/') : NULL;
    cleanup_free char *path = NULL;
    int fd = -1;

    if (slash) {
        *slash = '\0';
        fd = open_program(self, "", name);
        if (fd < 0)
            fd = open_program(self, build_folder, name);
    }
    if (fd < 0 && (path = program_find(name)))
        fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "program \"%s\" not found beside longshore or in PATH; install both "
                         "together",
                         name);
    return fd;
}

/* By descriptor, because the source may be below STAGING_ROOT, which is covered by now. */
static int bind_fd(int fd, const char *target, bool is_directory, struct error *err)
{
    cleanup_free char *source = xasprintf("/proc/self/fd/%d", fd);
    int created =
        is_directory ? mkdir(target, 0755) : open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

    if (created < 0)
        return error_set_errno(err, errno, "create \"%s\"", target);
    if (!is_directory)
        (void)close(created);
    if (mount(source, target, NULL, MS_BIND, NULL) < 0)
        return error_set_errno(err, errno, "mount \"%s\"", target);
    return 0;
}

int staging_mount(const char *run_path, struct error *err)
{
    cleanup_close int run_fd = open(run_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int init_fd = -1;
    cleanup_close int wait_fd = -1;

    if (run_fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", run_path);
    init_fd = find_program("longshore-init", "/../init", err);
    if (init_fd < 0)
        return -1;
    wait_fd = find_program("longshore-wait", "/../wait", err);
    if (wait_fd < 0)
        return -1;
    if (mount("tmpfs", STAGING_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") < 0)
        return error_set_errno(err, errno, "mount \"%s\"", STAGING_ROOT);
    if (mkdir(STAGING_FOLDER, 0755) < 0)
        return error_set_errno(err, errno, "create \"%s\"", STAGING_FOLDER);
    if (bind_fd(run_fd, STAGING_RUN, true, err) < 0 ||
        bind_fd(init_fd, STAGING_INIT, false, err) < 0)
        return -1;
    return bind_fd(wait_fd, STAGING_WAIT, false, err);
}

static int mount_overlay(const char *lower, const char *upper_parent, const char *target,
                         bool has_user_namespace)
{
    cleanup_free char *options =
        xasprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work%s", lower, upper_parent,
                  upper_parent, has_user_namespace ? ",userxattr" : "");

    return mount("overlay", target, "overlay", MS_NODEV, options);
}

/* Creates the parents of the run's mount points with mode 0755, as containerd does; crun would make
 * them sticky. If the image has something else there, the runtime reports it. */
static void make_mount_parents(const char *root)
{
    const char *path = PATH_BASE "/";
    cleanup_close int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct error ignored = {0};

    for (const char *end = strchr(path + 1, '/'); root_fd >= 0 && end; end = strchr(end + 1, '/')) {
        cleanup_free char *step = xstrndup(path + 1, (size_t)(end - path - 1));
        cleanup_close int there = beneath_open_directory(root_fd, step, &ignored);
        cleanup_close int made = there < 0 ? beneath_make_directories(root_fd, step, &ignored) : -1;

        if (made >= 0)
            (void)fchmod(made, 0755);
    }
}

int staging_mount_root(const char *image_root, const char *run_path, bool has_user_namespace,
                       struct error *err)
{
    cleanup_free char *target = xasprintf("%s/root", run_path);
    cleanup_free char *memory = xasprintf("%s/work", run_path);
    cleanup_free char *upper = xasprintf("%s/work/upper", run_path);
    cleanup_free char *work = xasprintf("%s/work/work", run_path);

    if (strchr(image_root, ',') || strchr(image_root, ':') || strchr(run_path, ','))
        return error_set(err, ERROR_INVALID,
                         "cannot mount \"%s\" as an overlay: the path contains a comma or a colon",
                         image_root);
    if (mount_overlay(image_root, run_path, target, has_user_namespace) == 0) {
        make_mount_parents(target);
        return 0;
    }
    if (mount("tmpfs", memory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0 ||
        mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0 ||
        mount_overlay(image_root, memory, target, has_user_namespace) < 0)
        return error_set_errno(
            err, errno, "mount an overlay of \"%s\" (the kernel must support overlayfs%s)",
            image_root, has_user_namespace ? " for unprivileged users: Linux 5.11 or newer" : "");
    make_mount_parents(target);
    return 0;
}

void staging_unmount(const char *run_path)
{
    cleanup_free char *root = xasprintf("%s/root", run_path);
    cleanup_free char *memory = xasprintf("%s/work", run_path);

    (void)umount2(root, MNT_DETACH);
    (void)umount2(memory, MNT_DETACH);
    (void)umount2(STAGING_ROOT, MNT_DETACH);
}
