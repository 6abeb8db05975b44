/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/wrap.h"
#include "common/command_line/logging.h"
#include "common/command_line/manual.h"
#include "common/command_line/table.h"

enum { PAGES_MAX = 32 };

/* longshore, its commands, and the programs in a pod. */
static size_t all_commands(const struct option_command *ret_commands[PAGES_MAX])
{
    size_t count = 0;

    ret_commands[count++] = &COMMAND_LONGSHORE;
    for (size_t i = 0; COMMAND_LONGSHORE.commands[i]; i++)
        ret_commands[count++] = COMMAND_LONGSHORE.commands[i];
    ret_commands[count++] = &COMMAND_INIT;
    ret_commands[count++] = &COMMAND_WAIT;
    return count;
}

static void every_row_is_complete(void **state)
{
    const struct option_command *commands[PAGES_MAX] = {NULL};
    size_t count = all_commands(commands);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct option_command *command = commands[i];
        bool letters[128] = {false};
        bool has_help = false;

        print_message("%s\n", command->program);
        assert_non_null(command->brief);
        assert_true(islower((unsigned char)*command->brief));
        assert_true(isupper((unsigned char)*command->summary));
        assert_true(command->summary[strlen(command->summary) - 1] != '.');
        for (const struct option_row *row = command->rows; row->name; row++) {
            assert_true(*row->help && row->help[strlen(row->help) - 1] != '.');
            assert_true((row->type == OPTION_FLAG) == !row->value_name);
            assert_true(row->type != OPTION_CHOICE || row->choices);
            assert_true(!row->fallback || row->type == OPTION_TEXT || row->type == OPTION_CHOICE);
            assert_false(row->letter && letters[(size_t)row->letter]);
            letters[(size_t)row->letter] = true;
            has_help = has_help || strcmp(row->name, "help") == 0;
            for (const struct option_row *other = row + 1; other->name; other++)
                assert_string_not_equal(row->name, other->name);
        }
        assert_true(has_help);
    }
}

/* A default must be a valid value. */
static void every_fallback_is_one_of_the_choices(void **state)
{
    const struct option_command *commands[PAGES_MAX] = {NULL};
    size_t count = all_commands(commands);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (const struct option_row *row = commands[i]->rows; row->name; row++) {
            const char *rest = row->choices;
            const char *word = NULL;
            bool is_found = !row->choices || !row->fallback;
            int length = 0;

            while ((word = option_next_choice(&rest, &length)))
                is_found = is_found || strncmp(word, row->fallback, (size_t)length) == 0;
            assert_true(is_found);
        }
    }
}

static void man_and_help_complete_every_command(void **state)
{
    const char *rest = COMMAND_MAN.operand_choices;
    const char *rest_of_help = COMMAND_HELP.operand_choices;
    const char *word = NULL;
    int length = 0;

    (void)state;
    for (size_t i = 0; COMMAND_LONGSHORE.commands[i]; i++) {
        const char *name = option_command_name(COMMAND_LONGSHORE.commands[i]);

        word = option_next_choice(&rest, &length);
        assert_non_null(word);
        assert_int_equal(length, strlen(name));
        assert_memory_equal(word, name, strlen(name));
        if (strcmp(name, "help") == 0)
            continue;
        word = option_next_choice(&rest_of_help, &length);
        assert_non_null(word);
        assert_memory_equal(word, name, strlen(name));
    }
    assert_string_equal(rest, " init wait");
    assert_string_equal(rest_of_help, "");
}

static void every_page_is_found_by_its_names(void **state)
{
    static const struct {
        const char *name;
        const struct option_command *command;
    } cases[] = {
        {NULL, &COMMAND_LONGSHORE},
        {"longshore", &COMMAND_LONGSHORE},
        {"run", &COMMAND_RUN},
        {"longshore-run", &COMMAND_RUN},
        {"init", &COMMAND_INIT},
        {"longshore-init", &COMMAND_INIT},
        {"longshore-wait", &COMMAND_WAIT},
        {"longshore-", NULL},
        {"longshore run", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++)
        assert_ptr_equal(manual_find(cases[i].name), cases[i].command);
}

static void errors_in_logging_flags_name_the_flag(void **state)
{
    static const struct {
        struct log_values values;
        enum log_level level;
        enum log_format format;
        const char *complaint;
    } cases[] = {
        {{0}, LOG_LEVEL_INFO, LOG_FORMAT_JSON, NULL},
        {{.is_dev = true}, LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, NULL},
        {{.is_cli = true}, LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL},
        {{.is_dev = true, .verbosity = "Error", .format = "JSON"},
         LOG_LEVEL_ERROR,
         LOG_FORMAT_JSON,
         NULL},
        {{.verbosity = "loud"}, LOG_LEVEL_INFO, LOG_FORMAT_JSON, "option --verbosity"},
        {{.format = "xml"}, LOG_LEVEL_INFO, LOG_FORMAT_JSON, "option --format"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        enum log_level level = LOG_LEVEL_ERROR;
        enum log_format format = LOG_FORMAT_TEXT;
        struct error err = {0};

        assert_int_equal(log_values_read(&cases[i].values, &level, &format, &err),
                         cases[i].complaint ? -1 : 0);
        if (cases[i].complaint) {
            assert_non_null(strstr(err.text, cases[i].complaint));
            continue;
        }
        assert_int_equal(level, cases[i].level);
        assert_int_equal(format, cases[i].format);
    }
}

/* The width of a character cell terminal; a line may be longer only if it is one word. */
static void help_fits_into_80_columns(void **state)
{
    const struct option_command *commands[PAGES_MAX] = {NULL};
    size_t count = all_commands(commands);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        options_print_help(commands[i], out);
        assert_int_equal(fclose(out), 0);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
            print_message("%.*s\n", (int)strcspn(line, "\n"), line);
            assert_true(strcspn(line, "\n") <= WRAP_WIDTH);
        }
        assert_true(!commands[i]->facts || strstr(text, "\nExit status:\n") ||
                    strstr(text, "\nExamples:\n"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(help_fits_into_80_columns),
        cmocka_unit_test(every_fallback_is_one_of_the_choices),
        cmocka_unit_test(man_and_help_complete_every_command),
        cmocka_unit_test(every_page_is_found_by_its_names),
        cmocka_unit_test(errors_in_logging_flags_name_the_flag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
