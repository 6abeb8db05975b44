/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/tests/fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/tests/descriptors.h"

static struct {
    const char *function;
    unsigned left;
    int error;
    bool is_permanent, has_occurred;
    bool has_stream_failed; /* so that ferror() reports it */
    void (*callback)(void *data);
    void *data;
} armed;

static struct {
    const char *function; /* NULL: none */
    unsigned nth;
    int error;
} next;

void fault_arm(const char *function, unsigned nth, int error)
{
    armed.function = function;
    armed.left = nth;
    armed.error = error;
    armed.is_permanent = armed.has_occurred = armed.has_stream_failed = false;
    armed.callback = NULL;
    next.function = NULL;
}

void fault_arm_permanently(const char *function, unsigned nth, int error)
{
    fault_arm(function, nth, error);
    armed.is_permanent = true;
}

void fault_then(const char *function, unsigned nth, int error)
{
    next.function = function;
    next.nth = nth;
    next.error = error;
}

void fault_call_before(const char *function, unsigned nth, void (*callback)(void *data), void *data)
{
    fault_arm(function, nth, 0);
    armed.callback = callback;
    armed.data = data;
}

bool fault_disarm(void)
{
    armed.function = NULL;
    armed.has_stream_failed = false;
    return armed.has_occurred;
}

int fault_error(void)
{
    return armed.error;
}

bool fault_occurs(const char *function)
{
    if (!armed.function || strcmp(function, armed.function) != 0 || --armed.left > 0)
        return false;
    if (armed.is_permanent)
        armed.left = 1;
    else
        armed.function = NULL;
    armed.has_occurred = true;
    if (armed.callback) {
        armed.callback(armed.data);
        return false;
    }
    errno = armed.error;
    if (next.function)
        fault_arm(next.function, next.nth, next.error);
    return true;
}

/* ---- the wrapped functions ---- */

