/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/command_line/completion.h"

#define QUOTE "\\'"

/* condition: the argument of -n, or NULL. */
static void begin(const struct option_command *program, const char *condition, FILE *out)
{
    (void)fprintf(out, "complete -c %s", program->program);
    if (condition) {
        (void)fputs(" -n ", out);
        completion_put_quoted(condition, QUOTE, out);
    }
}

static void put_kind(enum completion_kind kind, const char *choices, FILE *out)
{
    switch (kind) {
    case COMPLETION_NONE:
        break;
    case COMPLETION_ANY:
        (void)fputs(" -x", out);
        break;
    case COMPLETION_FILE:
        (void)fputs(" -r -F", out);
        break;
    case COMPLETION_DIR:
        (void)fputs(" -x -a '(__fish_complete_directories)'", out);
        break;
    case COMPLETION_CHOICES:
        (void)fprintf(out, " -x -a '%s'", choices);
        break;
    }
}

static void put_rows(const struct option_command *program, const struct option_command *command,
                     const char *condition, FILE *out)
{
    for (const struct option_row *row = command->rows; row->name; row++) {
        begin(program, condition, out);
        (void)fprintf(out, " -l %s", row->name);
        if (row->letter)
            (void)fprintf(out, " -s %c", row->letter);
        put_kind(completion_kind_of(row->value_name, row->choices), row->choices, out);
        (void)fputs(" -d ", out);
        completion_put_quoted(row->help, QUOTE, out);
        (void)fputc('\n', out);
    }
}

static void put_operand(const struct option_command *program, const struct option_command *command,
                        const char *condition, FILE *out)
{
    enum completion_kind kind = completion_kind_of(command->operand, command->operand_choices);

    if (kind != COMPLETION_FILE && kind != COMPLETION_CHOICES)
        return;
    begin(program, condition, out);
    if (kind == COMPLETION_FILE)
        (void)fputs(" -F\n", out);
    else
        (void)fprintf(out, " -a '%s'\n", command->operand_choices);
}

void completion_print_fish(const struct option_command *program, FILE *out)
{
    const char *condition = program->commands ? "__fish_use_subcommand" : NULL;

    (void)fprintf(out, "# fish completion for %s\n", program->program);
    begin(program, NULL, out);
    (void)fputs(" -f\n", out);
    put_rows(program, program, condition, out);
    for (size_t i = 0; program->commands && program->commands[i]; i++) {
        const struct option_command *command = program->commands[i];
        const char *name = option_command_name(command);
        /* __fish_seen_subcommand_from would also match "longshore man run". */
        cleanup_free char *behind = xasprintf("string match -q %s -- (commandline -opc)[2]", name);

        begin(program, condition, out);
        (void)fprintf(out, " -a %s -d ", name);
        completion_put_quoted(command->brief, QUOTE, out);
        (void)fputc('\n', out);
        put_rows(program, command, behind, out);
        put_operand(program, command, behind, out);
    }
}
