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
    const char *colour;
    bool is_long;
};

static const struct option_row rows[] = {
    option_flag("verbose", 'v', struct parsed, is_verbose, "say more"),
    option_flag("dry-run", 0, struct parsed, is_dry, "change nothing"),
    option_text("file", 'f', struct parsed, file, "FILE", "read FILE"),
    option_texts("label", 'l', struct parsed, labels, "LABEL", "add LABEL"),
    option_choice("colour", 0, struct parsed, colour, "NAME", "paint it", "red green blue", "red"),
    option_flag(
        "long", 0, struct parsed, is_long,
        "print everything that is known about each of the items, even if that is not needed"),
    {0},
};
static const struct option_command command = {
    .program = "longshore test", .synopsis = "[OPTIONS] ITEM", .summary = "Tests", .rows = rows};

static int parse(const char *const *arguments, struct parsed *parsed, char **argv, int *ret_first,
                 struct error *err)
{
    int argc = 0;

    argv[argc++] = xstrdup("longshore");
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[argc++] = xstrdup(arguments[i]);
    return options_parse(&command, argc, argv, parsed, ret_first, err);
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
    const char *labels; /* joined by blanks */
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
    {{"--verbose=true", "--dry-run=false"}, true, false, NULL, "", ""},
    {{"--dry-run", "--dry-run=false"}, false, false, NULL, "", ""},
    {{"--verbose", "false"}, true, false, NULL, "", "false "},
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
    {{"--shape"}, "option \"--shape\" is unknown; see 'longshore test --help'"},
    {{"--colour", "Red"},
     "option \"--colour\" must be red, green or blue; see 'longshore test --help'"},
    {{"--colour=gre"},
     "option \"--colour\" must be red, green or blue; see 'longshore test --help'"},
    {{"--colour="}, "option \"--colour\" must be red, green or blue; see 'longshore test --help'"},
    {{"--token=secret"}, "option \"--token\" is unknown; see 'longshore test --help'"},
    {{"-x"}, "option \"-x\" is unknown; see 'longshore test --help'"},
    {{"-vx", "item"}, "option \"-x\" is unknown; see 'longshore test --help'"},
    {{"-xv", "item"}, "option \"-x\" is unknown; see 'longshore test --help'"},
    {{"--file"}, "option \"--file\" requires a value; see 'longshore test --help'"},
    {{"-v", "-f"}, "option \"-f\" requires a value; see 'longshore test --help'"},
    {{"--dry-run=yes"}, "option \"--dry-run\" takes no value; see 'longshore test --help'"},
    {{"--flie=secret"},
     "option \"--flie\" is unknown (did you mean '--file'?); see 'longshore test --help'"},
    {{"--drYrun"},
     "option \"--drYrun\" is unknown (did you mean '--dry-run'?); see 'longshore test --help'"},
    {{"--l", "--shape"},
     "option \"--l\" is ambiguous (--label or --long?); see 'longshore test --help'"},
    {{"--shape", "--file"}, "option \"--shape\" is unknown; see 'longshore test --help'"},
    {{"--="}, "option \"--\" is unknown; see 'longshore test --help'"},
};

static void errors_name_the_option_and_never_its_value(void **state)
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

static void options_after_a_wrong_one_are_stored(void **state)
{
    static const char *const arguments[ARGUMENTS_MAX] = {"--shape", "-v", "--colour=blue", "-q",
                                                         "--file=x"};
    struct parsed parsed = {0};
    struct error err = {0};
    char *argv[ARGUMENTS_MAX + 2] = {0};
    int first = 0;

    (void)state;
    assert_int_equal(parse(arguments, &parsed, argv, &first, &err), -1);
    assert_non_null(strstr(err.text, "--shape"));
    assert_true(parsed.is_verbose);
    assert_string_equal(parsed.colour, "blue");
    assert_string_equal(parsed.file, "x");
    free_all(argv);
}

