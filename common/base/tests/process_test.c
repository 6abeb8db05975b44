/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/tests/child.h"

static bool is_null_device(int fd)
{
    struct stat status = {0};
    struct stat null = {0};

    return fstat(fd, &status) == 0 && stat("/dev/null", &null) == 0 &&
           status.st_rdev == null.st_rdev && S_ISCHR(status.st_mode);
}

/* Closes those of the descriptors 0 to 2 whose bit is set. Returns 0 on success. */
static int prepare_without(unsigned closed)
{
    char byte = 'x';
    int next = -1;
    int pipe_fds[2] = {-1, -1};

    for (int fd = 0; fd <= 2; fd++) {
        if (closed >> fd & 1)
            (void)close(fd);
        else if (is_null_device(fd))
            return 1; /* the test would prove nothing */
    }
    process_prepare();
    for (int fd = 0; fd <= 2; fd++) {
        if (is_null_device(fd) != (closed >> fd & 1))
            return 2;
    }
    next = open("/", O_RDONLY | O_CLOEXEC);
    if (next <= 2)
        return 3;
    if (pipe(pipe_fds) < 0 || close(pipe_fds[0]) < 0)
        return 4;
    return write(pipe_fds[1], &byte, 1) == -1 && errno == EPIPE ? 0 : 5;
}

static void closed_descriptors_are_filled_and_open_ones_kept(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; closed++) {
        int status = 0;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            /* Something that is not /dev/null, however the test was started. */
            int fd = open("/", O_RDONLY | O_CLOEXEC);

            for (int i = 0; i <= 2; i++)
                (void)dup2(fd, i);
            (void)close(fd);
            child_exit(prepare_without(closed));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_descriptors_are_filled_and_open_ones_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
