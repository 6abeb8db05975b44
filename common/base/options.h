/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options from one table: parsing, --help, and (for docs) man pages and completions
 * all come from the same rows. On getopt_long, so `--name value`, `--name=value` and `-n value`
 * work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/error.h"

enum option_type {
    OPTION_FLAG,     /* no argument: sets *(bool *) */
    OPTION_TEXT,     /* sets *(const char **), borrowed from argv; the last one wins */
    OPTION_TEXT_LIST /* appends to *(struct option_list *) */
};

struct option_list {
    const char **items; /* borrowed texts */
    size_t count;
};

struct option_row {
    const char *name; /* long name, without dashes; NULL ends the table */
    char letter;      /* short name, or 0 */
    enum option_type type;
    void *target;
    const char *value_name; /* in --help: "FILE" */
    const char *help;       /* one sentence, no full stop */
};

struct option_command {
    const char *program;  /* "longshore run" */
    const char *synopsis; /* "[OPTIONS] ITEM.yaml" */
    const char *summary;  /* one sentence */
    const struct option_row *rows;
};

/* Parses argv[1..]; *ret_first is the index of the first operand (operands are moved to the end).
 * --help is the caller's own row if it wants one. Fails with ERROR_INVALID naming the option. */
int options_parse(const struct option_command *command, int argc, char **argv, int *ret_first,
                  struct error *err) must_check;
void options_print_help(const struct option_command *command, FILE *out);
void option_list_done(struct option_list *list);
