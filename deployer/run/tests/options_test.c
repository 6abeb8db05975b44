/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/contract.h"
#include "deployer/run/options.h"

enum { ARGUMENTS_MAX = 6 };

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    const char *complaint; /* NULL: fine */
} cases[] = {
    {{"run", "item.yaml"}, NULL},
    {{"run", "-"}, NULL},
    {{"run", "--image", "oci:x"}, NULL},
    {{"run", "--from-cluster", "ns/name"}, NULL},
    {{"run", "item.yaml", "--timeout", "none"}, NULL},
    {{"run"}, "nothing to run"},
    {{"run", "item.yaml", "--timeout", "5"}, "--timeout"},
    {{"run", "item.yaml", "--timeout", "-5s"}, "--timeout"},
    {{"run", "item.yaml", "--network", "bridge"}, "--network"},
    {{"run", "item.yaml", "--operation", "delete"}, "--operation"},
    {{"run", "item.yaml", "-o", "xml"}, "--output"},
    {{"run", "item.yaml", "--cache-size", "many"}, "--cache-size"},
    {{"run", "item.yaml", "--shell", "-o", "json"}, "--shell"},
    {{"run", "item.yaml", "--nonsense"}, "--nonsense"},
    {{"run", "item.yaml", "--state"}, "--state"},
    {{"run", "item.yaml", "--runtime", "podman"}, "--runtime"},
};

static int fill(const char *const *texts, char arguments[ARGUMENTS_MAX][32], char **argv)
{
    int argc = 0;

    for (; argc < ARGUMENTS_MAX && texts[argc]; argc++) {
        (void)snprintf(arguments[argc], sizeof(arguments[argc]), "%s", texts[argc]);
        argv[argc] = arguments[argc];
    }
    return argc;
}

static void errors_name_the_option(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        char arguments[ARGUMENTS_MAX][32] = {{0}};
        char *argv[ARGUMENTS_MAX + 1] = {0};
        struct run_options options = {0};
        struct error err = {0};
        int argc = fill(cases[i].arguments, arguments, argv);

        assert_int_equal(run_options_parse(argc, argv, &options, &err),
                         cases[i].complaint ? -1 : 0);
        if (cases[i].complaint) {
            assert_int_equal(err.kind, ERROR_INVALID);
            assert_non_null(strstr(err.text, cases[i].complaint));
        } else {
            assert_string_equal(options.operation, OPERATION_RECONCILE);
            assert_true(options.has_network);
        }
        run_options_done(&options);
    }
}

static void format_and_operation_apply_to_errors_too(void **state)
{
    static const struct {
        const char *arguments[ARGUMENTS_MAX];
        enum run_output output;
        const char *operation;
    } wrong[] = {
        {{"run", "--nonsense", "-o", "json"}, RUN_OUTPUT_JSON, OPERATION_RECONCILE},
        {{"run", "-ojson", "--state"}, RUN_OUTPUT_JSON, OPERATION_RECONCILE},
        {{"run", "--operation=DELETE", "--output=json"}, RUN_OUTPUT_JSON, OPERATION_DELETE},
        {{"run", "--operation=delete", "--output=json"}, RUN_OUTPUT_JSON, NULL},
        {{"run", "--output=xml"}, RUN_OUTPUT_TEXT, OPERATION_RECONCILE},
    };

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        char arguments[ARGUMENTS_MAX][32] = {{0}};
        char *argv[ARGUMENTS_MAX + 1] = {0};
        struct run_options options = {0};
        struct error err = {0};
        int argc = fill(wrong[i].arguments, arguments, argv);

        assert_int_equal(run_options_parse(argc, argv, &options, &err), -1);
        assert_int_equal(options.output, wrong[i].output);
        if (wrong[i].operation)
            assert_string_equal(options.operation, wrong[i].operation);
        else
            assert_null(options.operation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_the_option),
        cmocka_unit_test(format_and_operation_apply_to_errors_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
