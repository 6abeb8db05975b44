/* SPDX-License-Identifier: Apache-2.0 */
/* Uses only builtins of bash 4; the package bash-completion is not needed. */
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/command_line/completion.h"

static const char HEAD[] = "%s() {\n"
                           "    local current=${COMP_WORDS[COMP_CWORD]} "
                           "previous=${COMP_WORDS[COMP_CWORD - 1]} command=''\n"
                           "    COMPREPLY=()\n"
                           "    # bash makes --name=value three words.\n"
                           "    if [[ $current == = ]]; then\n"
                           "        current=\n"
                           "    elif [[ $previous == = ]]; then\n"
                           "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
                           "    fi\n";

static const char FIND_COMMAND[] = "    local i\n"
                                   "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                                   "        [[ ${COMP_WORDS[i]} == -* ]] && continue\n"
                                   "        command=${COMP_WORDS[i]}\n"
                                   "        break\n"
                                   "    done\n";

static void put_words(const char *choices, FILE *out)
{
    (void)fprintf(out, "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\")", choices);
}

/* The shell command that sets the completions for this kind of value. */
static void put_reply(enum completion_kind kind, const char *choices, FILE *out)
{
    switch (kind) {
    case COMPLETION_NONE:
    case COMPLETION_ANY:
        (void)fputs(":", out);
        break;
    case COMPLETION_FILE:
    case COMPLETION_DIR:
        /* compopt fails outside of a completion, for example in tests. It adds slashes to
         * directories and quotes spaces. */
        (void)fprintf(out,
                      "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -%c -- "
                      "\"$current\")",
                      kind == COMPLETION_FILE ? 'f' : 'd');
        break;
    case COMPLETION_CHOICES:
        put_words(choices, out);
        break;
    }
}

static void put_values(const char *name, const struct option_row *rows, FILE *out)
{
    for (const struct option_row *row = rows; row->name; row++) {
        enum completion_kind kind = completion_kind_of(row->value_name, row->choices);

        if (kind == COMPLETION_NONE)
            continue;
        (void)fprintf(out, "    %s:--%s", name, row->name);
        if (row->letter)
            (void)fprintf(out, " | %s:-%c", name, row->letter);
        (void)fputs(") ", out);
        put_reply(kind, row->choices, out);
        (void)fputs("; return ;;\n", out);
    }
}

static void put_options(const struct option_row *rows, FILE *out)
{
    for (const struct option_row *row = rows; row->name; row++) {
        if (row->letter)
            (void)fprintf(out, "-%c ", row->letter);
        (void)fprintf(out, "--%s ", row->name);
    }
}

/* After a command: its options or operands. */
static void put_command(const char *name, const struct option_command *command, FILE *out)
{
    (void)fprintf(out, "    %s)\n        if [[ $current == -* ]]; then\n            ", name);
    (void)fputs("mapfile -t COMPREPLY < <(compgen -W '", out);
    put_options(command->rows, out);
    (void)fputs("' -- \"$current\")\n        else\n            ", out);
    if (command->commands) {
        (void)fputs("mapfile -t COMPREPLY < <(compgen -W '", out);
        for (size_t i = 0; command->commands[i]; i++)
            (void)fprintf(out, "%s ", option_command_name(command->commands[i]));
        (void)fputs("' -- \"$current\")", out);
    } else {
        put_reply(completion_kind_of(command->operand, command->operand_choices),
                  command->operand_choices, out);
    }
    (void)fputs("\n        fi\n        ;;\n", out);
}

void completion_print_bash(const struct option_command *program, FILE *out)
{
    cleanup_free char *function = completion_function(program);

    (void)fprintf(out, "# bash completion for %s\n", program->program);
    (void)fprintf(out, HEAD, function);
    if (program->commands)
        (void)fputs(FIND_COMMAND, out);
    (void)fputs("    case $command:$previous in\n", out);
    put_values("", program->rows, out);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        put_values(option_command_name(program->commands[i]), program->commands[i]->rows, out);
    (void)fputs("    esac\n    case $command in\n", out);
    put_command("''", program, out);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        put_command(option_command_name(program->commands[i]), program->commands[i], out);
    (void)fprintf(out, "    esac\n}\ncomplete -F %s %s\n", function, program->program);
}
