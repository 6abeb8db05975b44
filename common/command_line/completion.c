/* SPDX-License-Identifier: Apache-2.0 */
#include "common/command_line/completion.h"

#include <string.h>

#include "common/base/memory.h"

enum completion_kind completion_kind_of(const char *value_name, const char *choices)
{
    if (!value_name)
        return COMPLETION_NONE;
    if (choices)
        return COMPLETION_CHOICES;
    if (strcmp(value_name, "FILE") == 0)
        return COMPLETION_FILE;
    return strcmp(value_name, "DIR") == 0 ? COMPLETION_DIR : COMPLETION_ANY;
}

void completion_put_quoted(const char *text, const char *quote, FILE *out)
{
    (void)fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            (void)fputs(quote, out);
        else
            (void)fputc(*text, out);
    }
    (void)fputc('\'', out);
}

char *completion_function(const struct option_command *program)
{
    char *name = xasprintf("_%s", program->program);

    for (char *c = name; *c; c++) {
        if (*c == '-')
            *c = '_';
    }
    return name;
}

bool completion_print(const char *shell, const struct option_command *program, FILE *out)
{
    static const struct {
        const char *shell;
        void (*print)(const struct option_command *program, FILE *out);
    } shells[] = {
        {"bash", completion_print_bash},
        {"zsh", completion_print_zsh},
        {"fish", completion_print_fish},
    };

    for (size_t i = 0; i < array_length(shells); i++) {
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].print(program, out);
            return true;
        }
    }
    return false;
}
