/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts from the table. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/base/options.h"

/* shell: "bash", "zsh" or "fish"; false if it is none of these. program: one of the three programs,
 * with or without subcommands. */
bool completion_print(const char *shell, const struct option_command *program, FILE *out);

/* What can stand where a value of this name does. */
enum completion_kind {
    COMPLETION_NONE,    /* takes nothing */
    COMPLETION_ANY,     /* something that only a person can know */
    COMPLETION_FILE,    /* value name FILE */
    COMPLETION_DIR,     /* value name DIR */
    COMPLETION_CHOICES, /* one of the choices */
};

enum completion_kind completion_kind_of(const char *value_name, const char *choices);
/* text between single quotes, of which `quote` says how one is written inside of them. */
void completion_put_quoted(const char *text, const char *quote, FILE *out);
/* "longshore_init" of "longshore-init", a name of a function. The caller frees. */
char *completion_function(const struct option_command *program);

/* One file each. */
void completion_print_bash(const struct option_command *program, FILE *out);
void completion_print_zsh(const struct option_command *program, FILE *out);
void completion_print_fish(const struct option_command *program, FILE *out);
