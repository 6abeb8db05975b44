/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "scratch.h"
#include "wait/volume.h"

static int set_up(void **state)
{
    static const char *const directories[] = {"a", "a/shared", "b", "b/exports"};
    const struct scratch *scratch = NULL;

    if (scratch_set_up(state) < 0)
        return -1;
    scratch = *state;
    for (size_t i = 0; i < array_length(directories); i++) {
        if (mkdirat(scratch->fd, directories[i], 0700) < 0)
            return -1;
    }
    return 0;
}

static const struct {
    const char *state, *exports;                  /* below the scratch directory */
    const char *root, *state_path, *exports_path; /* root below it too */
} cases[] = {
    {"a/shared/state", "a/shared/exports/values", "a/shared", "state", "exports/values"},
    {"a/shared//state/", "a/./shared/exports//values", "a/shared", "state", "exports/values"},
    {"a/shared/state", "a/shared/values", "a/shared", "state", "values"},
    {"a/shared/state", "a/shared/state/values", "a/shared", "state", "state/values"},
    {"a/shared/state", "b/exports/values", "", "a/shared/state", "b/exports/values"},
};

static void the_root_is_the_deepest_common_directory(void **state)
{
    const struct scratch *scratch = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *state_path = xasprintf("%s/%s", scratch->path, cases[i].state);
        cleanup_free char *exports_path = xasprintf("%s/%s", scratch->path, cases[i].exports);
        cleanup_free char *root =
            xasprintf("%s%s%s", scratch->path, *cases[i].root ? "/" : "", cases[i].root);
        cleanup_volume struct volume volume = VOLUME_INIT;
        struct error err = {0};

        assert_int_equal(volume_open(state_path, exports_path, &volume, &err), 0);
        assert_string_equal(volume.state.root_path, root);
        assert_string_equal(volume.exports.root_path, root);
        assert_string_equal(volume.state.path, cases[i].state_path);
        assert_string_equal(volume.exports.path, cases[i].exports_path);
        assert_true(volume.state.root_fd >= 0 && volume.exports.root_fd >= 0);
    }
}

static void paths_without_common_directory_have_separate_roots(void **state)
{
    cleanup_volume struct volume volume = VOLUME_INIT;
    struct error err = {0};

    (void)state;
    assert_int_equal(volume_open("/tmp/state", "/dev/exports/values", &volume, &err), 0);
    assert_string_equal(volume.state.root_path, "/tmp");
    assert_string_equal(volume.state.path, "state");
    assert_string_equal(volume.exports.root_path, "/dev");
    assert_string_equal(volume.exports.path, "exports/values");
}

static void relative_climbing_and_missing_paths_are_errors(void **state)
{
    static const char *const bad[] = {
        "state", "", "/state", "/", "/tmp/../etc/state", "/tmp/no/such/directory/state"};

    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        cleanup_volume struct volume volume = VOLUME_INIT;
        struct error err = {0};

        assert_int_equal(volume_open(bad[i], "/dev/exports/values", &volume, &err), -1);
        assert_int_not_equal(err.kind, ERROR_NONE);
        assert_int_equal(volume.state.root_fd, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_root_is_the_deepest_common_directory, set_up,
                                        scratch_tear_down),
        cmocka_unit_test(paths_without_common_directory_have_separate_roots),
        cmocka_unit_test(relative_climbing_and_missing_paths_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
