/* SPDX-License-Identifier: Apache-2.0 */
/* The fallback for kernels without openat2 and for container engines that forbid it. syscall() is
 * wrapped by the linker. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/archive/tests/scratch.h"

static int answer; /* errno of openat2 */
static int asked;

long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    assert_int_equal(number, SYS_openat2);
    asked++;
    errno = answer;
    return -1;
}

static void falls_back_to_the_walk_without_openat2(void **state)
{
    static const int answers[] = {ENOSYS, EPERM};

    (void)state;
    for (size_t i = 0; i < array_length(answers); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_close int made_fd = -1, file_fd = -1, link_fd = -1;
        struct error err = {0};

        answer = answers[i];
        asked = 0;
        scratch_init(&scratch);
        made_fd = beneath_create_file(scratch.root_fd, "a/b", 0600, &err);
        assert_true(made_fd >= 0);
        file_fd = beneath_open_file(scratch.root_fd, "a/b", NULL, &err);
        assert_true(file_fd >= 0);
        assert_int_equal(symlinkat("../outside", scratch.root_fd, "out"), 0);
        link_fd = beneath_open_file(scratch.root_fd, "out/secret", NULL, &err);
        assert_int_equal(link_fd, -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_true(asked > 0);
    }
}

/* A concurrent rename can make openat2 fail with EAGAIN. */
static void openat2_is_retried_a_few_times_on_eagain(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_close int fd = -1;
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    scratch_write(scratch.root_fd, "f", "1");
    answer = EAGAIN;
    asked = 0;
    fd = beneath_open_file(scratch.root_fd, "f", NULL, &err);
    assert_int_equal(fd, -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_in_range(asked, 2, 100);
    answer = ENOSYS; /* for the clean-up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_back_to_the_walk_without_openat2),
        cmocka_unit_test(openat2_is_retried_a_few_times_on_eagain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