/* NOLINTBEGIN(bugprone-reserved-identifier): the names are those of --wrap. */
#define WRAP(type_, failed_, name_, parameters_, arguments_)                                       \
    type_ __real_##name_ parameters_;                                                              \
    type_ __wrap_##name_ parameters_;                                                              \
    type_ __wrap_##name_ parameters_                                                               \
    {                                                                                              \
        return fault_occurs(#name_) ? (failed_) : __real_##name_ arguments_;                       \
    }

WRAP(ssize_t, -1, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
WRAP(ssize_t, -1, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
WRAP(int, -1, fstat, (int fd, struct stat *found), (fd, found))
WRAP(int, -1, fstatat, (int fd, const char *path, struct stat *found, int flags),
     (fd, path, found, flags))
WRAP(int, -1, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(int, -1, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(int, -1, renameat, (int old_fd, const char *old_path, int new_fd, const char *new_path),
     (old_fd, old_path, new_fd, new_path))
WRAP(int, -1, linkat,
     (int old_fd, const char *old_path, int new_fd, const char *new_path, int flags),
     (old_fd, old_path, new_fd, new_path, flags))
WRAP(int, -1, symlinkat, (const char *target, int fd, const char *path), (target, fd, path))
WRAP(ssize_t, -1, readlinkat, (int fd, const char *path, char *target, size_t size),
     (fd, path, target, size))
WRAP(int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, -1, fchmodat, (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags))
WRAP(int, -1, futimens, (int fd, const struct timespec times[2]), (fd, times))
WRAP(int, -1, utimensat, (int fd, const char *path, const struct timespec times[2], int flags),
     (fd, path, times, flags))
WRAP(DIR *, NULL, fdopendir, (int fd), (fd))
WRAP(struct dirent *, NULL, readdir, (DIR * directory), (directory))
WRAP(int, -1, dup, (int fd), (fd))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int fd, int operation, int other, struct epoll_event *event),
     (fd, operation, other, event))
WRAP(int, -1, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout),
     (fd, events, max, timeout))
WRAP(int, -1, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
WRAP(int, -1, sigprocmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
WRAP(ssize_t, -1, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags))
WRAP(ssize_t, -1, pwrite, (int fd, const void *bytes, size_t size, off_t offset),
     (fd, bytes, size, offset))
WRAP(off_t, -1, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
WRAP(int, -1, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, -1, renameat2,
     (int old_fd, const char *old_path, int new_fd, const char *new_path, unsigned flags),
     (old_fd, old_path, new_fd, new_path, flags))
WRAP(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))

size_t __real_fread(void *bytes, size_t size, size_t count, FILE *file);
size_t __wrap_fread(void *bytes, size_t size, size_t count, FILE *file);
size_t __wrap_fread(void *bytes, size_t size, size_t count, FILE *file)
{
    if (!fault_occurs("fread"))
        return __real_fread(bytes, size, count, file);
    armed.has_stream_failed = true;
    return 0;
}

int __real_ferror(FILE *file);
int __wrap_ferror(FILE *file);
int __wrap_ferror(FILE *file)
{
    return armed.has_stream_failed || __real_ferror(file);
}

/* The mode of open(), if its flags require one. */
static mode_t mode_of(int flags, va_list arguments)
{
    bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;

    return has_mode ? va_arg(arguments, mode_t) : 0;
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    mode = mode_of(flags, arguments);
    va_end(arguments);
    return fault_occurs("open") ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    mode = mode_of(flags, arguments);
    va_end(arguments);
    return fault_occurs("openat") ? -1 : __real_openat(fd, path, flags, mode);
}

/* With one argument, as for F_DUPFD_CLOEXEC. */
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;
    long value = 0;

    va_start(arguments, command);
    value = va_arg(arguments, long);
    va_end(arguments);
    return fault_occurs("fcntl") ? -1 : __real_fcntl(fd, command, value);
}

/* The code under test uses syscall() only for openat2, which has four arguments. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long values[4] = {0};
    va_list arguments;

    assert_int_equal(number, SYS_openat2);
    va_start(arguments, number);
    for (size_t i = 0; i < array_length(values); i++)
        values[i] = va_arg(arguments, long);
    va_end(arguments);
    if (fault_occurs("syscall"))
        return -1;
    return __real_syscall(number, values[0], values[1], values[2], values[3]);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- the sweep ---- */

enum { ERRORS_MAX = 4, CALLS_MAX = 10000 };

static const struct {
    const char *name;
    int errors[ERRORS_MAX]; /* up to the first 0 */
} functions[] = {
    {"open", {EMFILE, EACCES}},
    {"openat", {EMFILE, ELOOP, ENOSPC}},
    {"syscall", {EMFILE, ENOSYS, EXDEV, EAGAIN}},
    {"read", {EIO, EINTR}},
    {"write", {ENOSPC, EROFS, EINTR}},
    {"fstat", {EIO}},
    {"fstatat", {EIO, EACCES}},
    {"unlinkat", {EROFS, EISDIR}},
    {"mkdirat", {ENOSPC, EROFS}},
    {"renameat", {EROFS, EACCES}},
    {"linkat", {EMLINK, EEXIST}},
    {"symlinkat", {ENOSPC, EEXIST}},
    {"readlinkat", {EIO, ENOENT}},
    {"fchmod", {EPERM}},
    {"fchmodat", {EPERM}},
    {"futimens", {EPERM}},
    {"utimensat", {EPERM}},
    {"fdopendir", {ENOMEM}},
    {"readdir", {EIO}},
    {"dup", {EMFILE}},
    {"epoll_create1", {EMFILE}},
    {"epoll_ctl", {ENOSPC}},
    {"epoll_wait", {EBADF, EINTR}},
    {"signalfd", {EMFILE}},
    {"sigprocmask", {EINVAL}},
    {"getrandom", {EAGAIN}},
    {"pwrite", {ENOSPC, EINTR}},
    {"lseek", {ESPIPE}},
    {"ftruncate", {ENOSPC}},
    {"renameat2", {EIO, EINVAL}},
    {"fdopen", {EMFILE}},
    {"fread", {EIO}},
    {"fcntl", {EMFILE}},
};

/* Whether the fault has occurred; if not, the scenario makes fewer calls than that. */
static bool run_once(const struct fault_scenario *scenario, const char *function, unsigned nth,
                     int error)
{
    struct error err = {0};
    unsigned before = 0;
    unsigned after = 0;
    bool has_occurred = false;
    int result = 0;

    scenario->prepare(scenario->data);
    before = open_descriptors();
    fault_arm(function, nth, error);
    result = scenario->run(scenario->data, &err);
    has_occurred = fault_disarm();
    after = open_descriptors();
    if (before != after)
        fail_msg("%s: %u descriptors are left after %s number %u failed with %s", scenario->name,
                 after - before, function, nth, strerror(error));
    if (result < 0 && (err.kind == ERROR_NONE || !err.text[0]))
        fail_msg("%s: no reason is given after %s number %u failed", scenario->name, function, nth);
    if (result < 0 && !has_occurred)
        fail_msg("%s: fails by itself: %s", scenario->name, err.text);
    scenario->check(scenario->data, result);
    return has_occurred;
}

unsigned fault_sweep_function(const struct fault_scenario *scenario, const char *function,
                              int error)
{
    unsigned occurred = 0;

    while (run_once(scenario, function, occurred + 1, error)) {
        occurred++;
        assert_true(occurred < CALLS_MAX);
    }
    return occurred;
}

unsigned fault_sweep(const struct fault_scenario *scenario)
{
    unsigned occurred = 0;

    for (size_t i = 0; i < array_length(functions); i++) {
        for (size_t j = 0; j < ERRORS_MAX && functions[i].errors[j]; j++)
            occurred += fault_sweep_function(scenario, functions[i].name, functions[i].errors[j]);
    }
    return occurred;
}
