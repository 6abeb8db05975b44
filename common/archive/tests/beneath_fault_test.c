/* SPDX-License-Identifier: Apache-2.0 */
/* Fails every system call of replacing existing files once, and simulates a process that recreates
 * them. */
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

/* All three names exist already. */
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
    if (result < 0 && !strstr(err->text, "\"a") && !strstr(err->text, "\"kept\""))
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

static void existing_files_are_replaced_or_the_failure_is_reported(void **state)
{
    const struct fault_scenario scenario = {.name = "make over",
                                            .prepare = furnish,
                                            .run = make_over,
                                            .check = check_made,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 20);
}

/* ---- Messages ---- */

static const struct {
    const char *function;
    int error;
    enum error_kind kind;
    const char *expected;
} cases[] = {
    {"unlinkat", EROFS, ERROR_INTERNAL, "replace \"a/file\": Read-only file system"},
    /* It became a directory after fstatat(). */
    {"unlinkat", EISDIR, ERROR_INVALID, "\"a/file\" already exists as a directory"},
    {"openat", EEXIST, ERROR_CONFLICT, "\"a/file\" keeps being recreated by another process"},
};

static void a_name_that_is_recreated_forever_is_an_error(void **state)
{
    for (size_t i = 0; i < array_length(cases); i++) {
        struct error err = {0};

        furnish(*state);
        fault_arm_permanently(cases[i].function, 1, cases[i].error);
        assert_int_equal(make_over(*state, &err), -1);
        assert_true(fault_disarm());
        assert_string_equal(err.text, cases[i].expected);
        assert_int_equal(err.kind, cases[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(existing_files_are_replaced_or_the_failure_is_reported,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_is_recreated_forever_is_an_error, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
