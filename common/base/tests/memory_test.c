/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/child.h"

static void an_allocation_of_0_bytes_is_not_null(void **state)
{
    (void)state;
    free(xmalloc(0));
    free(xcalloc(0, 8));
    free(xreallocarray(NULL, 0, 8));
    free(xmemdup("", 0));
}

static void calloc_gives_zeros(void **state)
{
    cleanup_free char *memory = xcalloc(16, 4);

    (void)state;
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(memory[i], 0);
}

static void copies_are_independent(void **state)
{
    char text[] = "harbour";
    cleanup_free char *whole = xstrdup(text);
    cleanup_free char *part = xstrndup(text, 3);
    cleanup_free char *bytes = xmemdup(text, sizeof(text));
    cleanup_free char *formatted = xasprintf("%s-%d", text, 7);

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    assert_string_equal(whole, "harbour");
    assert_string_equal(part, "har");
    assert_string_equal(bytes, "harbour");
    assert_string_equal(formatted, "harbour-7");
    assert_null(xstrdup_or_null(NULL));
}

static void wiping_null_is_allowed(void **state)
{
    (void)state;
    wipe_free(NULL);
    wipe_free(xstrdup("secret"));
}

static void run_out(void *data)
{
    (void)data;
    out_of_memory();
}

static void out_of_memory_prints_a_message_and_aborts(void **state)
{
    (void)state;
    child_must_abort(run_out, NULL, "out of memory\n");
}

/* Sizes come from outside too, so an overflow must never become a small block. */
static void calls_with_no_answer(int which)
{
    volatile size_t half = SIZE_MAX / 2 + 1;

    if (which == 0)
        free(xreallocarray(NULL, half, 2));
    else
        free(xcalloc(half, 2));
}

static void a_size_that_overflows_aborts(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0) {
            int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

            (void)dup2(null_fd, STDERR_FILENO);
            (void)signal(SIGABRT, SIG_DFL);
            calls_with_no_answer(which);
            _exit(0);
        }
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        /* A sanitizer ends the process with its own exit code. */
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_of_0_bytes_is_not_null),
        cmocka_unit_test(calloc_gives_zeros),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(wiping_null_is_allowed),
        cmocka_unit_test(out_of_memory_prints_a_message_and_aborts),
        cmocka_unit_test(a_size_that_overflows_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
