/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "init/options.h"

/* Splits text at blanks and parses the arguments. */
static int parse(const char *line, struct options *ret_options, struct error *err)
{
    cleanup_free char *copy = xstrdup(line);
    char *arguments[16] = {copy};
    int count = 1;

    for (char *c = copy; *c; c++) {
        if (*c == ' ') {
            *c = '\0';
            arguments[count++] = c + 1;
        }
    }
    return options_from_arguments(count, arguments, ret_options, err);
}

static const struct {
    const char *line;
    enum log_level level;
    enum log_format format;
} lines[] = {
    {"init", LOG_LEVEL_INFO, LOG_FORMAT_JSON},
    {"init -v debug", LOG_LEVEL_DEBUG, LOG_FORMAT_JSON},
    {"init -v=debug", LOG_LEVEL_DEBUG, LOG_FORMAT_JSON},
    {"init -vERROR", LOG_LEVEL_ERROR, LOG_FORMAT_JSON},
    {"init --verbosity=error -f text", LOG_LEVEL_ERROR, LOG_FORMAT_TEXT},
    {"init --dev", LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT},
    {"init --dev -v info -f json", LOG_LEVEL_INFO, LOG_FORMAT_JSON},
    {"init --cli=true", LOG_LEVEL_INFO, LOG_FORMAT_TEXT},
    {"init --cli=false", LOG_LEVEL_INFO, LOG_FORMAT_JSON},
    {"init --disable-stacktrace --disable-caller=false --disable-timestamp=true", LOG_LEVEL_INFO,
     LOG_FORMAT_JSON},
};

static void the_flags_of_the_go_program_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lines); i++) {
        struct options options = {0};
        struct error err = {0};

        print_message("%s\n", lines[i].line);
        if (parse(lines[i].line, &options, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(options.level, lines[i].level);
        assert_int_equal(options.format, lines[i].format);
    }
}

static void unknown_flags_and_operands_are_rejected(void **state)
{
    static const char *const wrong[] = {"init -v loud", "init --format=xml", "init --what",
                                        "init operand", "init -v"};

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct options options = {0};
        struct error err = {0};

        assert_int_equal(parse(wrong[i], &options, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void set_environment(void)
{
    (void)clearenv();
    (void)setenv(ENV_CONFIGURATION_PATH, "/c", 1);
    (void)setenv(ENV_IMPORTS_PATH, "/s/i", 1);
    (void)setenv(ENV_EXPORTS_PATH, "/s/e", 1);
    (void)setenv(ENV_COMPONENT_DESCRIPTOR_PATH, "/s/d", 1);
    (void)setenv(ENV_TARGET_PATH, "/s/t", 1);
    (void)setenv(ENV_CONTENT_PATH, "/s/c", 1);
    (void)setenv(ENV_STATE_PATH, "/s/s", 1);
    (void)setenv(ENV_DEPLOY_ITEM_NAME, "n", 1);
    (void)setenv(ENV_DEPLOY_ITEM_NAMESPACE, "ns", 1);
}

static void the_environment_has_defaults(void **state)
{
    struct options options = {0};
    struct error err = {0};

    (void)state;
    set_environment();
    assert_int_equal(options_from_environment(&options, &err), 0);
    assert_string_equal(options.target_source, PATH_TARGET_SOURCE);
    assert_string_equal(options.termination_log, PATH_TERMINATION_LOG);
    assert_null(options.state_source_dir);
    assert_int_equal(options.deadline_ms, 120000);
    assert_false(options.is_plain_http_allowed);
    (void)setenv(ENV_INIT_DEADLINE, "1m30s", 1);
    (void)setenv(ENV_OCI_PLAIN_HTTP, "true", 1);
    assert_int_equal(options_from_environment(&options, &err), 0);
    assert_int_equal(options.deadline_ms, 90000);
    assert_true(options.is_plain_http_allowed);
}

static void all_missing_variables_are_named_at_once(void **state)
{
    struct options options = {0};
    struct error err = {0};

    (void)state;
    set_environment();
    (void)unsetenv(ENV_CONFIGURATION_PATH);
    (void)setenv(ENV_TARGET_PATH, "", 1);
    (void)unsetenv(ENV_DEPLOY_ITEM_NAMESPACE);
    assert_int_equal(options_from_environment(&options, &err), -1);
    assert_non_null(strstr(err.text, "CONFIGURATION_PATH is not set"));
    assert_non_null(strstr(err.text, "TARGET_PATH is not set"));
    assert_non_null(strstr(err.text, "DEPLOY_ITEM_NAMESPACE is not set"));
    assert_null(strstr(err.text, "STATE_PATH"));
}

static void older_names_of_variables_are_accepted(void **state)
{
    struct options options = {0};
    struct error err = {0};

    (void)state;
    set_environment();
    (void)unsetenv(ENV_STATE_PATH);
    (void)setenv(ENV_STATE_OLD, "/s/old", 1);
    assert_int_equal(options_from_environment(&options, &err), 0);
    assert_string_equal(options.state_path, "/s/old");
}

static void invalid_values_are_rejected(void **state)
{
    static const struct {
        const char *name, *value;
    } wrong[] = {{ENV_INIT_DEADLINE, "soon"},
                 {ENV_INIT_DEADLINE, "-5s"},
                 {ENV_INIT_DEADLINE, "0"},
                 {ENV_CONTENT_PATH, "relative/content"}};

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct options options = {0};
        struct error err = {0};

        set_environment();
        (void)setenv(wrong[i].name, wrong[i].value, 1);
        assert_int_equal(options_from_environment(&options, &err), -1);
        assert_non_null(strstr(err.text, wrong[i].name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_flags_of_the_go_program_are_accepted),
        cmocka_unit_test(unknown_flags_and_operands_are_rejected),
        cmocka_unit_test(the_environment_has_defaults),
        cmocka_unit_test(all_missing_variables_are_named_at_once),
        cmocka_unit_test(older_names_of_variables_are_accepted),
        cmocka_unit_test(invalid_values_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
