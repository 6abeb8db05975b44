/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/tests/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef LONGSHORE_COVERAGE
void __gcov_dump(void); /* NOLINT(bugprone-reserved-identifier): libgcov's name */
#endif

static void keep_counts(void)
{
#ifdef LONGSHORE_COVERAGE
    __gcov_dump();
#endif
}

_Noreturn void child_exit(int status)
{
    keep_counts();
    _exit(status);
}

/* When this returns, abort() ends the process. */
static void on_abort(int number)
{
    (void)number;
    keep_counts();
}

static _Noreturn void abort_in_child(void (*run)(void *data), void *data, int error_fd)
{
    (void)dup2(error_fd, STDERR_FILENO);
    (void)signal(SIGABRT, on_abort); /* replaces the handler of cmocka, which fails the test */
    run(data);
    _exit(0);
}

void child_must_abort(void (*run)(void *data), void *data, const char *text)
{
    char output[512] = {0};
    size_t size = 0;
    ssize_t got = 0;
    int status = 0;
    int pipe_fds[2] = {-1, -1};
    pid_t child = -1;

    assert_int_equal(pipe(pipe_fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        abort_in_child(run, data, pipe_fds[1]);
    (void)close(pipe_fds[1]);
    while (size < sizeof(output) - 1 &&
           (got = read(pipe_fds[0], output + size, sizeof(output) - 1 - size)) > 0)
        size += (size_t)got;
    (void)close(pipe_fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail_msg("it ends with status %x and '%s', not with abort()", (unsigned)status, output);
    if (!strstr(output, text))
        fail_msg("it aborts with '%s', not with '%s'", output, text);
}