static void an_option_that_is_not_given_has_its_default(void **state)
{
    static const char *const given[][ARGUMENTS_MAX] = {{NULL}, {"--colour", "blue"}};
    static const char *const wanted[] = {"red", "blue"};

    (void)state;
    for (size_t i = 0; i < array_length(given); i++) {
        struct parsed parsed = {0};
        struct error err = {0};
        char *argv[ARGUMENTS_MAX + 2] = {0};
        int first = 0;

        assert_int_equal(parse(given[i], &parsed, argv, &first, &err), 0);
        assert_string_equal(parsed.colour, wanted[i]);
        assert_null(parsed.file);
        free_all(argv);
    }
}

static char *help_of(const struct option_command *shown)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    options_print_help(shown, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void help_is_derived_from_the_table(void **state)
{
    static const struct option_row long_rows[] = {
        option_text("a-name-that-is-quite-long", 0, struct parsed, file, "NAME", "use NAME"),
        {0},
    };
    static const struct option_fact facts[] = {
        {"EXIT STATUS", "0", "success"},
        {"EXIT STATUS", "any other", "of the program"},
        {"EXAMPLES", "longshore x --a-name-that-is-quite-long y", "does x with y"},
        {0},
    };
    const struct option_command other = {.program = "longshore x",
                                         .synopsis = "",
                                         .summary = "Does x",
                                         .rows = long_rows,
                                         .facts = facts};
    cleanup_free char *text = help_of(&command);
    cleanup_free char *other_text = help_of(&other);

    (void)state;
    assert_string_equal(
        text, "Usage: longshore test [OPTIONS] ITEM\nTests.\n\nOptions:\n"
              "  -v, --verbose               say more\n"
              "      --dry-run               change nothing\n"
              "  -f, --file FILE             read FILE\n"
              "  -l, --label LABEL           add LABEL\n"
              "      --colour NAME           paint it: red, green or blue (default red)\n"
              "      --long                  print everything that is known about each of the\n"
              "                              items, even if that is not needed\n");
    assert_string_equal(other_text, "Usage: longshore x \nDoes x.\n\nOptions:\n"
                                    "      --a-name-that-is-quite-long NAME\n"
                                    "                              use NAME\n\n"
                                    "Exit status:\n"
                                    "  0           success\n"
                                    "  any other   of the program\n\n"
                                    "Examples:\n"
                                    "  longshore x --a-name-that-is-quite-long y\n"
                                    "              does x with y\n");
}

static void help_lists_the_commands_of_a_program(void **state)
{
    static const struct option_command sub = {.program = "longshore test", .brief = "test it"};
    static const struct option_command *const commands[] = {&sub, NULL};
    static const struct option_row none[] = {{0}};
    const struct option_command program = {.program = "longshore",
                                           .synopsis = "COMMAND",
                                           .summary = "Does things",
                                           .rows = none,
                                           .commands = commands};
    cleanup_free char *text = help_of(&program);

    (void)state;
    assert_string_equal(text, "Usage: longshore COMMAND\nDoes things.\n\nCommands:\n"
                              "  test        test it\n\n"
                              "Run 'longshore COMMAND --help' for the options of a command.\n");
}

static void an_unknown_command_is_refused_with_a_similar_one(void **state)
{
    static const struct option_command sub = {.program = "longshore test", .brief = "test it"};
    static const struct option_command *const commands[] = {&sub, NULL};
    const struct option_command program = {.program = "longshore", .commands = commands};
    struct error err = {0};

    (void)state;
    assert_int_equal(option_refuse_command(&program, "tset", &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "unknown command \"tset\" (did you mean \"test\"?); see "
                                  "'longshore --help'");
    assert_int_equal(option_refuse_command(&program, "other", &err), -1);
    assert_string_equal(err.text, "unknown command \"other\"; see 'longshore --help'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form_and_moves_operands_to_the_end),
        cmocka_unit_test(errors_name_the_option_and_never_its_value),
        cmocka_unit_test(options_after_a_wrong_one_are_stored),
        cmocka_unit_test(an_option_that_is_not_given_has_its_default),
        cmocka_unit_test(help_is_derived_from_the_table),
        cmocka_unit_test(an_unknown_command_is_refused_with_a_similar_one),
        cmocka_unit_test(help_lists_the_commands_of_a_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
