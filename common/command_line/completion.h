/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts, generated from the option table. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/base/options.h"

/* Prints the script for a shell, "bash", "zsh" or "fish"; returns false for any other. program must
 * be one of the three programs, not a subcommand. */
bool completion_print(const char *shell, const struct option_command *program, FILE *out);

/* How a value is completed. */
enum completion_kind {
    COMPLETION_NONE,    /* there is no value */
    COMPLETION_ANY,     /* not completed */
    COMPLETION_FILE,    /* value name FILE */
    COMPLETION_DIR,     /* value name DIR */
    COMPLETION_CHOICES, /* one of the choices */
};

enum completion_kind completion_kind_of(const char *value_name, const char *choices);
/* Writes text in single quotes; `quote` replaces a single quote in it. */
void completion_put_quoted(const char *text, const char *quote, FILE *out);
/* The name of the shell function: "_longshore_init" for longshore-init. The caller frees. */
char *completion_function(const struct option_command *program);

/* One per file: bash.c, zsh.c, fish.c. */
void completion_print_bash(const struct option_command *program, FILE *out);
void completion_print_zsh(const struct option_command *program, FILE *out);
void completion_print_fish(const struct option_command *program, FILE *out);
