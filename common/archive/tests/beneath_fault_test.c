/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call of making things over others fails once, and somebody else is always faster. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/archive/tests/scratch.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"

static int setup(void **state)
{
    struct scratch *scratch = xcalloc(1, sizeof(*scratch));

    scratch_init(scratch);
    *state = scratch;
    return 0;
}

static int teardown(void **state)
{
    struct scratch *scratch = *state;

    (void)fault_disarm();
    scratch_done(scratch);
    free(scratch);
    return 0;
}

/* Something is in the way of all three. */
static void furnish(void *data)
{
    struct scratch *scratch = data;
    int fd = scratch->root_fd;

    scratch_clear(scratch);
    assert_int_equal(mkdirat(fd, "a", 0755), 0);
    scratch_write(fd, "a/file", "old");
    scratch_write(fd, "a/link", "old");
    assert_int_equal(symlinkat("old", fd, "a/hard"), 0);
    scratch_write(fd, "kept", "kept");
}

static int make_over(void *data, struct error *err)
{
    const struct scratch *scratch = data;
    int fd = beneath_create_file(scratch->root_fd, "a/file", 0644, err);
    int result = fd;

    closep(&fd);
    if (result >= 0)
        result = beneath_make_symlink(scratch->root_fd, "a/link", "new", err);
    if (result >= 0)
        result = beneath_make_link(scratch->root_fd, "a/hard", "kept", err);
    if (result < 0 && !strstr(err->text, "'a") && !strstr(err->text, "'kept'"))
        fail_msg("names no path: %s", err->text);
    return result < 0 ? -1 : 0;
}

static void check_made(void *data, int result)
{
    const struct scratch *scratch = data;
    cleanup_free char *tree = scratch_describe(scratch->root_fd, false);

    assert_non_null(strstr(tree, "kept 100000 4 kept\n"));
    if (result == 0)
        assert_string_equal(tree, "a 40000\na/file 100000 0 \na/hard 100000 4 kept\n"
                                  "a/link 120000 -> new\nkept 100000 4 kept\n");
}

static void what_is_in_the_way_is_replaced_or_the_failure_is_told(void **state)
{
    const struct fault_scenario scenario = {.name = "make over",
                                            .prepare = furnish,
                                            .run = make_over,
                                            .check = check_made,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 20);
}

/* ---- with these words ---- */

static const struct {
    const char *function;
    int error;
    enum error_kind kind;
    const char *words;
} cases[] = {
    {"unlinkat", EROFS, ERROR_INTERNAL, "replace 'a/file': Read-only file system"},
    /* It has become one since we looked. */
    {"unlinkat", EISDIR, ERROR_INVALID, "'a/file' is a directory already"},
    {"openat", EEXIST, ERROR_CONFLICT, "'a/file' is recreated by somebody else all the time"},
};

static void who_is_always_faster_gets_an_error_and_no_endless_loop(void **state)
{
    for (size_t i = 0; i < array_length(cases); i++) {
        struct error err = {0};

        furnish(*state);
        fault_arm_for_good(cases[i].function, 1, cases[i].error);
        assert_int_equal(make_over(*state, &err), -1);
        assert_true(fault_disarm());
        assert_string_equal(err.text, cases[i].words);
        assert_int_equal(err.kind, cases[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_in_the_way_is_replaced_or_the_failure_is_told,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_always_faster_gets_an_error_and_no_endless_loop,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
