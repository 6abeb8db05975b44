/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options from one table: parsing, --help, man pages and completions all come from the
 * same rows (those of the house are in common/command_line). On getopt_long, so `--name value`,
 * `--name=value` and `-n value` work; and as Go's flags do, `-n=value` and `--flag=false`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/error.h"

enum option_type {
    OPTION_FLAG,     /* a bool */
    OPTION_TEXT,     /* a const char *, borrowed from argv; the last one wins */
    OPTION_CHOICE,   /* the same, and must be one of the row's choices */
    OPTION_TEXT_LIST /* a struct option_list that is appended to */
};

struct option_list {
    const char **items; /* borrowed texts */
    size_t count;
};

struct option_row {
    const char *name; /* long name, without dashes; NULL ends the table */
    char letter;      /* short name, or 0 */
    enum option_type type;
    size_t offset;          /* of its field in the record that a parse fills in */
    const char *value_name; /* "LEVEL"; a "FILE" or a "DIR" is completed as such */
    const char *help;       /* no full stop */
    const char *choices;    /* separated by a blank each, or NULL */
    const char *fallback;   /* what the field is if the option is not given, or NULL */
};

/* Rows whose fields have the right type, or do not compile. */
#define option_offset(record, field, kind)                                                         \
    (offsetof(record, field) +                                                                     \
     0 * sizeof(                                                                                   \
             char[__builtin_types_compatible_p(__typeof__(((record *)0)->field), kind) ? 1 : -1]))
#define option_flag(name_, letter_, record, field, help_)                                          \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_FLAG,                                 \
        .offset = option_offset(record, field, bool), .help = (help_)                              \
    }
#define option_text(name_, letter_, record, field, value_, help_)                                  \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_TEXT,                                 \
        .offset = option_offset(record, field, const char *), .value_name = (value_),              \
        .help = (help_)                                                                            \
    }
/* A text with a fallback, or with hints for completion that the caller checks himself. */
#define option_text_with(name_, letter_, record, field, value_, help_, choices_, fallback_)        \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_TEXT,                                 \
        .offset = option_offset(record, field, const char *), .value_name = (value_),              \
        .help = (help_), .choices = (choices_), .fallback = (fallback_)                            \
    }
#define option_choice(name_, letter_, record, field, value_, help_, choices_, fallback_)           \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_CHOICE,                               \
        .offset = option_offset(record, field, const char *), .value_name = (value_),              \
        .help = (help_), .choices = (choices_), .fallback = (fallback_)                            \
    }
#define option_texts(name_, letter_, record, field, value_, help_)                                 \
    {                                                                                              \
        .name = (name_), .letter = (letter_), .type = OPTION_TEXT_LIST,                            \
        .offset = option_offset(record, field, struct option_list), .value_name = (value_),        \
        .help = (help_)                                                                            \
    }

/* A line of the man page beside the options: {"EXIT STATUS", "2", "wrong usage"}. */
struct option_fact {
    const char *section; /* NULL ends the table; lines of one section stand together */
    const char *term, *text;
};

struct option_command {
    const char *program;         /* "longshore run" */
    const char *brief;           /* in lists of commands, no full stop */
    const char *synopsis;        /* "[OPTIONS] ITEM.yaml" */
    const char *summary;         /* sentences, without the last full stop */
    const char *operand;         /* as value_name of a row; NULL: takes none */
    const char *operand_choices; /* as choices of a row */
    const struct option_row *rows;
    const struct option_fact *facts;              /* NULL: none */
    const struct option_command *const *commands; /* subcommands, NULL at the end; NULL: none */
};

/* Parses argv[1..] into record, which has the fields that the rows name: fallbacks first, so it may
 * be all zero. *ret_first is the index of the first operand (operands are moved to the end). --help
 * is the caller's own row if it wants one. Fails with ERROR_INVALID naming the option. */
int options_parse(const struct option_command *command, int argc, char **argv, void *record,
                  int *ret_first, struct error *err) must_check;
void options_print_help(const struct option_command *command, FILE *out);
void option_list_done(struct option_list *list);

/* "run" of "longshore run". */
const char *option_command_name(const struct option_command *command);
/* Help, choices and fallback of a row, as --help and the man page say them. The caller frees. */
char *option_describe(const struct option_row *row);
/* The next word of choices and its length; NULL behind the last. *rest, which may be NULL, is moved
 * on. */
const char *option_next_choice(const char **rest, int *ret_length);
