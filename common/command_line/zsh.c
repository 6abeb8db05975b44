/* SPDX-License-Identifier: Apache-2.0 */
/* The script works as a file _NAME in $fpath and with `source <(longshore completion zsh)`. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/completion.h"

#define QUOTE "'\\''"

/* Escapes brackets and colons, which are delimiters in arguments of _arguments. */
static char *escaped(const char *text)
{
    char *copy = xcalloc(2 * strlen(text) + 1, 1);
    size_t used = 0;

    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            copy[used++] = '\\';
        copy[used++] = *text;
    }
    return copy;
}

/* For example ":FILE:_files"; "" for options without a value. The caller frees. */
static char *value_of(const char *value_name, const char *choices)
{
    cleanup_free char *name = escaped(value_name ? value_name : "");

    switch (completion_kind_of(value_name, choices)) {
    case COMPLETION_NONE:
        break;
    case COMPLETION_ANY:
        return xasprintf(":%s: ", name);
    case COMPLETION_FILE:
        return xasprintf(":%s:_files", name);
    case COMPLETION_DIR:
        return xasprintf(":%s:_files -/", name);
    case COMPLETION_CHOICES:
        return xasprintf(":%s:(%s)", name, choices);
    }
    return xstrdup("");
}

static void put_row(const struct option_row *row, FILE *out)
{
    cleanup_free char *help = escaped(row->help);
    cleanup_free char *value = value_of(row->value_name, row->choices);
    cleanup_free char *text = xasprintf("[%s]%s", help, value);
    bool is_list = row->type == OPTION_TEXT_LIST;
    const char *equals = row->value_name ? "=" : "";

    (void)fputs(" \\\n            ", out);
    if (is_list)
        (void)fputs("'*'", out);
    else if (row->letter)
        (void)fprintf(out, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter)
        (void)fprintf(out, "{-%c%s,--%s%s}", row->letter, row->value_name ? "+" : "", row->name,
                      equals);
    else
        (void)fprintf(out, "--%s%s", row->name, equals);
    completion_put_quoted(text, QUOTE, out);
}

static void put_arguments(const struct option_command *command, FILE *out)
{
    cleanup_free char *value = value_of(command->operand, command->operand_choices);
    cleanup_free char *text = xasprintf("*%s", value);

    (void)fputs("_arguments -s -S", out);
    for (const struct option_row *row = command->rows; row->name; row++)
        put_row(row, out);
    if (command->operand) {
        (void)fputs(" \\\n            ", out);
        completion_put_quoted(text, QUOTE, out);
    }
    (void)fputc('\n', out);
}

static void put_command_list(const struct option_command *program, FILE *out)
{
    (void)fputs("    if (( CURRENT == 2 )); then\n        local -a commands=(", out);
    for (size_t i = 0; program->commands[i]; i++) {
        cleanup_free char *text = xasprintf("%s:%s", option_command_name(program->commands[i]),
                                            program->commands[i]->brief);

        (void)fputs("\n            ", out);
        completion_put_quoted(text, QUOTE, out);
    }
    (void)fputs(")\n        _describe -t commands command commands\n        ", out);
    put_arguments(program, out);
    (void)fputs("        return\n    fi\n", out);
}

void completion_print_zsh(const struct option_command *program, FILE *out)
{
    cleanup_free char *function = completion_function(program);

    (void)fprintf(out, "#compdef %s\n%s() {\n", program->program, function);
    if (!program->commands) {
        (void)fputs("    ", out);
        put_arguments(program, out);
    } else {
        put_command_list(program, out);
        (void)fputs("    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n", out);
        for (size_t i = 0; program->commands[i]; i++) {
            (void)fprintf(out, "    %s)\n        ", option_command_name(program->commands[i]));
            put_arguments(program->commands[i], out);
            (void)fputs("        ;;\n", out);
        }
        (void)fputs("    esac\n", out);
    }
    (void)fprintf(out,
                  "}\nif [[ $funcstack[1] == %s ]]; then\n    %s \"$@\"\nelse\n    compdef %s %s\n"
                  "fi\n",
                  function, function, function, program->program);
}
