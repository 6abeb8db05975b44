/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/contract.h"
#include "wait/options.h"
#include "wait/tests/environment.h"

/* The environment set by the Go controller. */
static int set_go_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wait_variables); i++)
        (void)unsetenv(wait_variables[i]);
    (void)setenv(ENV_EXPORTS_PATH, PATH_EXPORTS, 1);
    (void)setenv(ENV_STATE_PATH, PATH_STATE, 1);
    (void)setenv(ENV_POD_NAME, "pod-1", 1);
    (void)setenv(ENV_POD_NAMESPACE, "host", 1);
    (void)setenv(ENV_DEPLOY_ITEM_NAME, "item", 1);
    (void)setenv(ENV_DEPLOY_ITEM_NAMESPACE, "ns", 1);
    return 0;
}

static int read_with(struct settings *settings, struct error *err, const char *a, const char *b)
{
    char program[] = "longshore-wait";
    char *argv[] = {program, (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};

    return settings_read(a ? (b ? 3 : 2) : 1, argv, settings, err);
}

static void the_environment_of_the_go_controller_suffices(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_string_equal(settings.exports_path, PATH_EXPORTS);
    assert_string_equal(settings.state_path, PATH_STATE);
    assert_string_equal(settings.pod_name, "pod-1");
    assert_string_equal(settings.item_namespace, "ns");
    assert_string_equal(settings.termination_log, PATH_TERMINATION_LOG);
    assert_string_equal(settings.last_sha256, "");
    assert_false(settings.is_last_known);
    assert_null(settings.job);
    assert_null(settings.sink_dir);
    assert_int_equal(settings.main_end_fd, -1);
    assert_int_equal(settings.main_grace_ms, 30000);
    assert_false(settings.is_grace_known);
    assert_int_equal(settings.grace_ms, 630000);
    assert_int_equal(settings.log_level, LOG_LEVEL_INFO);
    assert_int_equal(settings.log_format, LOG_FORMAT_JSON);
}

static void old_variable_names_are_used_if_the_new_ones_are_missing(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    (void)setenv(ENV_EXPORT_PATH_OLD, "/old/exports/values", 1);
    (void)setenv(ENV_STATE_OLD, "/old/state", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_string_equal(settings.exports_path, PATH_EXPORTS);
    (void)unsetenv(ENV_EXPORTS_PATH);
    (void)unsetenv(ENV_STATE_PATH);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_string_equal(settings.exports_path, "/old/exports/values");
    assert_string_equal(settings.state_path, "/old/state");
}

static void a_missing_variable_is_an_error_that_names_it(void **state)
{
    static const char *const required[] = {ENV_EXPORTS_PATH,     ENV_STATE_PATH,
                                           ENV_POD_NAME,         ENV_POD_NAMESPACE,
                                           ENV_DEPLOY_ITEM_NAME, ENV_DEPLOY_ITEM_NAMESPACE};

    for (size_t i = 0; i < array_length(required); i++) {
        struct settings settings = {0};
        struct error err = {0};

        assert_int_equal(set_go_environment(state), 0);
        (void)setenv(required[i], "", 1);
        assert_int_equal(read_with(&settings, &err, NULL, NULL), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, required[i]));
    }
}

static void the_last_generation_is_read_from_the_environment(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    (void)setenv(ENV_STATE_SEQUENCE, "", 1);
    (void)setenv(ENV_STATE_SHA256, "", 1);
    (void)setenv(ENV_STATE_NEXT_SEQUENCE, "1700000000", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_true(settings.is_last_known);
    assert_int_equal(settings.last_sequence, 0);
    assert_int_equal(settings.next_sequence, 1700000000);
    (void)setenv(ENV_STATE_SEQUENCE, "41", 1);
    (void)setenv(ENV_STATE_SHA256, "abc", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_int_equal(settings.last_sequence, 41);
    assert_string_equal(settings.last_sha256, "abc");
    (void)setenv(ENV_STATE_SEQUENCE, "41x", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), -1);
    assert_non_null(strstr(err.text, ENV_STATE_SEQUENCE));
}

static void a_local_run_needs_a_descriptor_and_no_pod(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    (void)unsetenv(ENV_POD_NAME);
    (void)unsetenv(ENV_POD_NAMESPACE);
    (void)unsetenv(ENV_DEPLOY_ITEM_NAME);
    (void)unsetenv(ENV_DEPLOY_ITEM_NAMESPACE);
    (void)setenv(ENV_SINK_DIR, "/sink", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), -1);
    assert_non_null(strstr(err.text, ENV_MAIN_END_FD));
    (void)setenv(ENV_MAIN_END_FD, "1000000", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), -1);
    (void)setenv(ENV_MAIN_END_FD, "0", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_int_equal(settings.main_end_fd, 0);
    assert_string_equal(settings.sink_dir, "/sink");
    assert_string_equal(settings.item_name, "");
}

static const struct {
    const char *a, *b;
    bool is_good;
} flags[] = {
    {"-v", "debug", true},
    {"--verbosity", "ERROR", true},
    {"-f", "text", true},
    {"--dev", "--cli", true},
    {"--disable-caller", NULL, true},
    {"--grace", "10", true},
    {"--service-account", "/x", true},
    {"-v", "loud", false},
    {"-f", "xml", false},
    {"--quiet", "0", true},
    {"--request-timeout", "1", true},
    {"--quiet", "x", false},
    {"--request-timeout", "x", false},
    {"--request-timeout", "0", false},
    {"--grace", "x", false},
    {"--grace", "-1", false},
    {"--grace", "+1", false},
    {"--grace", " 1", false},
    {"--grace", "1s", false},
    {"--unknown", NULL, false},
    {"operand", NULL, false},
};

static void options_of_the_go_program_are_accepted_and_wrong_ones_are_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(flags); i++) {
        struct settings settings = {0};
        struct error err = {0};
        int result = read_with(&settings, &err, flags[i].a, flags[i].b);

        assert_int_equal(result, flags[i].is_good ? 0 : -1);
        if (!flags[i].is_good)
            assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void help_and_version_need_no_environment(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    (void)unsetenv(ENV_STATE_PATH);
    assert_int_equal(read_with(&settings, &err, "--help", NULL), 0);
    assert_true(settings.is_help);
    assert_int_equal(read_with(&settings, &err, "--version", NULL), 0);
    assert_true(settings.is_version);
}

static void option_grace_overrides_the_environment(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    (void)setenv(ENV_GRACE_SECONDS, "30", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_int_equal(settings.grace_ms, 30000);
    assert_int_equal(read_with(&settings, &err, "--grace", "7"), 0);
    assert_int_equal(settings.grace_ms, 7000);
    assert_int_equal(settings.main_grace_ms, 30000);
    assert_true(settings.is_grace_known);
}

static void the_grace_period_of_main_is_read_from_the_environment(void **state)
{
    struct settings settings = {0};
    struct error err = {0};

    (void)state;
    (void)setenv(ENV_MAIN_GRACE_SECONDS, "300", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), 0);
    assert_int_equal(settings.main_grace_ms, 300000);
    assert_int_equal(settings.grace_ms, 900000);
    (void)setenv(ENV_MAIN_GRACE_SECONDS, "30s", 1);
    assert_int_equal(read_with(&settings, &err, NULL, NULL), -1);
    assert_non_null(strstr(err.text, ENV_MAIN_GRACE_SECONDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_environment_of_the_go_controller_suffices, set_go_environment),
        cmocka_unit_test_setup(old_variable_names_are_used_if_the_new_ones_are_missing,
                               set_go_environment),
        cmocka_unit_test_setup(a_missing_variable_is_an_error_that_names_it, set_go_environment),
        cmocka_unit_test_setup(the_last_generation_is_read_from_the_environment,
                               set_go_environment),
        cmocka_unit_test_setup(a_local_run_needs_a_descriptor_and_no_pod, set_go_environment),
        cmocka_unit_test_setup(options_of_the_go_program_are_accepted_and_wrong_ones_are_errors,
                               set_go_environment),
        cmocka_unit_test_setup(help_and_version_need_no_environment, set_go_environment),
        cmocka_unit_test_setup(option_grace_overrides_the_environment, set_go_environment),
        cmocka_unit_test_setup(the_grace_period_of_main_is_read_from_the_environment,
                               set_go_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
