/* SPDX-License-Identifier: Apache-2.0 */
#include "common/command_line/manual.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"

#define PREFIX "longshore-"

/* Escapes text so that it is never taken for a roff request, and dashes can be copied. */
static void put(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        (void)fputs("\\&", out);
    for (; *text; text++) {
        switch (*text) {
        case '\\':
            (void)fputs("\\e", out);
            break;
        case '-':
            (void)fputs("\\-", out);
            break;
        case '\'':
            (void)fputs("\\(aq", out);
            break;
        case '~':
            (void)fputs("\\(ti", out);
            break;
        case '^':
            (void)fputs("\\(ha", out);
            break;
        default:
            (void)fputc(*text, out);
            break;
        }
    }
}

static void put_in(FILE *out, char font, const char *text)
{
    (void)fprintf(out, "\\f%c", font);
    put(out, text);
    (void)fputs("\\fR", out);
}

/* "longshore-run" for "longshore run". The caller frees. */
static char *page_name(const struct option_command *command)
{
    char *name = xstrdup(command->program);

    for (char *c = name; *c; c++) {
        if (*c == ' ')
            *c = '-';
    }
    return name;
}

static void put_title(const struct option_command *command, FILE *out)
{
    cleanup_free char *name = page_name(command);
    cleanup_free char *title = xstrdup(name);

    for (char *c = title; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    /* No date, so that builds are reproducible. */
    (void)fputs(".TH ", out);
    put(out, title);
    (void)fputs(" 1 \"\" \"longshore " LONGSHORE_VERSION "\" \"Longshore\"\n.SH NAME\n", out);
    put(out, name);
    (void)fputs(" \\- ", out);
    put(out, command->brief);
    (void)fputs("\n.SH SYNOPSIS\n", out);
    put_in(out, 'B', command->program);
    (void)fputc(' ', out);
    put(out, command->synopsis);
    (void)fputs("\n.SH DESCRIPTION\n", out);
    put(out, command->summary);
    (void)fputs(".\n", out);
}

static void put_commands(const struct option_command *command, FILE *out)
{
    (void)fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; command->commands[i]; i++) {
        (void)fputs(".TP\n", out);
        put_in(out, 'B', option_command_name(command->commands[i]));
        (void)fputc('\n', out);
        put(out, command->commands[i]->brief);
        (void)fputc('\n', out);
    }
}

static void put_option(const struct option_row *row, FILE *out)
{
    cleanup_free char *text = option_describe(row);
    cleanup_free char *name = xasprintf("--%s", row->name);
    char letter[] = {'-', row->letter, '\0'};

    (void)fputs(".TP\n", out);
    if (row->letter) {
        put_in(out, 'B', letter);
        (void)fputs(", ", out);
    }
    put_in(out, 'B', name);
    if (row->value_name) {
        (void)fputc(' ', out);
        put_in(out, 'I', row->value_name);
    }
    (void)fputc('\n', out);
    put(out, text);
    (void)fputc('\n', out);
}

static void put_facts(const struct option_fact *facts, FILE *out)
{
    const char *section = "";

    for (const struct option_fact *fact = facts; fact->section; fact++) {
        if (strcmp(section, fact->section) != 0)
            (void)fprintf(out, ".SH %s\n", fact->section);
        section = fact->section;
        (void)fputs(".TP\n", out);
        put_in(out, 'B', fact->term);
        (void)fputc('\n', out);
        put(out, fact->text);
        (void)fputc('\n', out);
    }
}

static void put_reference(const struct option_command *command, bool is_first, FILE *out)
{
    cleanup_free char *name = page_name(command);

    if (!is_first)
        (void)fputs(",\n", out);
    put_in(out, 'B', name);
    (void)fputs("(1)", out);
}

/* The page of longshore refers to all others, which refer to it. */
static void put_references(const struct option_command *command, FILE *out)
{
    (void)fputs(".SH SEE ALSO\n", out);
    if (command->commands) {
        for (size_t i = 0; command->commands[i]; i++)
            put_reference(command->commands[i], i == 0, out);
        put_reference(&COMMAND_INIT, false, out);
        put_reference(&COMMAND_WAIT, false, out);
    } else {
        put_reference(&COMMAND_LONGSHORE, true, out);
    }
    (void)fputc('\n', out);
}

void manual_print(const struct option_command *command, FILE *out)
{
    put_title(command, out);
    if (command->commands)
        put_commands(command, out);
    (void)fputs(".SH OPTIONS\n", out);
    for (const struct option_row *row = command->rows; row->name; row++)
        put_option(row, out);
    if (command->facts)
        put_facts(command->facts, out);
    put_references(command, out);
}

const struct option_command *manual_find(const char *name)
{
    const struct option_command *const helpers[] = {&COMMAND_INIT, &COMMAND_WAIT};
    const struct option_command *const *commands = COMMAND_LONGSHORE.commands;

    if (!name || strcmp(name, COMMAND_LONGSHORE.program) == 0)
        return &COMMAND_LONGSHORE;
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
        name += strlen(PREFIX);
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(option_command_name(commands[i]), name) == 0)
            return commands[i];
    }
    for (size_t i = 0; i < array_length(helpers); i++) {
        if (strcmp(helpers[i]->program + strlen(PREFIX), name) == 0)
            return helpers[i];
    }
    return NULL;
}
