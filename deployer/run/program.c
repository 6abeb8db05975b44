/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"

enum { MESSAGE_MAX = 600 };

/* ---- In the child, between fork and exec. Only async-signal-safe functions may be called. ---- */

static int become_pod_user(void)
{
    gid_t groups[] = {POD_FSGROUP_NUMBER, POD_GID_NUMBER};

    if (chdir("/") < 0 || setgroups(array_length(groups), groups) < 0 ||
        setresgid(POD_GID_NUMBER, POD_GID_NUMBER, POD_GID_NUMBER) < 0 ||
        setresuid(POD_UID_NUMBER, POD_UID_NUMBER, POD_UID_NUMBER) < 0)
        return -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int redirect(int fd, int number)
{
    if (fd == number)
        return fcntl(fd, F_SETFD, 0);
    return dup2(fd, number) < 0 ? -1 : 0;
}

static int arrange_fds(const struct program_spec *spec)
{
    int stdin_fd = spec->stdin_fd >= 0 ? spec->stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (stdin_fd < 0 || redirect(stdin_fd, STDIN_FILENO) < 0)
        return -1;
    if (spec->stdout_fd >= 0 && redirect(spec->stdout_fd, STDOUT_FILENO) < 0)
        return -1;
    if (spec->stderr_fd >= 0 && redirect(spec->stderr_fd, STDERR_FILENO) < 0)
        return -1;
    return spec->kept_fd >= 0 ? fcntl(spec->kept_fd, F_SETFD, 0) : 0;
}

static void exec_program(const struct program_spec *spec, int report_fd)
{
    sigset_t none;
    int os = 0;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (spec->has_own_group)
        (void)setsid();
    if (arrange_fds(spec) == 0 && (!spec->is_pod_user || become_pod_user() == 0)) {
        if (spec->environment)
            (void)execvpe(spec->argv[0], (char *const *)(uintptr_t)spec->argv,
                          (char *const *)(uintptr_t)spec->environment);
        else
            (void)execvp(spec->argv[0], (char *const *)(uintptr_t)spec->argv);
    }
    os = errno;
    (void)!write(report_fd, &os, sizeof(os));
    _exit(127);
}

/* ---- In the parent. ---- */

char *program_find(const char *name)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t length = strcspn(path, ":");
        cleanup_free char *file = xasprintf("%.*s/%s", (int)length, path, name);

        if (access(file, X_OK) == 0)
            return steal(&file);
        path += length + (path[length] == ':');
    }
    return NULL;
}

int program_start(const struct program_spec *spec, pid_t *ret_pid, struct error *err)
{
    int report[2] = {-1, -1};
    ssize_t size = 0;
    int os = 0;
    pid_t pid = 0;

    if (pipe2(report, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "start \"%s\": create a pipe", spec->argv[0]);
    pid = fork();
    if (pid == 0)
        exec_program(spec, report[1]);
    (void)close(report[1]);
    if (pid < 0) {
        os = errno;
        (void)close(report[0]);
        return error_set_errno(err, os, "start \"%s\": fork", spec->argv[0]);
    }
    do {
        size = read(report[0], &os, sizeof(os));
    } while (size < 0 && errno == EINTR);
    (void)close(report[0]);
    if (size == (ssize_t)sizeof(os)) {
        (void)waitpid(pid, NULL, 0);
        return error_set_errno(err, os, "start \"%s\"", spec->argv[0]);
    }
    *ret_pid = pid;
    return 0;
}

int program_exit_code(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 1;
}

static void read_message(int fd, char *message, size_t size)
{
    size_t used = 0;
    char rest[512];
    ssize_t count = 0;

    while (used < size - 1 && (count = read(fd, message + used, size - 1 - used)) > 0)
        used += (size_t)count;
    while (read(fd, rest, sizeof(rest)) > 0)
        continue; /* so that the program does not block on a full pipe */
    while (used > 0 && message[used - 1] == '\n')
        used--;
    message[used] = '\0';
}

int program_check(const char *const *argv, struct error *err)
{
    char message[MESSAGE_MAX] = {0};
    int output[2] = {-1, -1};
    struct program_spec spec = {.argv = argv, .stdin_fd = -1, .kept_fd = -1};
    pid_t pid = 0;
    int status = 0;
    int result = 0;

    if (pipe2(output, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "start \"%s\": create a pipe", argv[0]);
    spec.stdout_fd = output[1];
    spec.stderr_fd = output[1];
    result = program_start(&spec, &pid, err);
    (void)close(output[1]);
    if (result == 0) {
        read_message(output[0], message, sizeof(message));
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (program_exit_code(status) != 0)
            result = error_set(err, ERROR_INTERNAL, "%s failed with exit code %d: %s", argv[0],
                               program_exit_code(status), message);
    }
    (void)close(output[0]);
    return result;
}

/* ---- Reaper. ---- */

struct expected {
    pid_t pid;
    bool has_ended; /* before reaper_expect() was called */
    int status;
    reaper_fn *callback;
    void *data;
};

struct reaper {
    struct expected *rows;
    size_t count;
};

struct reaper *reaper_new(void)
{
    return xcalloc(1, sizeof(struct reaper));
}

void reaper_free(struct reaper *reaper)
{
    if (!reaper)
        return;
    free(reaper->rows);
    free(reaper);
}

static struct expected *find_row(struct reaper *reaper, pid_t pid)
{
    for (size_t i = 0; i < reaper->count; i++) {
        if (reaper->rows[i].pid == pid)
            return &reaper->rows[i];
    }
    reaper->rows = xreallocarray(reaper->rows, reaper->count + 1, sizeof(*reaper->rows));
    reaper->rows[reaper->count] = (struct expected){.pid = pid};
    return &reaper->rows[reaper->count++];
}

static void deliver(struct reaper *reaper, struct expected *row)
{
    struct expected ended = *row;

    *row = reaper->rows[--reaper->count];
    ended.callback(ended.data, ended.status);
}

void reaper_expect(struct reaper *reaper, pid_t pid, reaper_fn *callback, void *data)
{
    struct expected *row = find_row(reaper, pid);

    row->callback = callback;
    row->data = data;
    if (row->has_ended)
        deliver(reaper, row);
}

void reaper_collect(struct reaper *reaper)
{
    int status = 0;
    pid_t pid = 0;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct expected *row = find_row(reaper, pid);

        row->has_ended = true;
        row->status = status;
        if (row->callback)
            deliver(reaper, row);
    }
}

/* ---- Children. ---- */

static void on_child_end(void *data, int status)
{
    struct child *child = data;

    child->is_running = false;
    child->status = status;
}

void child_watch(struct child *child, struct reaper *reaper)
{
    child->is_running = true;
    reaper_expect(reaper, child->pid, on_child_end, child);
}

int child_await(const struct child *child, struct loop *loop, struct error *err)
{
    while (child->is_running) {
        if (loop_run_once(loop, -1, err) < 0)
            return -1;
    }
    return 0;
}
