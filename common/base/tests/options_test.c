/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/options.h"

enum { ARGUMENTS_MAX = 8 };

struct parsed {
    bool is_verbose;
    bool is_dry;
    const char *file;
    struct option_list labels;
};

static int parse(const char *const *arguments, struct parsed *parsed, char **argv, int *ret_first,
                 struct error *err)
{
    const struct option_row rows[] = {
        {"verbose", 'v', OPTION_FLAG, &parsed->is_verbose, NULL, "Say more"},
        {"dry-run", 0, OPTION_FLAG, &parsed->is_dry, NULL, "Change nothing"},
        {"file", 'f', OPTION_TEXT, &parsed->file, "FILE", "Read FILE"},
        {"label", 'l', OPTION_TEXT_LIST, &parsed->labels, "LABEL", "Add LABEL"},
        {0},
    };
    const struct option_command command = {"longshore test", "[OPTIONS] ITEM", "Tests", rows};
    int argc = 0;

    argv[argc++] = xstrdup("longshore");
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[argc++] = xstrdup(arguments[i]);
    return options_parse(&command, argc, argv, ret_first, err);
}

static void free_all(char **argv)
{
    for (size_t i = 0; i <= ARGUMENTS_MAX; i++)
        free(argv[i]);
}

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    bool is_verbose, is_dry;
    const char *file;
    const char *labels; /* joined by a blank each */
    const char *operands;
} good[] = {
    {{NULL}, false, false, NULL, "", ""},
    {{"-v"}, true, false, NULL, "", ""},
    {{"--verbose", "--dry-run"}, true, true, NULL, "", ""},
    {{"--file", "a"}, false, false, "a", "", ""},
    {{"--file=a"}, false, false, "a", "", ""},
    {{"--file="}, false, false, "", "", ""},
    {{"-f", "a"}, false, false, "a", "", ""},
    {{"-fa"}, false, false, "a", "", ""},
    {{"-f=a"}, false, false, "a", "", ""},
    {{"-f", "=a"}, false, false, "a", "", ""},
    {{"-vfa"}, true, false, "a", "", ""},
    {{"-f", "a", "-f", "b"}, false, false, "b", "", ""},
    {{"-f", "--verbose"}, false, false, "--verbose", "", ""},
    {{"-l", "a", "--label=b", "-lc"}, false, false, NULL, "a b c ", ""},
    {{"item", "-v"}, true, false, NULL, "", "item "},
    {{"item", "-v", "other"}, true, false, NULL, "", "item other "},
    {{"--", "-v"}, false, false, NULL, "", "-v "},
    {{"-"}, false, false, NULL, "", "- "},
};

static void join(const char *const *items, size_t count, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        (void)snprintf(ret_text + strlen(ret_text), size - strlen(ret_text), "%s ", items[i]);
}

static void reads_every_form_and_moves_operands_to_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        struct parsed parsed = {0};
        struct error err = {0};
        char *argv[ARGUMENTS_MAX + 2] = {0};
        char text[100] = {0};
        int first = 0;
        int argc = 1;

        assert_int_equal(parse(good[i].arguments, &parsed, argv, &first, &err), 0);
        while (argv[argc])
            argc++;
        assert_int_equal(parsed.is_verbose, good[i].is_verbose);
        assert_int_equal(parsed.is_dry, good[i].is_dry);
        if (good[i].file)
            assert_string_equal(parsed.file, good[i].file);
        else
            assert_null(parsed.file);
        join(parsed.labels.items, parsed.labels.count, text, sizeof(text));
        assert_string_equal(text, good[i].labels);
        join((const char *const *)argv + first, (size_t)(argc - first), text, sizeof(text));
        assert_string_equal(text, good[i].operands);
        option_list_done(&parsed.labels);
        assert_int_equal(parsed.labels.count, 0);
        free_all(argv);
    }
}

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    const char *text;
} bad[] = {
    {{"--colour"}, "option '--colour' is not known; see 'longshore test --help'"},
    {{"--token=secret"}, "option '--token' is not known; see 'longshore test --help'"},
    {{"-x"}, "option '-x' is not known; see 'longshore test --help'"},
    {{"-vx", "item"}, "option '-x' is not known; see 'longshore test --help'"},
    {{"-xv", "item"}, "option '-x' is not known; see 'longshore test --help'"},
    {{"--file"}, "option '--file' needs a value; see 'longshore test --help'"},
    {{"-v", "-f"}, "option '-f' needs a value; see 'longshore test --help'"},
    {{"--dry-run=yes"}, "option '--dry-run' takes no value; see 'longshore test --help'"},
};

static void names_the_option_that_is_wrong_and_never_its_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        struct parsed parsed = {0};
        struct error err = {0};
        char *argv[ARGUMENTS_MAX + 2] = {0};
        int first = 0;

        assert_int_equal(parse(bad[i].arguments, &parsed, argv, &first, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(err.text, bad[i].text);
        option_list_done(&parsed.labels);
        free_all(argv);
    }
}

static void help_comes_from_the_same_table(void **state)
{
    bool is_verbose = false;
    const char *name = NULL;
    const struct option_row rows[] = {
        {"verbose", 'v', OPTION_FLAG, &is_verbose, NULL, "Say more"},
        {"a-name-that-is-quite-long", 0, OPTION_TEXT, &name, "NAME", "Use NAME"},
        {0},
    };
    const struct option_command command = {"longshore x", "[OPTIONS]", "Does x", rows};
    char text[1000] = {0};
    FILE *out = fmemopen(text, sizeof(text), "w");

    (void)state;
    assert_non_null(out);
    options_print_help(&command, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "Usage: longshore x [OPTIONS]\nDoes x.\n\nOptions:\n"
                              "  -v, --verbose                 Say more\n"
                              "      --a-name-that-is-quite-long NAME Use NAME\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form_and_moves_operands_to_the_end),
        cmocka_unit_test(names_the_option_that_is_wrong_and_never_its_value),
        cmocka_unit_test(help_comes_from_the_same_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
