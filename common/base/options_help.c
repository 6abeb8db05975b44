/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/base/wrap.h"

/* Columns at which the texts of commands, options and facts begin. */
enum { COMMAND_COLUMN = 14, OPTION_COLUMN = 30, FACT_COLUMN = 14 };

/* Prints text at column; on the next line if what precedes it, of this width, is too long. */
static void put_text(FILE *out, const char *text, size_t width, size_t column)
{
    if (width + 2 > column)
        (void)fprintf(out, "\n%*s", (int)column, "");
    else
        (void)fprintf(out, "%*s", (int)(column - width), "");
    wrap_print(out, text, column, column, WRAP_WIDTH);
}

static void print_commands(const struct option_command *command, FILE *out)
{
    (void)fprintf(out, "\nCommands:\n");
    for (size_t i = 0; command->commands[i]; i++) {
        int width = fprintf(out, "  %s", option_command_name(command->commands[i]));

        put_text(out, command->commands[i]->brief, (size_t)width, COMMAND_COLUMN);
    }
}

static void print_options(const struct option_row *rows, FILE *out)
{
    (void)fprintf(out, "\nOptions:\n");
    for (const struct option_row *row = rows; row->name; row++) {
        cleanup_free char *text = option_describe(row);
        char letter[6] = "    ";
        int width = 0;

        if (row->letter)
            (void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
        width = fprintf(out, "  %s--%s%s%s", letter, row->name, row->value_name ? " " : "",
                        row->value_name ? row->value_name : "");
        put_text(out, text, (size_t)width, OPTION_COLUMN);
    }
}

/* "EXIT STATUS" becomes "Exit status:". */
static void print_title(const char *section, FILE *out)
{
    (void)fprintf(out, "\n%c", *section);
    for (const char *c = section + 1; *c; c++)
        (void)fputc(tolower((unsigned char)*c), out);
    (void)fprintf(out, ":\n");
}

static void print_facts(const struct option_fact *facts, FILE *out)
{
    const char *section = "";

    for (const struct option_fact *fact = facts; fact->section; fact++) {
        int width = 0;

        if (strcmp(section, fact->section) != 0)
            print_title(fact->section, out);
        section = fact->section;
        width = fprintf(out, "  %s", fact->term);
        put_text(out, fact->text, (size_t)width, FACT_COLUMN);
    }
}

void options_print_help(const struct option_command *command, FILE *out)
{
    cleanup_free char *summary = xasprintf("%s.", command->summary);

    (void)fprintf(out, "Usage: %s %s\n", command->program, command->synopsis);
    wrap_print(out, summary, 0, 0, WRAP_WIDTH);
    if (command->commands)
        print_commands(command, out);
    if (command->rows[0].name)
        print_options(command->rows, out);
    if (command->facts)
        print_facts(command->facts, out);
    if (command->commands)
        (void)fprintf(out, "\nRun '%s COMMAND --help' for the options of a command.\n",
                      command->program);
}
