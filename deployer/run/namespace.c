/* SPDX-License-Identifier: Apache-2.0 */
/* One clone() creates all namespaces, so that the child is process 1 from its first instruction.
 * The child waits on a pipe until its ids are mapped. PR_SET_PDEATHSIG kills it when this process
 * dies.
 */
#include "deployer/run/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/magic.h>

#include "deployer/run/idmap.h"
#include "deployer/run/program.h"

static const char HYBRID_CGROUP2[] = "/sys/fs/cgroup/unified";

static bool is_cgroup2(const char *path)
{
    struct statfs info = {0};

    return statfs(path, &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
}

/* crun refuses to run on machines that mount cgroup2 below cgroup v1 ("hybrid mode"), so that mount
 * is hidden. In a user namespace, mounts of the machine cannot be unmounted, but covered. */
static void hide_hybrid_cgroup(bool has_user_namespace)
{
    if (!is_cgroup2(HYBRID_CGROUP2))
        return;
    if (has_user_namespace)
        (void)mount("tmpfs", HYBRID_CGROUP2, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k");
    else
        (void)umount2(HYBRID_CGROUP2, MNT_DETACH);
}

static int set_up_mounts(bool has_user_namespace, struct error *err)
{
    if (has_user_namespace && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
        return error_set_errno(err, errno, "become root of the run's user namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_set_errno(err, errno, "make the run's mounts private");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return error_set_errno(err, errno, "mount /proc for the run");
    hide_hybrid_cgroup(has_user_namespace);
    return 0;
}

/* The child; does not return. */
static void run_child(const struct namespace_options *options, bool has_user_namespace, int gate_fd)
{
    struct error err = {0};
    char opened = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!options->has_terminal)
        (void)setpgid(0, 0);
    /* If the parent died before prctl(), the pipe is at its end. */
    if (read(gate_fd, &opened, 1) != 1)
        _exit(1);
    (void)close(gate_fd);
    if (set_up_mounts(has_user_namespace, &err) < 0)
        _exit(options->main(options->data, &err));
    /* setresuid() has cleared the signal. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(options->main(options->data, NULL));
}

static int explain_clone(int os, bool has_user_namespace, struct error *err)
{
    if (has_user_namespace && (os == EPERM || os == ENOSPC || os == EUSERS))
        return error_set(
            err, ERROR_DENIED,
            "unprivileged users cannot create user namespaces on this machine (see sysctl "
            "kernel.unprivileged_userns_clone and user.max_user_namespaces, and AppArmor); run "
            "as root instead");
    return error_set_errno(err, os, "create namespaces");
}

static void forward(pid_t child, int signal_number, bool has_terminal)
{
    /* The terminal sends SIGINT to its whole foreground process group. */
    if (signal_number == SIGINT && has_terminal)
        return;
    (void)kill(child, signal_number);
}

static int await_child(pid_t child, const sigset_t *signals, bool has_terminal)
{
    int status = 0;

    for (;;) {
        int signal_number = sigwaitinfo(signals, NULL);

        if (signal_number == SIGCHLD) {
            if (waitpid(child, &status, WNOHANG) == child)
                return status;
        } else if (signal_number > 0) {
            forward(child, signal_number, has_terminal);
        }
    }
}

static pid_t clone_namespaces(bool has_user_namespace)
{
    unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | SIGCHLD;

    if (has_user_namespace)
        flags |= CLONE_NEWUSER;
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

int namespace_run(const struct namespace_options *options, int *ret_exit_code, struct error *err)
{
    bool has_user_namespace = geteuid() != 0;
    int gate[2] = {-1, -1};
    sigset_t signals;
    pid_t child = 0;
    int status = 0;
    int result = 0;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0 || pipe2(gate, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "prepare the namespaces");
    child = clone_namespaces(has_user_namespace);
    if (child == 0) {
        (void)close(gate[1]);
        run_child(options, has_user_namespace, gate[0]);
    }
    (void)close(gate[0]);
    if (child < 0) {
        result = explain_clone(errno, has_user_namespace, err);
    } else if (has_user_namespace && idmap_write(child, err) < 0) {
        result = -1;
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    } else {
        (void)!write(gate[1], "", 1);
        status = await_child(child, &signals, options->has_terminal);
        if (WIFSIGNALED(status))
            result =
                error_set(err, ERROR_INTERNAL, "the run was killed by signal %d", WTERMSIG(status));
        else
            *ret_exit_code = WEXITSTATUS(status);
    }
    (void)close(gate[1]);
    return result;
}
